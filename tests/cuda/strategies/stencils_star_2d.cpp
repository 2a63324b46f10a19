// The 2D stars of radius 1 and 2.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2d5pt, 2);
STET_LIST_LINEAR(2ds9pt, 2);

} // namespace
