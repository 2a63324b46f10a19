#pragma once
#include <stet/evaluate.hpp>
#include <stet/region.hpp>

/// A simulation's memory as kernels see it, and a cell of it as evaluate() sees it.
namespace stet {

/// What stays the same during a run, by value into kernels.
template <class S, class Real> struct conditions {
  static constexpr int fields = field_count<S>, params = param_count<S>;
  boundary_table<Real, (fields > 0 ? fields : 1)> boundaries;
  Real param[params > 0 ? params : 1];
};

/// What a kernel knows of the grid: by value. Cell (z, y, x) is element (z * ny + y) * pitch + x.
template <class S, class Real> struct grid {
  std::array<index, 3> extents;
  index pitch;                       ///< elements from row to row, at least extents[2]
  const Real* state[field_count<S>]; ///< what is read
  Real* next[field_count<S>];        ///< what is written; not used for coefficients
  conditions<S, Real> given;
  Real step_number;

  STET_INLINE index at(index z, index y, index x) const { return (z * extents[1] + y) * pitch + x; }
};

/// A cell as evaluate() sees it. Unchecked: every access lies in the grid.
template <class S, class Real, bool Checked> struct cell {
  const grid<S, Real>& g;
  index z, y, x;

  template <int F, int Dz, int Dy, int Dx> STET_INLINE Real field() const {
    if constexpr (Checked) {
      return folded(F, {z + Dz, y + Dy, x + Dx});
    } else {
      return g.state[F][g.at(z + Dz, y + Dy, x) + Dx];
    }
  }
  /// Axis by axis, x first; the first dirichlet face crossed gives the value. No inlining: a wide stencil
  /// would hold it once per point, and compile for minutes.
  STET_HOST_NOINLINE Real folded(int f, std::array<index, 3> i) const {
    const auto& kind = g.given.boundaries.kind[f];
    for (int axis = 2; axis >= 0; --axis) {
      const int side = fold(i[axis], g.extents[axis], kind[2 * axis], kind[2 * axis + 1]);
      if (side >= 0) return g.given.boundaries.value[f][2 * axis + side];
    }
    return g.state[f][g.at(i[0], i[1], i[2])];
  }
  template <int P> STET_INLINE Real param() const { return g.given.param[P]; }
  template <int Axis> STET_INLINE Real coord() const {
    return static_cast<Real>(Axis == 0 ? z : Axis == 1 ? y : x);
  }
  STET_INLINE Real step() const { return g.step_number; }
};

/// A running reduction: NaN, once seen, stays.
struct accumulator {
  reduction_kind kind;
  double value;
  STET_HOST_DEVICE explicit accumulator(reduction_kind k)
      : kind(k), value(k == reduction_kind::max   ? -HUGE_VAL
                       : k == reduction_kind::min ? HUGE_VAL
                                                  : 0.0) {}
  STET_HOST_DEVICE void take(double v) {
    if (kind == reduction_kind::max)
      value = v > value || v != v ? v : value;
    else if (kind == reduction_kind::min)
      value = v < value || v != v ? v : value;
    else
      value += v;
  }
};

} // namespace stet
