// Heat spreading on a plate (two extents) or in a block (three).
#include "common/run.hpp"

inline constexpr stet::field<"u"> u;
inline constexpr stet::param<"alpha">
    alpha; // diffusivity · time step / spacing²; stable up to 1 / (2 · rank)

template <int Rank> struct heat {
  static constexpr auto step() { return stet::update(u = u + alpha * stet::laplacian<Rank>(u)); }
};

constexpr double alpha_for(int rank) { return rank == 2 ? 0.2 : 0.15; }

/// The first state: warm bumps on a cold ground, or noise.
auto first_state(const app::options& options) {
  return app::perhaps_nan(options, [&, bumps = app::bumps(options, 6, 0.07)](auto z, auto y, auto x) {
    return options.start == app::start::random ? app::noise(options.seed, z, y, x) : bumps(z, y, x);
  });
}

/// The same in plain loops.
template <int Rank, class Real> std::vector<Real> plain(const app::options& options) {
  app::plain_field<Real> a(options, first_state(options)), b = a;
  const Real alpha = Real(alpha_for(Rank));
  for (app::index s = 0; s < options.steps; ++s) {
    app::for_each_updated(a, 1, [&](auto z, auto y, auto x) {
      Real around = a.at(z, y - 1, x) + a.at(z, y + 1, x) + a.at(z, y, x - 1) + a.at(z, y, x + 1);
      if constexpr (Rank == 3) around += a.at(z - 1, y, x) + a.at(z + 1, y, x);
      b(z, y, x) = a(z, y, x) + alpha * (around - 2 * Rank * a(z, y, x));
    });
    a.swap(b);
  }
  return a.cells();
}

template <int Rank, class Real> app::outcome solve(const app::options& options) {
  stet::simulation<heat<Rank>, Real> sim(app::extents<Rank>(options));
  app::set_boundary(sim, options, u);
  app::fill<Rank>(sim, u, first_state(options));
  sim.set(alpha, alpha_for(Rank));
  app::outcome outcome = app::advance<heat<Rank>>(sim, "heat", options);

  const std::vector<Real> cells = app::cells<Rank, Real>(sim, u, options);
  if (!options.picture.empty()) outcome.picture = app::middle_plane(cells, options);
  if (options.verify) outcome.verdicts = {app::compare("u", options, cells, plain<Rank, Real>(options))};
  return outcome;
}

int main(int argc, char** argv) {
  const app::about about{.name = "heat",
                         .purpose = "heat spreads on a plate (two extents) or in a block (three)",
                         .sizes = {"512x512", "96x96x96"},
                         .steps = 1000,
                         .fields = 1,
                         .backend = app::words_of_backend()};
  return app::main(argc, argv, about, [](const app::options& options) {
    return app::in_precision(options, [&]<class Real>(Real) {
      return options.rank() == 2 ? solve<2, Real>(options) : solve<3, Real>(options);
    });
  });
}
