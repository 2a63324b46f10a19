// Stencils whose result is known in closed form.
#include "../support/simulate.hpp"
#include <cmath>
#include <numbers>

namespace {

using oracle::idx;
using oracle::shape;
using oracle::sides;
using std::numbers::pi;

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::field<"w"> w;
inline constexpr stet::field<"prev"> prev;

constexpr double alpha = 0.2;
struct heat {
  static constexpr auto step() { return stet::update(u = u + 0.2 * stet::laplacian<2>(u)); }
};
struct total {
  static constexpr auto value() { return stet::sum_of(u); }
};

/// A mode along one axis of n cells that the boundary keeps in shape, and its wave number.
struct mode {
  const char* name;
  oracle::side side;
  double (*value)(idx i, idx n);
  double (*number)(idx n);
};
const mode modes[] = {
    {"periodic", oracle::periodic, [](idx i, idx n) { return std::cos(2 * pi * 3 * double(i) / double(n)); },
     [](idx n) { return 2 * pi * 3 / double(n); }},
    {"neumann", oracle::neumann,
     [](idx i, idx n) { return std::cos(pi * 2 * (double(i) + 0.5) / double(n)); },
     [](idx n) { return pi * 2 / double(n); }},
    // zero at the cells -1 and n
    {"dirichlet", oracle::dirichlet(0),
     [](idx i, idx n) { return std::sin(pi * 2 * double(i + 1) / double(n + 1)); },
     [](idx n) { return pi * 2 / double(n + 1); }},
    // zero at the cells 0 and n - 1, which stay
    {"fixed", oracle::fixed, [](idx i, idx n) { return std::sin(pi * 2 * double(i) / double(n - 1)); },
     [](idx n) { return pi * 2 / double(n - 1); }},
};

template <class T> class heat_mode : public ::testing::Test {};
using precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(heat_mode, precisions);

TYPED_TEST(heat_mode, decays_by_its_eigenvalue_per_step) {
  using T = TypeParam;
  const shape n{1, 24, 35};
  for (const mode& along_y : modes)
    for (const mode& along_x : modes) {
      SCOPED_TRACE(std::string(along_y.name) + " in y, " + along_x.name + " in x");
      const auto start = [&](idx, idx y, idx x) { return along_y.value(y, n[1]) * along_x.value(x, n[2]); };
      const double factor =
          1 - alpha * (4 - 2 * std::cos(along_y.number(n[1])) - 2 * std::cos(along_x.number(n[2])));
      auto sim = support::make_simulation<2, heat, T>(n);
      support::set_sides<2>(sim, u, {{{}, {along_y.side, along_y.side}, {along_x.side, along_x.side}}});
      support::put<2>(sim, u, oracle::make_grid<T>(n, start));
      sim.run(20);
      const auto want =
          oracle::make_grid<T>(n, [&](idx z, idx y, idx x) { return std::pow(factor, 20) * start(z, y, x); });
      EXPECT_TRUE(support::close(support::take<2, T>(sim, u, n), want));
    }
}

TYPED_TEST(heat_mode, heat_is_conserved_between_insulated_and_on_periodic_faces) {
  using T = TypeParam;
  const shape n{1, 31, 47};
  const auto start = oracle::noise_grid<T>(n);
  double before = 0;
  for (const T value : start.cells) before += double(value);
  for (const oracle::side side : {oracle::neumann, oracle::periodic}) {
    auto sim = support::make_simulation<2, heat, T>(n);
    support::set_sides<2>(sim, u, oracle::everywhere(side));
    support::put<2>(sim, u, start);
    sim.run(100);
    EXPECT_NEAR(sim.template reduce<total>(), before, double(start.cells.size()) * support::tolerance<T>);
    const auto after = support::take<2, T>(sim, u, n);
    EXPECT_FALSE(support::close(after, start)) << "nothing moved";
  }
}

/// Transport by one cell along the diagonal of each rank: no arithmetic, so results are exact.
struct transport_1d {
  static constexpr auto step() { return stet::update(u = u(-1)); }
};
struct transport_2d {
  static constexpr auto step() { return stet::update(u = u(-1, -1)); }
};
struct transport_3d {
  static constexpr auto step() { return stet::update(u = u(-1, 1, -2)); }
};
template <int Rank, class Stencil, class T> void transport(shape n, shape velocity) {
  const auto start = oracle::noise_grid<T>(n);
  auto sim = support::make_simulation<Rank, Stencil, T>(n);
  sim.boundary(u, stet::periodic);
  support::put<Rank>(sim, u, start);
  const auto moved = [&](idx steps) {
    return oracle::make_grid<T>(n, [&](idx z, idx y, idx x) {
      const auto from = [&](idx at, int axis) {
        return ((at - steps * velocity[std::size_t(axis)]) % n[std::size_t(axis)] + n[std::size_t(axis)]) %
               n[std::size_t(axis)];
      };
      return start(from(z, 0), from(y, 1), from(x, 2));
    });
  };
  sim.run(5);
  EXPECT_TRUE(support::identical(support::take<Rank, T>(sim, u, n), moved(5)));
  const idx round = n[0] * n[1] * n[2];
  sim.run(round - 5);
  EXPECT_TRUE(support::identical(support::take<Rank, T>(sim, u, n), start));
}
TEST(transport, comes_round_bit_for_bit) {
  transport<1, transport_1d, float>({1, 1, 97}, {0, 0, 1});
  transport<2, transport_2d, float>({1, 13, 17}, {0, 1, 1});
  transport<2, transport_2d, double>({1, 13, 17}, {0, 1, 1});
  transport<3, transport_3d, double>({4, 5, 7}, {1, -1, 2});
}

/// One line over three fields: what leaves one enters the next.
struct carousel {
  static constexpr int rank = 1;
  static constexpr auto step() { return stet::update(u = v, v = w, w = u); }
};
TEST(transport, fields_change_places_in_one_update) {
  const shape n{1, 1, 41};
  auto sim = support::make_simulation<1, carousel, float>(n);
  const auto a = oracle::noise_grid<float>(n, 1), b = oracle::noise_grid<float>(n, 2),
             c = oracle::noise_grid<float>(n, 3);
  support::put<1>(sim, u, a), support::put<1>(sim, v, b), support::put<1>(sim, w, c);
  sim.run(1);
  EXPECT_TRUE(support::identical(support::take<1, float>(sim, u, n), b));
  EXPECT_TRUE(support::identical(support::take<1, float>(sim, v, n), c));
  EXPECT_TRUE(support::identical(support::take<1, float>(sim, w, n), a));
  sim.run(3);
  EXPECT_TRUE(support::identical(support::take<1, float>(sim, w, n), a));
}

struct wave {
  static constexpr auto step() {
    return stet::update(prev = u, u = 2 * u - prev + 0.25 * stet::laplacian<3>(u));
  }
};
template <class T> void standing_wave(double allowed) {
  const shape n{9, 12, 15};
  const auto amplitude = [&](idx z, idx y, idx x) {
    return std::sin(pi * double(z + 1) / double(n[0] + 1)) *
           std::sin(pi * 2 * double(y + 1) / double(n[1] + 1)) *
           std::cos(pi * 3 * (double(x) + 0.5) / double(n[2]));
  };
  const double laplacian = 6 - 2 * std::cos(pi / double(n[0] + 1)) - 2 * std::cos(pi * 2 / double(n[1] + 1)) -
                           2 * std::cos(pi * 3 / double(n[2]));
  const double angle = std::acos(1 - 0.25 * laplacian / 2); // per step
  const auto at = [&](int step) {
    return oracle::make_grid<T>(
        n, [&](idx z, idx y, idx x) { return std::cos(angle * step + 0.3) * amplitude(z, y, x); });
  };
  auto sim = support::make_simulation<3, wave, T>(n);
  support::set_sides<3>(sim, u,
                        {{{oracle::dirichlet(0), oracle::dirichlet(0)},
                          {oracle::dirichlet(0), oracle::dirichlet(0)},
                          {oracle::neumann, oracle::neumann}}});
  support::put<3>(sim, u, at(0));
  support::put<3>(sim, prev, at(-1));
  int done = 0;
  for (const int steps : {1, 6, 33}) {
    sim.run(steps);
    done += steps;
    EXPECT_TRUE(support::close(support::take<3, T>(sim, u, n), at(done), allowed)) << "step " << done;
    EXPECT_TRUE(support::close(support::take<3, T>(sim, prev, n), at(done - 1), allowed)) << "step " << done;
  }
}
TEST(wave, stands_and_swings_at_its_frequency) {
  standing_wave<float>(5e-5); // rounding of the two start levels grows linearly with the steps
  standing_wave<double>(1e-12);
}

} // namespace
