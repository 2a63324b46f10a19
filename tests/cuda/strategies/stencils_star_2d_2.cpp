// The 2D star of radius 2.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(2ds9pt, 2);

} // namespace
