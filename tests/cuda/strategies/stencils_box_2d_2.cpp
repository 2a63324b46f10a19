// The 2D box of radius 2.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2d25pt, 2);

} // namespace
