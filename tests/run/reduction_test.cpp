// Reductions: which cells they cover, what NaN and emptiness give, and that sums accumulate in double.
#include "../support/simulate.hpp"
#include <algorithm>

namespace {

using oracle::idx;
using oracle::shape;

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"c"> c;
inline constexpr stet::param<"p"> p;

struct stencil {
  static constexpr auto step() { return stet::update(u = u + p * c(0, 1)); }
};
struct sum_of_cells {
  static constexpr auto value() { return stet::sum_of(u); }
};
struct max_of_cells {
  static constexpr auto value() { return stet::max_of(u); }
};
struct min_of_cells {
  static constexpr auto value() { return stet::min_of(u); }
};
struct norm_of_cells {
  static constexpr auto value() { return stet::norm2_of(u); }
};
// A reach of 2 up, 1 right into u, 1 left into c.
struct sum_around {
  static constexpr auto value() { return stet::sum_of(u(-2, 0) + 2 * u(0, 1) - c(0, -1)); }
};
struct max_around {
  static constexpr auto value() { return stet::max_of(u(-2, 0) + 2 * u(0, 1) - c(0, -1)); }
};
struct min_around {
  static constexpr auto value() { return stet::min_of(u(-2, 0) + 2 * u(0, 1) - c(0, -1)); }
};
struct norm_around {
  static constexpr auto value() { return stet::norm2_of(u(-2, 0) + 2 * u(0, 1) - c(0, -1)); }
};
struct with_all {
  static constexpr auto value() { return stet::sum_of(p * u + 1000 * stet::step_index + stet::coord<1>); }
};

template <class T> using simulation = stet::simulation<stencil, T, stet::default_backend>;

struct four {
  double sum = 0, max = -std::numeric_limits<double>::infinity(),
         min = std::numeric_limits<double>::infinity(), norm = 0;
  void add(double v) { sum += v, max = std::fmax(max, v), min = std::fmin(min, v), norm += v * v; }
};

template <class T> class reduction : public ::testing::Test {};
using precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(reduction, precisions);

TYPED_TEST(reduction, covers_the_cells_whose_expression_crosses_no_fixed_face) {
  using T = TypeParam;
  const shape n{1, 23, 31};
  const auto gu = oracle::noise_grid<T>(n, 1), gc = oracle::noise_grid<T>(n, 2);
  using oracle::dirichlet, oracle::everywhere, oracle::fixed, oracle::neumann, oracle::periodic;
  const std::pair<oracle::sides, oracle::sides> cases[] = {
      {everywhere(fixed), everywhere(fixed)},
      {everywhere(periodic), everywhere(fixed)},
      {everywhere(fixed), everywhere(neumann)},
      {everywhere(dirichlet(3)), everywhere(periodic)},
      {{{{}, {neumann, fixed}, {fixed, dirichlet(5)}}}, everywhere(dirichlet(-7))}};
  int number = 0;
  for (const auto& both : cases) {
    const auto &of_u = both.first, &of_c = both.second; // clang 14: lambdas capture no structured bindings
    SCOPED_TRACE("case " + std::to_string(number++));
    auto sim = support::make_simulation<2, stencil, T>(n);
    sim.set(p, 1);
    support::put<2>(sim, u, gu), support::put<2>(sim, c, gc);
    support::set_sides<2>(sim, u, of_u), support::set_sides<2>(sim, c, of_c);
    four want, bare;
    oracle::for_each_cell(n, [&](idx z, idx y, idx x) {
      bare.add(double(gu(z, y, x)));
      if (oracle::crosses_fixed(n, of_u, {z, y, x}, {0, -2, 0}) ||
          oracle::crosses_fixed(n, of_u, {z, y, x}, {0, 0, 1}) ||
          oracle::crosses_fixed(n, of_c, {z, y, x}, {0, 0, -1}))
        return;
      want.add(double(T(T(oracle::read(gu, of_u, z, y - 2, x) + 2 * oracle::read(gu, of_u, z, y, x + 1)) -
                        oracle::read(gc, of_c, z, y, x - 1))));
    });
    const double each = support::tolerance<T>;
    EXPECT_NEAR(sim.template reduce<sum_around>(), want.sum, each * 23 * 31);
    EXPECT_NEAR(sim.template reduce<max_around>(), want.max, each * 4);
    EXPECT_NEAR(sim.template reduce<min_around>(), want.min, each * 4);
    EXPECT_NEAR(sim.template reduce<norm_around>(), std::sqrt(want.norm), each * 100);
    EXPECT_NEAR(sim.template reduce<sum_of_cells>(), bare.sum, 1e-12 * 23 * 31) << "no offset, every cell";
    EXPECT_EQ(sim.template reduce<max_of_cells>(), bare.max);
    EXPECT_EQ(sim.template reduce<min_of_cells>(), bare.min);
    EXPECT_NEAR(sim.template reduce<norm_of_cells>(), std::sqrt(bare.norm), 1e-12 * 100);
  }
}

TYPED_TEST(reduction, of_a_nan_is_nan_wherever_it_is) {
  using T = TypeParam;
  const idx ny = 19, nx = 70;
  for (const auto& [y, x] : {std::pair<idx, idx>{0, 0}, {9, 35}, {18, 69}, {0, 69}}) {
    simulation<T> sim({ny, nx});
    sim.set(p, 0);
    sim.fill(u, [&, y = y, x = x](idx j, idx i) { return j == y && i == x ? std::nan("") : double(j - i); });
    EXPECT_TRUE(std::isnan(sim.template reduce<sum_of_cells>())) << y << ", " << x;
    EXPECT_TRUE(std::isnan(sim.template reduce<max_of_cells>())) << y << ", " << x;
    EXPECT_TRUE(std::isnan(sim.template reduce<min_of_cells>())) << y << ", " << x;
    EXPECT_TRUE(std::isnan(sim.template reduce<norm_of_cells>())) << y << ", " << x;
  }
  // A NaN that no covered cell reads does not count: u(-2, 0) and u(0, 1) never read the high left corner.
  simulation<T> sim({ny, nx});
  sim.set(p, 0);
  sim.fill(u, [&](idx y, idx x) { return y == ny - 1 && x == 0 ? std::nan("") : 1.0; });
  EXPECT_EQ(sim.template reduce<max_around>(), 3);
}

TYPED_TEST(reduction, over_no_cells) {
  using T = TypeParam;
  simulation<T> sim({2, 9}); // u(-2, 0) crosses everywhere
  sim.set(p, 0);
  sim.fill(u, [](idx, idx) { return 1.0; });
  EXPECT_EQ(sim.template reduce<sum_around>(), 0);
  EXPECT_EQ(sim.template reduce<norm_around>(), 0);
  EXPECT_EQ(sim.template reduce<max_around>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(sim.template reduce<min_around>(), std::numeric_limits<double>::infinity());
}

TYPED_TEST(reduction, of_values_on_one_side_of_zero_and_of_infinities) {
  using T = TypeParam;
  simulation<T> sim({5, 6});
  sim.set(p, 0);
  sim.fill(u, [](idx y, idx x) { return -3.0 - double(y) - double(x); });
  EXPECT_EQ(sim.template reduce<max_of_cells>(), -3);
  sim.fill(u, [](idx y, idx x) { return 3.0 + double(y) + double(x); });
  EXPECT_EQ(sim.template reduce<min_of_cells>(), 3);
  sim.fill(u, [](idx y, idx x) { return y == 1 && x == 1 ? -std::numeric_limits<double>::infinity() : 0.0; });
  EXPECT_EQ(sim.template reduce<min_of_cells>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(sim.template reduce<max_of_cells>(), 0);
}

TYPED_TEST(reduction, sees_parameters_and_the_clock) {
  using T = TypeParam;
  simulation<T> sim({2, 3});
  sim.set(p, 10);
  sim.fill(u, [](idx, idx) { return 1.0; });
  EXPECT_EQ(sim.template reduce<with_all>(), 6 * 10 + 6);
  sim.run(2);
  EXPECT_EQ(sim.template reduce<with_all>(), 6 * 10 + 6 * 2000 + 6);
}

TEST(reduction_of_floats, accumulates_in_double) {
  const shape n{1, 1000, 1003};
  auto sim = support::make_simulation<2, stencil, float>(n);
  sim.set(p, 0);
  sim.fill(u, [](idx, idx) { return 0.1; });
  const double count = 1000 * 1003.0, tenth = double(0.1f);
  EXPECT_NEAR(sim.reduce<sum_of_cells>(), count * tenth, 1e-11 * count) << "a float sum is off by hundreds";
  EXPECT_NEAR(sim.reduce<norm_of_cells>(), std::sqrt(count) * tenth, 1e-9);
  // Squares of floats overflow float, not double.
  sim.fill(u, [](idx, idx) { return 1e25; });
  EXPECT_NEAR(sim.reduce<norm_of_cells>() / (std::sqrt(count) * double(1e25f)), 1, 1e-12);
}

TEST(reduction_between_runs, does_not_disturb_the_run) {
  const shape n{1, 17, 19};
  const auto after = [&](bool reduce) {
    auto sim = support::make_simulation<2, stencil, double>(n);
    sim.set(p, 0.5);
    support::put<2>(sim, u, oracle::noise_grid<double>(n, 1));
    support::put<2>(sim, c, oracle::noise_grid<double>(n, 2));
    for (int i = 0; i < 3; ++i) {
      sim.run(1);
      if (reduce) sim.reduce<norm_around>();
    }
    return support::take<2, double>(sim, u, n);
  };
  EXPECT_TRUE(support::identical(after(true), after(false)));
}

} // namespace
