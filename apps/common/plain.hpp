#pragma once
// The plain loops of --verify: a second, independent reading of what a stencil means. Nothing here includes
// the library, and nothing is clever.
//
//   app::plain_field<float> a(options, first_state), b = a;
//   for (index s = 0; s < options.steps; ++s) {
//     app::for_each_updated(a, 1, [&](auto z, auto y, auto x) { b(z, y, x) = a.at(z, y, x - 1) + ...; });
//     a.swap(b);   // rims never change, so both hold them
//   }
//
// A field of two dimensions is one plane: nz = 1, nothing reaches along z and z has no rim.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "options.hpp"

namespace app {

/// (z, y, x) extents, 1 where the grid has no such axis.
[[nodiscard]] inline std::array<index, 3> padded(const std::vector<index>& extents) {
  std::array<index, 3> n{1, 1, 1};
  std::copy(extents.begin(), extents.end(), n.end() - std::ptrdiff_t(extents.size()));
  return n;
}

template <class Real> class plain_field {
 public:
  /// `first(z, y, x)` gives a double, rounded to Real.
  template <class First>
  plain_field(const options& options, First first)
      : n_(padded(options.extents)), rank_(options.rank()), boundary_(options.boundary),
        cells_(std::size_t(n_[0] * n_[1] * n_[2])) {
    for (index z = 0; z < n_[0]; ++z)
      for (index y = 0; y < n_[1]; ++y)
        for (index x = 0; x < n_[2]; ++x) (*this)(z, y, x) = Real(first(z, y, x));
  }

  /// A cell of the grid.
  [[nodiscard]] Real& operator()(index z, index y, index x) {
    return cells_[std::size_t((z * n_[1] + y) * n_[2] + x)];
  }

  /// A cell of the grid or what the boundary puts beyond it.
  [[nodiscard]] Real at(index z, index y, index x) const {
    if (z < 0 || z >= n_[0] || y < 0 || y >= n_[1] || x < 0 || x >= n_[2]) {
      if (boundary_.rule == face_rule::dirichlet) return Real(boundary_.outside);
      z = inside(z, n_[0]);
      y = inside(y, n_[1]);
      x = inside(x, n_[2]);
    }
    return cells_[std::size_t((z * n_[1] + y) * n_[2] + x)];
  }

  [[nodiscard]] const std::array<index, 3>& extents() const { return n_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const app::boundary& boundary() const { return boundary_; }
  [[nodiscard]] const std::vector<Real>& cells() const { return cells_; }
  void swap(plain_field& other) { cells_.swap(other.cells_); }

 private:
  [[nodiscard]] index inside(index i, index n) const {
    const index period = boundary_.rule == face_rule::periodic ? n : 2 * n;
    i = (i % period + period) % period;
    return i < n ? i : 2 * n - 1 - i; // the second half of a mirrored period runs backwards
  }

  std::array<index, 3> n_; // (z, y, x)
  int rank_;
  app::boundary boundary_;
  std::vector<Real> cells_;
};

/// Calls body(z, y, x) for every cell that a stencil of this reach (the same on every side) updates: all of
/// them, unless the faces are fixed; then only those at least `reach` away from every face.
template <class Real, class Body>
void for_each_updated(const plain_field<Real>& field, index reach, Body body) {
  const auto [nz, ny, nx] = field.extents();
  const index rim = field.boundary().rule == face_rule::fixed ? reach : 0;
  const index rim_z = field.rank() == 3 ? rim : 0;
  for (index z = rim_z; z < nz - rim_z; ++z)
    for (index y = rim; y < ny - rim; ++y)
      for (index x = rim; x < nx - rim; ++x) body(z, y, x);
}

} // namespace app
