// The 3D star.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(3d7pt, 3);

} // namespace
