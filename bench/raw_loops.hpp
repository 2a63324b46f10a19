#pragma once
// Hand-written double-buffered loops over raw pointers, one thread: what kokkos_ref is measured against.
#include <cstdint>
#include <string>
#include <vector>

namespace raw {

using index = std::int64_t;

/// A field of Real and its second buffer.
template <class Real> struct buffers { std::vector<Real> now, next; };

/// So many steps of the suite's 2d5pt or 3d7pt with fixed rims; `extents` are (y, x) or (z, y, x). Both
/// buffers must hold the first state. Afterwards `now` holds the last.
template <class Real> void run_2d5pt(buffers<Real>& field, const std::vector<index>& extents, index steps);
template <class Real> void run_3d7pt(buffers<Real>& field, const std::vector<index>& extents, index steps);

} // namespace raw
