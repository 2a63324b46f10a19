#pragma once
#include <stet/analysis.hpp>
#include <stet/boundary.hpp>

/// The parts of a grid, as boxes of cells, `cell_range`. Seen along one axis, for a stage of reach 2 at a
/// fixed low face and a periodic high face:
///
///     cell      0   1   2   3  ...  n-4 n-3 n-2 n-1
///               |-rim-| |---------- active --------|     cells that the stage updates
///                       |---- interior ---| |-edge-|     interior: no access leaves the grid
namespace stet {

/// Cells [lo, hi) along (z, y, x).
struct cell_range {
  std::array<index, 3> lo{0, 0, 0}, hi{0, 0, 0};
  constexpr index length(int axis) const { return hi[axis] > lo[axis] ? hi[axis] - lo[axis] : 0; }
  constexpr index cells() const { return length(0) * length(1) * length(2); }
  constexpr bool empty() const { return cells() == 0; }
  constexpr bool
  operator==(const cell_range& other) const { // std::array's own == does not work on CUDA devices
    for (int a = 0; a < 3; ++a)
      if (lo[a] != other.lo[a] || hi[a] != other.hi[a]) return false;
    return true;
  }
};

/// `whole` without a margin per face; an empty one inside `whole` when nothing is left.
constexpr cell_range shrink(const cell_range& whole, const reach& margin) {
  cell_range b = whole;
  for (int a = 0; a < 3; ++a) {
    b.lo[a] = whole.lo[a] + margin.low[a];
    b.hi[a] = whole.hi[a] - margin.high[a];
    if (b.lo[a] > whole.hi[a]) b.lo[a] = whole.hi[a];
    if (b.hi[a] < b.lo[a]) b.hi[a] = b.lo[a];
  }
  return b;
}

/// `whole` minus `inner` (a range inside it) as up to six disjoint boxes: z slabs, then y, then x; empty ones
/// stay.
constexpr std::array<cell_range, 6> surround(const cell_range& whole, const cell_range& inner) {
  std::array<cell_range, 6> parts{};
  if (inner.empty()) {
    parts[0] = whole;
    return parts;
  }
  cell_range rest = whole;
  for (int a = 0; a < 3; ++a) {
    parts[2 * a] = parts[2 * a + 1] = rest;
    parts[2 * a].hi[a] = inner.lo[a];
    parts[2 * a + 1].lo[a] = inner.hi[a];
    rest.lo[a] = inner.lo[a];
    rest.hi[a] = inner.hi[a];
  }
  return parts;
}

/// The width per face of the cells that a stage of `p` leaves alone: its reach into fields with `fixed`
/// there.
template <class Program, class Real, int Fields>
constexpr reach rim_of(const Program& p, int stage, const boundary_table<Real, Fields>& boundaries) {
  reach rim;
  for (int f = 0; f < Fields; ++f) {
    const reach r = reach_into(p, stage, f);
    for (int a = 0; a < 3; ++a) {
      if (boundaries.kind[f][2 * a] == boundary_kind::fixed && r.low[a] > rim.low[a]) rim.low[a] = r.low[a];
      if (boundaries.kind[f][2 * a + 1] == boundary_kind::fixed && r.high[a] > rim.high[a])
        rim.high[a] = r.high[a];
    }
  }
  return rim;
}

/// How one stage (or reduction) divides a grid.
struct stage_regions {
  cell_range grid, active, interior;
};
template <class Program, class Real, int Fields>
constexpr stage_regions regions_of(const Program& p, int stage, const std::array<index, 3>& extents,
                                   const boundary_table<Real, Fields>& boundaries) {
  stage_regions r;
  r.grid.hi = extents;
  r.active = shrink(r.grid, rim_of(p, stage, boundaries));
  r.interior = shrink(r.grid, merge(reach_of(p, stage, Fields), rim_of(p, stage, boundaries)));
  return r;
}

/// Whether accesses of a stage cross faces that are neither fixed nor periodic. `wraps`: the axes whose faces
/// are periodic, where nothing is an edge.
constexpr bool folds(const stage_regions& parts, const std::array<int, 3>& wraps) {
  for (int a = 0; a < 3; ++a)
    if (wraps[a] == 0 &&
        (parts.active.lo[a] != parts.interior.lo[a] || parts.active.hi[a] != parts.interior.hi[a]))
      return true;
  return false;
}

} // namespace stet
