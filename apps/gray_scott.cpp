// Gray-Scott reaction and diffusion: two coupled fields that grow into spots, worms or coral (Pearson 1993).
#include "common/run.hpp"

inline constexpr stet::field<"u"> u; // food
inline constexpr stet::field<"v"> v; // what eats it
inline constexpr stet::param<"F"> F; // feed
inline constexpr stet::param<"k"> k; // kill

struct gray_scott {
  static constexpr auto step() {
    auto uvv = u * v * v;
    return stet::update(u = u + 0.16 * stet::laplacian<2>(u) - uvv + F * (1 - u),
                        v = v + 0.08 * stet::laplacian<2>(v) + uvv - (F + k) * v);
  }
};

/// Seeds of v: smooth islands, or noise.
auto first_v(const app::options& options) {
  return [&, islands = app::bumps(options, 12, 0.015)](auto z, auto y, auto x) {
    return options.start == app::start::random ? 0.4 * app::noise(options.seed, z, y, x)
                                               : 0.4 * std::min(1.0, islands(z, y, x));
  };
}

/// Where v is, food is short.
auto first_u(const app::options& options) {
  return app::perhaps_nan(options, [v = first_v(options)](auto z, auto y, auto x) { return 1 - v(z, y, x); });
}

/// The same in plain loops; returns u and v.
template <class Real> std::pair<std::vector<Real>, std::vector<Real>> plain(const app::options& options) {
  app::plain_field<Real> u(options, first_u(options)), v(options, first_v(options)), new_u = u, new_v = v;
  const Real F = Real(options.number("feed")), k = Real(options.number("kill"));
  const auto around = [](const auto& a, auto y, auto x) {
    return a.at(0, y - 1, x) + a.at(0, y + 1, x) + a.at(0, y, x - 1) + a.at(0, y, x + 1) - 4 * a.at(0, y, x);
  };
  for (app::index s = 0; s < options.steps; ++s) {
    app::for_each_updated(u, 1, [&](auto, auto y, auto x) {
      const Real eaten = u(0, y, x) * v(0, y, x) * v(0, y, x);
      new_u(0, y, x) = u(0, y, x) + Real(0.16) * around(u, y, x) - eaten + F * (1 - u(0, y, x));
      new_v(0, y, x) = v(0, y, x) + Real(0.08) * around(v, y, x) + eaten - (F + k) * v(0, y, x);
    });
    u.swap(new_u);
    v.swap(new_v);
  }
  return {u.cells(), v.cells()};
}

template <class Real> app::outcome solve(const app::options& options) {
  stet::simulation<gray_scott, Real> sim(app::extents<2>(options));
  app::set_boundary(sim, options, u, v);
  app::fill<2>(sim, u, first_u(options));
  app::fill<2>(sim, v, first_v(options));
  sim.set(F, options.number("feed"));
  sim.set(k, options.number("kill"));
  app::outcome outcome = app::advance<gray_scott>(sim, "gray_scott", options);

  const std::vector<Real> cells = app::cells<2, Real>(sim, v, options);
  if (!options.picture.empty()) outcome.picture = app::middle_plane(cells, options);
  if (options.verify) {
    const auto [want_u, want_v] = plain<Real>(options);
    outcome.verdicts = {app::compare("u", options, app::cells<2, Real>(sim, u, options), want_u),
                        app::compare("v", options, cells, want_v)};
  }
  return outcome;
}

int main(int argc, char** argv) {
  const app::about about{
      .name = "gray_scott",
      .purpose = "two substances react and diffuse; the picture shows the second",
      .sizes = {"256x256"},
      .steps = 4000,
      .fields = 2,
      .numbers = {{"feed", "feed rate F", 0, 0.2, 0.035}, {"kill", "kill rate k", 0, 0.2, 0.06}},
      .backend = app::words_of_backend()};
  return app::main(argc, argv, about, [](const app::options& options) {
    return app::in_precision(options, [&]<class Real>(Real) { return solve<Real>(options); });
  });
}
