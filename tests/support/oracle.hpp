#pragma once
// The oracle: what a step means, written as straight loops that share nothing with the library.
#include "grid.hpp"
#include <stdexcept>

namespace oracle {

enum class kind { fixed, dirichlet, neumann, periodic };

struct side {
  kind what = kind::fixed;
  double value = 0; // of dirichlet
};

inline constexpr side fixed{kind::fixed}, neumann{kind::neumann}, periodic{kind::periodic};
constexpr side dirichlet(double value) { return {kind::dirichlet, value}; }

/// Boundary of one field: [axis z, y, x][low, high].
using sides = std::array<std::array<side, 2>, 3>;

/// The same on every face.
constexpr sides everywhere(side s) { return {{{s, s}, {s, s}, {s, s}}}; }

/// One term of a linear stencil.
struct tap {
  int dz, dy, dx;
  double weight;
};
using taps = std::vector<tap>;

/// The value at (z, y, x), which may lie outside: folded x first, then y, then z; the first dirichlet face
/// wins.
template <class T> T read(const grid<T>& g, const sides& s, idx z, idx y, idx x) {
  shape at{z, y, x};
  for (const std::size_t axis : {2u, 1u, 0u}) {
    const idx n = g.n[axis];
    while (at[axis] < 0 || at[axis] >= n) {
      const bool high = at[axis] >= n;
      const side& face = s[axis][high ? 1 : 0];
      if (face.what == kind::dirichlet) return static_cast<T>(face.value);
      if (face.what == kind::fixed) throw std::logic_error("the oracle read across a fixed face");
      if (face.what == kind::periodic) at[axis] += high ? -n : n;
      if (face.what == kind::neumann) at[axis] = high ? 2 * n - 1 - at[axis] : -1 - at[axis];
    }
  }
  return g(at[0], at[1], at[2]);
}

/// Whether reading at this offset from this cell crosses a fixed face.
inline bool crosses_fixed(const shape& n, const sides& s, const shape& cell,
                          const std::array<int, 3>& offset) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const idx at = cell[axis] + offset[axis];
    if (at < 0 && s[axis][0].what == kind::fixed) return true;
    if (at >= n[axis] && s[axis][1].what == kind::fixed) return true;
  }
  return false;
}

/// One step of u = sum of weight * u(offset), summed in the order of the taps.
template <class T> void linear_step(grid<T>& u, const taps& stencil, const sides& s) {
  const grid<T> old = u;
  for_each_cell(u.n, [&](idx z, idx y, idx x) {
    for (const tap& t : stencil)
      if (crosses_fixed(u.n, s, {z, y, x}, {t.dz, t.dy, t.dx})) return;
    T sum = 0;
    for (const tap& t : stencil) sum += static_cast<T>(t.weight) * read(old, s, z + t.dz, y + t.dy, x + t.dx);
    u(z, y, x) = sum;
  });
}

template <class T> grid<T> linear_run(grid<T> u, const taps& stencil, const sides& s, int steps) {
  for (int i = 0; i < steps; ++i) linear_step(u, stencil, s);
  return u;
}

} // namespace oracle
