// The 2D star of radius 3.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2d13pt, 2);

} // namespace
