// run_until: when it checks, when it stops, what it reports. Values are powers of two, so every residual is
// exact.
#include "../support/simulate.hpp"

namespace {

using oracle::idx;

inline constexpr stet::field<"u"> u;

// After k steps from 1, every cell and the residual are 2^-k.
struct halving {
  static constexpr int rank = 2;
  static constexpr auto step() { return stet::update(u = 0.5 * u); }
  static constexpr auto residual() { return stet::max_of(stet::abs(u)); }
};
template <class T> auto fresh(double start = 1) {
  stet::simulation<halving, T, stet::default_backend> sim({6, 7});
  sim.fill(u, [=](idx, idx) { return start; });
  return sim;
}

struct until_case {
  const char* name;
  double tolerance;
  idx every, max;
  // want
  idx steps;
  bool converged;
  double residual; // NaN: never checked
};
constexpr double none = std::numeric_limits<double>::quiet_NaN();
const until_case cases[] = {
    {"first multiple that passes", 0x1p-7, 3, 100, 9, true, 0x1p-9},
    {"equality passes", 0x1p-6, 3, 100, 6, true, 0x1p-6},
    {"just below is not enough", 0x1.fp-7, 3, 100, 9, true, 0x1p-9},
    {"every step", 0x1p-7, 1, 100, 7, true, 0x1p-7},
    {"already converged: not before the first step", 2, 1, 100, 1, true, 0x1p-1},
    {"already converged: at the first check", 2, 5, 100, 5, true, 0x1p-5},
    {"passing exactly at max", 0x1p-20, 5, 20, 20, true, 0x1p-20},
    {"no check at a max that is no multiple", 0x1p-18, 7, 20, 20, false, 0x1p-14},
    {"never", -1, 7, 20, 20, false, 0x1p-14},
    {"max before the first check", 2, 21, 20, 20, false, none},
    {"max of no steps", 2, 1, 0, 0, false, none},
    {"tolerance NaN never passes", none, 2, 8, 8, false, 0x1p-8},
    {"tolerance infinity passes at once", std::numeric_limits<double>::infinity(), 4, 9, 4, true, 0x1p-4},
};

template <class T> class run_until : public ::testing::Test {};
using precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(run_until, precisions);

TYPED_TEST(run_until, stops_at_the_first_check_that_passes) {
  for (const until_case& one : cases) {
    SCOPED_TRACE(one.name);
    auto sim = fresh<TypeParam>();
    const auto report = sim.run_until(one.tolerance, one.every, one.max);
    EXPECT_EQ(report.steps, one.steps);
    EXPECT_EQ(report.converged, one.converged);
    EXPECT_EQ(support::distance(report.residual, one.residual), 0) << report.residual;
    const auto h = sim.host(u);
    for (idx y = 0; y < 6; ++y)
      for (idx x = 0; x < 7; ++x) ASSERT_EQ(h(y, x), std::ldexp(1.0, int(-one.steps)));
  }
}
TYPED_TEST(run_until, counts_the_steps_of_each_call_by_itself) {
  auto sim = fresh<TypeParam>();
  sim.run(1); // 2^-1
  auto report = sim.run_until(0x1p-6, 4, 100);
  EXPECT_EQ(report.steps, 8); // checks see 2^-5, 2^-9
  EXPECT_EQ(report.residual, 0x1p-9);
  report = sim.run_until(0x1p-6, 4, 100);
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.residual, 0x1p-13);
}
TYPED_TEST(run_until, never_passes_on_nan) {
  auto sim = fresh<TypeParam>(std::nan(""));
  const auto report = sim.run_until(std::numeric_limits<double>::infinity(), 2, 9);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.steps, 9);
  EXPECT_TRUE(std::isnan(report.residual));
}

// The residual sees the fields after the step, the number of the next step, boundaries and the other stage's
// writes.
inline constexpr stet::field<"v"> v;
struct two_stages {
  static constexpr auto step() { return stet::stages(stet::update(u = u + 1), stet::update(v = u(1) + 0.5)); }
  static constexpr auto residual() {
    return stet::sum_of(stet::where(u > 2.5, 0, 1) + stet::abs(v - u - 0.5));
  }
};
TEST(run_until_with_stages, checks_after_the_whole_step) {
  stet::simulation<two_stages, double, stet::default_backend> sim({5});
  sim.boundary(u, stet::periodic);
  const auto report = sim.run_until(0, 1, 50);
  EXPECT_EQ(report.steps, 3);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.residual, 0);
}

// A residual with offsets covers only cells that cross no fixed face; with none left, max is -infinity and
// passes.
struct thin {
  static constexpr auto step() { return stet::update(u = u(0, 1)); }
  static constexpr auto residual() { return stet::max_of(u(0, 1)); }
};
TEST(run_until_on_a_thin_grid, passes_when_no_cell_is_left) {
  stet::simulation<thin, double, stet::default_backend> sim({4, 1});
  sim.fill(u, [](idx, idx) { return 1.0; });
  const auto report = sim.run_until(0, 1, 50);
  EXPECT_EQ(report.steps, 1);
  EXPECT_TRUE(report.converged);
}

} // namespace
