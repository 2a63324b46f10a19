// The 2D box of radius 1.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2d9pt, 2);

} // namespace
