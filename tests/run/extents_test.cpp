// Awkward extents, step counts and radii against the oracle; runs in parts.
#include "../support/simulate.hpp"

namespace {

using oracle::idx;
using oracle::shape;
using oracle::taps;

inline constexpr stet::field<"u"> u;

// Lop-sided and with a different reach on every side: 2 up, 1 down, 3 left, 1 right.
const taps lopsided_taps{{0, -2, 0, 0.11}, {0, -1, 1, 0.13}, {0, 0, -3, 0.17},
                         {0, 0, -1, 0.19}, {0, 0, 0, 0.23},  {0, 1, -1, 0.15}};
struct lopsided {
  static constexpr auto step() {
    return stet::update(u = 0.11 * u(-2, 0) + 0.13 * u(-1, 1) + 0.17 * u(0, -3) + 0.19 * u(0, -1) + 0.23 * u +
                            0.15 * u(1, -1));
  }
};
const taps wide_taps{{-4, -4, -4, 0.2}, {-4, 0, 0, 0.1}, {-1, 2, -3, 0.15}, {0, 0, 0, 0.25},
                     {0, 4, 0, 0.05},   {1, 0, 4, 0.12}, {4, 4, 4, 0.1}};
struct wide {
  static constexpr auto step() {
    return stet::update(u = 0.2 * u(-4, -4, -4) + 0.1 * u(-4, 0, 0) + 0.15 * u(-1, 2, -3) +
                            0.25 * u(0, 0, 0) + 0.05 * u(0, 4, 0) + 0.12 * u(1, 0, 4) + 0.1 * u(4, 4, 4));
  }
};

const std::pair<const char*, oracle::sides> boundaries[] = {
    {"fixed", oracle::everywhere(oracle::fixed)},
    {"dirichlet", oracle::everywhere(oracle::dirichlet(0.75))},
    {"neumann", oracle::everywhere(oracle::neumann)},
    {"periodic", oracle::everywhere(oracle::periodic)},
    {"dirichlet and neumann",
     {{{oracle::neumann, oracle::dirichlet(0.5)},
       {oracle::dirichlet(-0.5), oracle::neumann},
       {oracle::neumann, oracle::dirichlet(0.25)}}}},
};

/// 0, 1, 2, 3 and 7 steps in one simulation, checked after each.
template <int Rank, class Stencil, class T> void follows_the_oracle(shape n, const taps& t) {
  SCOPED_TRACE(std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]));
  auto sim = support::make_simulation<Rank, Stencil, T>(n);
  for (const auto& [name, sides] : boundaries) {
    SCOPED_TRACE(name);
    auto want = oracle::noise_grid<T>(n, 5);
    support::set_sides<Rank>(sim, u, sides);
    support::put<Rank>(sim, u, want);
    for (const int steps : {0, 1, 2, 3, 7}) {
      SCOPED_TRACE(std::to_string(steps) + " more steps");
      EXPECT_EQ(sim.run(steps).steps, steps);
      want = oracle::linear_run(want, t, sides, steps);
      ASSERT_TRUE(support::close(support::take<Rank, T>(sim, u, n), want));
    }
  }
}

TEST(extents, two_dimensions) {
  for (const shape n : {shape{1, 1, 1},
                        {1, 1, 9},
                        {1, 9, 1},
                        {1, 1, 333},
                        {1, 333, 1},
                        {1, 2, 2},
                        {1, 3, 4},
                        {1, 4, 5},
                        {1, 5, 6}}) {
    follows_the_oracle<2, lopsided, float>(n, lopsided_taps);
    follows_the_oracle<2, lopsided, double>(n, lopsided_taps);
  }
}
TEST(extents, two_dimensions_257x263) {
  follows_the_oracle<2, lopsided, float>({1, 257, 263}, lopsided_taps);
  follows_the_oracle<2, lopsided, double>({1, 257, 263}, lopsided_taps);
}
TEST(extents, two_dimensions_3x100003) {
  follows_the_oracle<2, lopsided, float>({1, 3, 100003}, lopsided_taps);
}

TEST(extents, three_dimensions_with_radius_4) {
  for (const shape n : {shape{9, 9, 9}, {8, 9, 9}, {1, 1, 1}, {2, 2, 2}, {1, 5, 23}, {13, 11, 17}}) {
    follows_the_oracle<3, wide, float>(n, wide_taps);
    follows_the_oracle<3, wide, double>(n, wide_taps);
  }
}

TEST(extents, a_fixed_grid_of_exactly_one_inner_cell_updates_just_that_cell) {
  const shape n{9, 9, 9};
  const auto start = oracle::noise_grid<double>(n);
  auto sim = support::make_simulation<3, wide, double>(n);
  support::put<3>(sim, u, start);
  sim.run(1);
  auto got = support::take<3, double>(sim, u, n);
  EXPECT_NE(got(4, 4, 4), start(4, 4, 4));
  got(4, 4, 4) = start(4, 4, 4);
  EXPECT_TRUE(support::identical(got, start));
}

template <int Rank, class Stencil, class T> void parts(shape n) {
  const auto start = oracle::noise_grid<T>(n);
  const auto after = [&](std::initializer_list<int> runs) {
    auto sim = support::make_simulation<Rank, Stencil, T>(n);
    sim.boundary(u, stet::neumann);
    support::put<Rank>(sim, u, start);
    for (const int steps : runs) sim.run(steps);
    return support::take<Rank, T>(sim, u, n);
  };
  const auto whole = after({10});
  EXPECT_FALSE(support::close(whole, start));
  EXPECT_TRUE(support::identical(after({5, 5}), whole));
  EXPECT_TRUE(support::identical(after({1, 0, 2, 7}), whole));
}
TEST(runs, in_parts_are_bit_for_bit_the_whole) {
  parts<2, lopsided, float>({1, 67, 131});
  parts<2, lopsided, double>({1, 67, 131});
  parts<3, wide, float>({13, 11, 17});
}
TEST(runs, of_no_steps_change_nothing) {
  const shape n{1, 19, 23};
  const auto start = oracle::noise_grid<float>(n);
  auto sim = support::make_simulation<2, lopsided, float>(n);
  support::put<2>(sim, u, start);
  EXPECT_EQ(sim.run(0).steps, 0);
  EXPECT_TRUE(support::identical(support::take<2, float>(sim, u, n), start));
}

// A NaN reaches exactly the cells that read it, directly or through others.
struct five_points {
  static constexpr auto step() {
    return stet::update(u = 0.2 * (u(-1, 0) + u(0, -1) + u + u(0, 1) + u(1, 0)));
  }
};
TEST(nan, spreads_as_the_diamond_of_the_stencil) {
  const shape n{1, 31, 33};
  const idx y0 = 15, x0 = 16;
  auto sim = support::make_simulation<2, five_points, double>(n);
  sim.boundary(u, stet::periodic);
  auto start = oracle::noise_grid<double>(n);
  start(0, y0, x0) = std::nan("");
  support::put<2>(sim, u, start);
  for (int step = 0; step <= 12; ++step) {
    const auto h = support::take<2, double>(sim, u, n);
    oracle::for_each_cell(n, [&](idx, idx y, idx x) {
      EXPECT_EQ(std::isnan(h(0, y, x)), std::abs(y - y0) + std::abs(x - x0) <= step)
          << step << ": " << y << ", " << x;
    });
    sim.run(1);
  }
}
TEST(nan, follows_a_lopsided_stencil) {
  const shape n{1, 41, 43};
  auto want = oracle::noise_grid<float>(n);
  want(0, 20, 21) = std::nanf("");
  auto sim = support::make_simulation<2, lopsided, float>(n);
  support::put<2>(sim, u, want);
  sim.run(4);
  want = oracle::linear_run(want, lopsided_taps, oracle::everywhere(oracle::fixed), 4);
  std::size_t nans = 0;
  for (const float value : want.cells) nans += std::isnan(value);
  EXPECT_GT(nans, 50u);
  EXPECT_LT(nans, 300u);
  EXPECT_TRUE(support::close(support::take<2, float>(sim, u, n), want));
}

} // namespace
