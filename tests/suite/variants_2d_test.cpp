// The 2D suite shapes with all weights different.
#include "variants.hpp"

namespace variants {

TEST(variant, star_2d5pt) { follows_the_oracle<2, v2d5pt>("2d5pt"); }
TEST(variant, star_2ds9pt) { follows_the_oracle<2, v2ds9pt>("2ds9pt"); }
TEST(variant, star_2d13pt) { follows_the_oracle<2, v2d13pt>("2d13pt"); }
TEST(variant, star_2d17pt) { follows_the_oracle<2, v2d17pt>("2d17pt"); }
TEST(variant, star_2d21pt) { follows_the_oracle<2, v2d21pt>("2d21pt"); }
TEST(variant, star_2ds25pt) { follows_the_oracle<2, v2ds25pt>("2ds25pt"); }
TEST(variant, box_2d9pt) { follows_the_oracle<2, v2d9pt>("2d9pt"); }
TEST(variant, box_2d25pt) { follows_the_oracle<2, v2d25pt>("2d25pt"); }

} // namespace variants
