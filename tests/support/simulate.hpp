#pragma once
// Between the oracle's plain data and a stet::simulation.
#include "compare.hpp"
#include "oracle.hpp"
#include <stet/stet.hpp>
#include <string>
#include <utility>

namespace support {

using oracle::kind;
using oracle::shape;
using oracle::sides;

/// The faces in the oracle's order: [axis z, y, x][low, high].
inline constexpr stet::face faces[3][2] = {{stet::face::z_low, stet::face::z_high},
                                           {stet::face::y_low, stet::face::y_high},
                                           {stet::face::x_low, stet::face::x_high}};

template <int Rank, class Simulation, class Field>
void set_sides(Simulation& sim, Field field, const sides& wanted) {
  for (std::size_t axis = 3 - Rank; axis < 3; ++axis)
    for (std::size_t end : {0u, 1u}) {
      const oracle::side& s = wanted[axis][end];
      const stet::face at = faces[axis][end];
      switch (s.what) {
      case kind::fixed:
        sim.boundary(field, at, stet::fixed);
        break;
      case kind::dirichlet:
        sim.boundary(field, at, stet::dirichlet(s.value));
        break;
      case kind::neumann:
        sim.boundary(field, at, stet::neumann);
        break;
      case kind::periodic:
        sim.boundary(field, at, stet::periodic);
        break;
      }
    }
}

/// Fills a field of the simulation with a grid's values.
template <int Rank, class Simulation, class Field, class T>
void put(Simulation& sim, Field field, const grid<T>& from) {
  if constexpr (Rank == 1) sim.fill(field, [&](idx x) { return from(0, 0, x); });
  if constexpr (Rank == 2) sim.fill(field, [&](idx y, idx x) { return from(0, y, x); });
  if constexpr (Rank == 3) sim.fill(field, [&](idx z, idx y, idx x) { return from(z, y, x); });
}

/// A copy of a field of the simulation.
template <int Rank, class T, class Simulation, class Field>
grid<T> take(Simulation& sim, Field field, const shape& n) {
  const auto h = sim.host(field);
  return oracle::make_grid<T>(n, [&](idx z, idx y, idx x) {
    if constexpr (Rank == 1) return h(x);
    if constexpr (Rank == 2) return h(y, x);
    if constexpr (Rank == 3) return h(z, y, x);
  });
}

/// A simulation on a grid given as (z, y, x).
template <int Rank, class Stencil, class T> auto make_simulation(const shape& n) {
  using simulation = stet::simulation<Stencil, T, stet::default_backend>;
  if constexpr (Rank == 1) return simulation({n[2]});
  if constexpr (Rank == 2) return simulation({n[1], n[2]});
  if constexpr (Rank == 3) return simulation({n[0], n[1], n[2]});
}

} // namespace support
