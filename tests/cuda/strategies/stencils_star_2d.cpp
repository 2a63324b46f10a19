// The 2D star of radius 1.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2d5pt, 2);

} // namespace
