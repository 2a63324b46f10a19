// Sound in a medium whose speed varies: two time levels, the speed a coefficient field.
#include "common/run.hpp"

inline constexpr stet::field<"u"> u;       // pressure
inline constexpr stet::field<"prev"> prev; // pressure one step ago
inline constexpr stet::field<"c2"> c2;     // (speed · time step / spacing)²; stable up to 1 / rank

template <int Rank> struct wave {
  static constexpr auto step() {
    return stet::update(prev = u, u = 2 * u - prev + c2 * stet::laplacian<Rank>(u));
  }
};

/// One bump that is let go, or noise around zero.
auto first_state(const app::options& options) {
  return app::perhaps_nan(options, [&, bump = app::bumps(options, 1, 0.02)](auto z, auto y, auto x) {
    return options.start == app::start::random ? app::noise(options.seed, z, y, x) - 0.5 : bump(z, y, x);
  });
}

/// Fast ground with slow lenses in it.
auto medium(const app::options& options) {
  return [lenses = app::bumps(options, 5, 0.08)](auto z, auto y, auto x) {
    return 0.25 - 0.2 * std::min(1.0, lenses(z, y, x));
  };
}

/// The same in plain loops; returns u and prev.
template <int Rank, class Real>
std::pair<std::vector<Real>, std::vector<Real>> plain(const app::options& options) {
  app::plain_field<Real> now(options, first_state(options)), before = now, next = now, kept = now;
  app::plain_field<Real> c2(options, medium(options));
  for (app::index s = 0; s < options.steps; ++s) {
    app::for_each_updated(now, 1, [&](auto z, auto y, auto x) {
      Real around = now.at(z, y - 1, x) + now.at(z, y + 1, x) + now.at(z, y, x - 1) + now.at(z, y, x + 1);
      if constexpr (Rank == 3) around += now.at(z - 1, y, x) + now.at(z + 1, y, x);
      next(z, y, x) = 2 * now(z, y, x) - before(z, y, x) + c2(z, y, x) * (around - 2 * Rank * now(z, y, x));
      kept(z, y, x) = now(z, y, x);
    });
    now.swap(next);
    before.swap(kept);
  }
  return {now.cells(), before.cells()};
}

template <int Rank, class Real> app::outcome solve(const app::options& options) {
  stet::simulation<wave<Rank>, Real> sim(app::extents<Rank>(options));
  app::set_boundary(sim, options, u, prev, c2);
  app::fill<Rank>(sim, u, first_state(options));
  app::fill<Rank>(sim, prev, first_state(options)); // at rest
  app::fill<Rank>(sim, c2, medium(options));
  app::outcome outcome = app::advance<wave<Rank>>(sim, "wave", options);

  const std::vector<Real> cells = app::cells<Rank, Real>(sim, u, options);
  if (!options.picture.empty()) outcome.picture = app::middle_plane(cells, options);
  if (options.verify) {
    const auto [now, before] = plain<Rank, Real>(options);
    outcome.verdicts = {app::compare("u", options, cells, now),
                        app::compare("prev", options, app::cells<Rank, Real>(sim, prev, options), before)};
  }
  return outcome;
}

int main(int argc, char** argv) {
  const app::about about{.name = "wave",
                         .purpose = "sound in a medium with slow lenses (two or three extents)",
                         .sizes = {"512x512", "96x96x96"},
                         .steps = 600,
                         .fields = 3,
                         .backend = app::words_of_backend()};
  return app::main(argc, argv, about, [](const app::options& options) {
    return app::in_precision(options, [&]<class Real>(Real) {
      return options.rank() == 2 ? solve<2, Real>(options) : solve<3, Real>(options);
    });
  });
}
