#pragma once
// Between an app's options and its stet::simulation.
#include <algorithm>
#include <array>
#include <stet/analysis.hpp>
#include <stet/stet.hpp>
#include <string>
#include <vector>
#if defined(STET_WITH_PERSISTENT_CUDA)
#include <stet/cuda/plan/plan_text.hpp>
#endif

#include "advance.hpp"
#include "initial.hpp"
#include "picture.hpp"
#include "plain.hpp"

namespace app {

/// solve(double{}) or solve(float{}), as --precision says.
template <class Solve> [[nodiscard]] outcome in_precision(const options& options, Solve solve) {
  return options.precision == precision::twice ? solve(double{}) : solve(float{});
}

template <int Rank> [[nodiscard]] std::array<index, Rank> extents(const options& options) {
  std::array<index, Rank> n{};
  std::copy(options.extents.begin(), options.extents.end(), n.begin());
  return n;
}

/// --boundary on every face of these fields.
template <class Simulation, class... Fields>
void set_boundary(Simulation& sim, const options& options, Fields... fields) {
  const auto all = [&](auto kind) { (sim.boundary(fields, kind), ...); };
  switch (options.boundary.rule) {
  case face_rule::fixed:
    return all(stet::fixed);
  case face_rule::dirichlet:
    return all(stet::dirichlet(options.boundary.outside));
  case face_rule::neumann:
    return all(stet::neumann);
  case face_rule::periodic:
    return all(stet::periodic);
  }
}

/// Fills a field with first(z, y, x); z = 0 in 2D.
template <int Rank, class Simulation, class Field, class First>
void fill(Simulation& sim, Field field, const First& first) {
  static_assert(Rank == 2 || Rank == 3, "apps are two- or three-dimensional");
  if constexpr (Rank == 2)
    sim.fill(field, [&](index y, index x) { return first(0, y, x); });
  else
    sim.fill(field, [&](index z, index y, index x) { return first(z, y, x); });
}

#if defined(STET_WITH_PERSISTENT_CUDA)
[[nodiscard]] inline backend_words words_of_backend() {
  return {{stet::cuda::strategy_names.begin(), stet::cuda::strategy_names.end()},
          {stet::cuda::cache_names.begin(), stet::cuda::cache_names.end()}};
}
template <class Simulation> void choose(Simulation& sim, const way& way) {
  static_assert(stet::cuda::l2_off == 0 && stet::cuda::l2_auto == -1, "as way::l2_window says");
  auto& options = sim.options();
  options.strategy = stet::cuda::strategy_named(way.strategy);
  options.cache = stet::cuda::cache_named(way.cache);
  options.l2_window = way.l2_window;
  options.l2_hit_ratio = way.l2_hit_ratio;
}
#else
[[nodiscard]] inline backend_words words_of_backend() { return {}; }
template <class Simulation> void choose(Simulation&, const way&) {}
#endif

/// Runs --steps steps of `Stencil`, whose reach says how many cells are updated; with --plan, tells how
/// instead.
template <class Stencil, class Backend = stet::default_backend, class Simulation>
[[nodiscard]] outcome advance(Simulation& sim, const std::string& what, const options& options) {
  constexpr stet::reach reach = stet::analysis<Stencil>::reach(); // always (z, y, x)
  index updated = 1;
  for (std::size_t axis = 0; axis < options.extents.size(); ++axis) {
    const std::size_t padded_axis = axis + 3 - options.extents.size();
    const int rim =
        options.boundary.rule == face_rule::fixed ? reach.low[padded_axis] + reach.high[padded_axis] : 0;
    updated *= std::max<index>(0, options.extents[axis] - rim);
  }
  choose(sim, options.way);
  if constexpr (requires { sim.plan(options.steps); })
    if (options.way.plan_only) {
      outcome told;
      told.plan = to_text(sim.plan(options.steps));
      return told;
    }
  outcome result = advance(what, options, updated, [&](index steps) { return sim.run(steps); });
  result.backend = std::string(Backend::name);
  return result;
}

/// All cells of a field, x contiguous.
template <int Rank, class Real, class Simulation, class Field>
[[nodiscard]] std::vector<Real> cells(Simulation& sim, Field field, const options& options) {
  const auto [nz, ny, nx] = padded(options.extents);
  std::vector<Real> all(std::size_t(nz * ny * nx));
  if constexpr (Rank == 2)
    sim.copy_out(field, all.data(), {nx, 1});
  else
    sim.copy_out(field, all.data(), {ny * nx, nx, 1});
  return all;
}

} // namespace app
