// The 3D suite shapes with all weights different.
#include "variants.hpp"

namespace variants {

TEST(variant, star_3d7pt) { follows_the_oracle<3, v3d7pt>("3d7pt"); }
TEST(variant, star_3d13pt) { follows_the_oracle<3, v3d13pt>("3d13pt"); }
TEST(variant, corners_3d17pt) { follows_the_oracle<3, v3d17pt>("3d17pt"); }
TEST(variant, box_3d27pt) { follows_the_oracle<3, v3d27pt>("3d27pt"); }
TEST(variant, poisson) { follows_the_oracle<3, poisson>("poisson"); }

} // namespace variants
