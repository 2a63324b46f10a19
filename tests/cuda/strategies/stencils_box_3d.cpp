// The 3D box.
#include "linear.hpp"

namespace {

STET_LIST_LINEAR(3d27pt, 3);

} // namespace
