// Any stencil of the suite, timed. Prints one line: elapsed_ms<TAB>GCells/s.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/advance.hpp"
#include "common/initial.hpp"
#include "common/picture.hpp"
#include "common/plain.hpp"
#include "suite.hpp"

namespace {

/// The first state: smooth hills between 0 and about 1, or noise.
auto first_state(const app::options& options) {
  return app::perhaps_nan(options, [&, hills = app::bumps(options, 8, 0.1)](auto z, auto y, auto x) {
    return options.start == app::start::random ? app::noise(options.seed, z, y, x) : hills(z, y, x);
  });
}

/// The stencil's taps in plain loops.
template <class Real>
std::vector<Real> plain(const app::options& options, const std::vector<suite::tap>& taps) {
  int reach = 0; // of the suite's stencils, the same on every side
  for (const suite::tap& t : taps) reach = std::max({reach, std::abs(t.dz), std::abs(t.dy), std::abs(t.dx)});
  app::plain_field<Real> a(options, first_state(options)), b = a;
  for (app::index s = 0; s < options.steps; ++s) {
    app::for_each_updated(a, reach, [&](auto z, auto y, auto x) {
      Real sum = 0; // from the last tap to the first: not the library's order, so the two round differently
      for (auto t = taps.rbegin(); t != taps.rend(); ++t)
        sum += Real(t->weight) * a.at(z + t->dz, y + t->dy, x + t->dx);
      b(z, y, x) = sum;
    });
    a.swap(b);
  }
  return a.cells();
}

suite::boundary boundary_of(const app::options& options) {
  switch (options.boundary.rule) {
  case app::face_rule::fixed:
    return {suite::face_rule::fixed};
  case app::face_rule::dirichlet:
    return {suite::face_rule::dirichlet, options.boundary.outside};
  case app::face_rule::neumann:
    return {suite::face_rule::neumann};
  case app::face_rule::periodic:
    return {suite::face_rule::periodic};
  }
  return {};
}

template <class Real> app::outcome solve(const app::options& options) {
  const suite::entry& stencil = suite::find(options.choice("stencil"));
  const auto sim =
      stencil.make(sizeof(Real) == 4 ? suite::precision::single : suite::precision::twice, options.extents);
  sim->set_boundary(boundary_of(options));
  sim->choose({options.way.strategy, options.way.cache, options.way.l2_window, options.way.l2_hit_ratio});
  if (options.way.plan_only) {
    app::outcome told;
    told.plan = sim->plan(options.steps);
    return told;
  }
  sim->fill(first_state(options));
  app::outcome outcome = app::advance(stencil.name, options, sim->updated_cells(),
                                      [&](app::index steps) { return sim->run(steps); });
  outcome.backend = stencil.backend;

  const auto copy = options.verify || !options.picture.empty() ? sim->copy_out() : std::vector<double>();
  const std::vector<Real> cells(copy.begin(), copy.end());
  if (!options.picture.empty()) outcome.picture = app::middle_plane(cells, options);
  if (options.verify)
    outcome.verdicts = {app::compare("u", options, cells, plain<Real>(options, stencil.taps))};
  return outcome;
}

} // namespace

int main(int argc, char** argv) {
  const std::string usual = "2d5pt";
  const suite::entry& some = suite::find(usual); // a backend gives the same choice for all stencils
  const app::about about{
      .name = "jacobi",
      .purpose = "times a stencil of the suite; prints elapsed_ms<TAB>GCells/s",
      .sizes = {"1024x1024", "128x128x128"},
      .steps = 100,
      .fields = 1,
      .choices = {{"stencil", "the stencil", suite::names(), usual}},
      .backend = {some.strategies, some.caches},
      .rank = [](const app::options& options) { return suite::find(options.choice("stencil")).rank; }};
  const auto solve_in_precision = [](const app::options& options) {
    return options.precision == app::precision::twice ? solve<double>(options) : solve<float>(options);
  };
  return app::main(argc, argv, about, solve_in_precision,
                   [](const app::options& options, const app::outcome& outcome) {
                     char line[64];
                     std::snprintf(line, sizeof line, "%.6g\t%.6g\n", outcome.seconds * 1e3,
                                   app::gcells_per_s(options, outcome));
                     return std::string(line);
                   });
}
