#pragma once
// The oracle for any stencil: right-hand sides are plain functions of what they see around a cell. Shares
// nothing with the library.
//
//   oracle::recipe<T> heat{2, 1, {{{0, [](const auto& at) { return at(0, 0, 0) + T(0.1) * (at(0, 0, 1) -
//   ...); }}}}}; oracle::take_step(heat, fields, boundaries, step);
#include "oracle.hpp"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace oracle {

struct access {
  int field;
  std::array<int, 3> offset; // (dz, dy, dx)
};

/// What a right-hand side sees: `at(field, dy, dx)` (as many offsets as the grid has axes), coordinates, the
/// step's number. It must make every access each time it is called: that is how its reach is found out.
template <class T> class sight {
 public:
  using value_type = T;

  int rank = 0;
  shape cell{};
  idx step = 0;
  const std::vector<grid<T>>* fields = nullptr;
  const std::vector<sides>* boundaries = nullptr;
  std::vector<access>* log = nullptr; // instead of reading, note what would be read

  template <class... Offset> T operator()(int field, Offset... offset) const {
    const int given[] = {offset...};
    std::array<int, 3> d{};
    for (std::size_t i = 0; i < sizeof...(Offset); ++i) d[3 - sizeof...(Offset) + i] = given[i];
    if (log) {
      log->push_back({field, d});
      return T(0);
    }
    const grid<T>& g = (*fields)[std::size_t(field)];
    const idx z = cell[0] + d[0], y = cell[1] + d[1], x = cell[2] + d[2];
    if (z >= 0 && z < g.n[0] && y >= 0 && y < g.n[1] && x >= 0 && x < g.n[2]) return g(z, y, x);
    return read(g, (*boundaries)[std::size_t(field)], z, y, x);
  }
  T coord(int axis) const { return T(cell[std::size_t(3 - rank + axis)]); }
};

template <class T> using right_side = std::function<T(const sight<T>&)>;

/// One assignment of a stage.
template <class T> struct written {
  int field;
  right_side<T> right;
};

template <class T> struct recipe {
  int rank, field_count;
  std::vector<std::vector<written<T>>> stages;
};

/// All that a right-hand side reads.
template <class T> std::vector<access> accesses_of(const right_side<T>& right, int rank) {
  std::vector<access> log;
  sight<T> at;
  at.rank = rank;
  at.log = &log;
  right(at);
  return log;
}

/// The cells [lo, hi) from which no access crosses a fixed face.
struct box {
  shape lo{0, 0, 0}, hi;
};
inline box without_rim(const shape& n, const std::vector<access>& accesses,
                       const std::vector<sides>& boundaries) {
  box b{{0, 0, 0}, n};
  for (const access& a : accesses)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto& ends = boundaries[std::size_t(a.field)][axis];
      if (ends[0].what == kind::fixed) b.lo[axis] = std::max<idx>(b.lo[axis], -a.offset[axis]);
      if (ends[1].what == kind::fixed) b.hi[axis] = std::min<idx>(b.hi[axis], n[axis] - a.offset[axis]);
    }
  return b;
}

/// Calls f(sight) for each cell of `b`.
template <class T, class F> void for_each_sight(sight<T> at, const box& b, F&& f) {
  for (idx z = b.lo[0]; z < b.hi[0]; ++z)
    for (idx y = b.lo[1]; y < b.hi[1]; ++y)
      for (idx x = b.lo[2]; x < b.hi[2]; ++x) {
        at.cell = {z, y, x};
        f(at);
      }
}

template <class T>
void take_step(const recipe<T>& r, std::vector<grid<T>>& fields, const std::vector<sides>& boundaries,
               idx step) {
  for (const auto& stage : r.stages) {
    std::vector<access> accesses;
    for (const written<T>& w : stage)
      for (const access& a : accesses_of(w.right, r.rank)) accesses.push_back(a);
    const std::vector<grid<T>> old = fields;
    sight<T> at;
    at.rank = r.rank;
    at.step = step;
    at.fields = &old;
    at.boundaries = &boundaries;
    for (const written<T>& w : stage) {
      grid<T>& to = fields[std::size_t(w.field)];
      for_each_sight(at, without_rim(to.n, accesses, boundaries), [&](const sight<T>& here) {
        to(here.cell[0], here.cell[1], here.cell[2]) = w.right(here);
      });
    }
  }
}

/// Sum, largest, smallest and root of the sum of squares of an expression, in double, over the cells from
/// which it crosses no fixed face.
struct measures {
  double sum = 0, max = -std::numeric_limits<double>::infinity(),
         min = std::numeric_limits<double>::infinity(), norm = 0;
};
template <class T>
measures measure(const right_side<T>& value, int rank, const std::vector<grid<T>>& fields,
                 const std::vector<sides>& boundaries, idx step) {
  sight<T> at;
  at.rank = rank;
  at.step = step;
  at.fields = &fields;
  at.boundaries = &boundaries;
  measures m;
  for_each_sight(at, without_rim(fields[0].n, accesses_of(value, rank), boundaries),
                 [&](const sight<T>& here) {
                   const double v = double(value(here));
                   m.sum += v, m.norm += v * v;
                   m.max = std::max(m.max, v), m.min = std::min(m.min, v);
                 });
  m.norm = std::sqrt(m.norm);
  return m;
}

} // namespace oracle
