// Misuse of a simulation. The lines "FAIL name: text" are explained in language.cpp.
#include <stet/stet.hpp>

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::param<"p"> p;
inline constexpr stet::param<"q"> q;
struct heat {
  static constexpr auto step() { return stet::update(u = u + p * stet::laplacian<2>(u)); }
#ifndef FAIL_until_without_residual
  static constexpr auto residual() { return stet::max_of(u); }
#endif
};
struct foreign {
  static constexpr auto value() { return stet::sum_of(v); }
};
struct own {
  static constexpr auto value() { return stet::sum_of(u); }
};
struct no_sum {
  static constexpr auto value() { return u * u; }
};
template <int Rank, class T> struct fake_view { // the least that a view offers
  static constexpr int rank = Rank;
  T* data() const { return nullptr; }
  stet::index stride(int) const { return 1; }
  stet::index extent(int) const { return 1; }
};

// FAIL integer_precision: the precision of a simulation is float or double
#ifdef FAIL_integer_precision
using real = int;
#else
using real = float;
#endif

// FAIL extents_of_another_rank: extents and strides need one number per axis of the stencil, x last
// FAIL strides_of_another_rank: extents and strides need one number per axis of the stencil, x last
// FAIL fill_of_a_foreign_field: the stencil neither reads nor assigns this field
// FAIL boundary_of_a_foreign_field: the stencil neither reads nor assigns this field
// FAIL host_of_a_foreign_field: the stencil neither reads nor assigns this field
// FAIL field_is_a_parameter: the first argument must be a stet::field
// FAIL set_of_a_foreign_parameter: the stencil does not use this parameter
// FAIL set_of_a_field: set\(param, value\) takes a stet::param first
// FAIL until_without_residual: run_until needs a member static constexpr auto residual\(\)
// FAIL reduce_of_a_foreign_field: the reduction reads a field that the stencil does not have
// FAIL reduce_of_no_reduction: value\(\) must return stet::sum_of, max_of, min_of or norm2_of
// FAIL view_of_another_rank: the view must have as many axes as the grid
// FAIL view_of_another_precision: the elements of the view must have the precision of the simulation
// FAIL host_array_with_one_index: a host array takes as many indices as the grid has axes
int main() {
#ifdef FAIL_extents_of_another_rank
  stet::simulation<heat, real> sim({4, 5, 6});
#else
  stet::simulation<heat, real> sim({5, 6});
#endif
  real data[30] = {};
#ifdef FAIL_strides_of_another_rank
  sim.copy_in(u, data, {1});
#else
  sim.copy_in(u, data, {6, 1});
#endif
#ifdef FAIL_fill_of_a_foreign_field
  sim.fill(v, 1);
#elif defined(FAIL_field_is_a_parameter)
  sim.fill(p, 1);
#else
  sim.fill(u, 1);
#endif
#ifdef FAIL_boundary_of_a_foreign_field
  sim.boundary(v, stet::neumann);
#else
  sim.boundary(u, stet::neumann);
#endif
#ifdef FAIL_set_of_a_foreign_parameter
  sim.set(q, 1);
#elif defined(FAIL_set_of_a_field)
  sim.set(u, 1);
#else
  sim.set(p, 1);
#endif
  sim.run_until(1, 2, 3);
#ifdef FAIL_reduce_of_a_foreign_field
  sim.reduce<foreign>();
#elif defined(FAIL_reduce_of_no_reduction)
  sim.reduce<no_sum>();
#else
  sim.reduce<own>();
#endif
#ifdef FAIL_view_of_another_rank
  sim.copy_in(u, fake_view<3, real>{});
#elif defined(FAIL_view_of_another_precision)
  sim.copy_out(u, fake_view<2, double>{});
#else
  sim.copy_in(u, fake_view<2, real>{});
  sim.copy_out(u, fake_view<2, real>{});
#endif
#ifdef FAIL_host_of_a_foreign_field
  return sim.host(v).size() > 0;
#elif defined(FAIL_host_array_with_one_index)
  return sim.host(u)(3) > 0;
#else
  return sim.host(u)(3, 3) > 0;
#endif
}
