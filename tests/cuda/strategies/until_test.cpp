// run_until inside a kernel against the one with a launch per step, and reductions against plain loops.
#include "settings.hpp"
#include <algorithm>

namespace {

using namespace strategies;

template <class T> class until : public ::testing::Test {
 protected:
  void SetUp() override {
    if (lacks_device()) GTEST_SKIP() << "no CUDA device is visible (cudaErrorNoDevice)";
  }
};
using precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(until, precisions);

const std::vector<std::string> boundaries{"fixed", "periodic", "neumann", "mixed", "torus_x"};
const way stepwise{has_strategies ? "per_step" : ""};
/// Those that check inside a kernel, one whose launches end at the checks, and the plan's choice.
std::vector<way> others() {
  if (!has_strategies) return {stepwise};
  return {stepwise,
          {"resident", "both"},
          {"resident", "shared"},
          {"resident_partial", "shared"},
          {"temporal", "shared"},
          {"auto"}};
}
/// A grid of one cell along its slowest axis has no part that could stream.
bool cannot_split(const way& how, int rank, const shape& n) {
  return how.strategy == "resident_partial" && n[std::size_t(3 - rank)] == 1;
}
std::vector<shape> shapes_of(int rank) {
  if (rank == 2) return {{1, 1, 9}, {1, 61, 150}, {1, 257, 263}};
  return {{2, 1, 3}, {13, 12, 22}, {31, 33, 67}};
}
double value_of(const oracle::measures& m, reduction kind) {
  return kind == reduction::sum   ? m.sum
         : kind == reduction::max ? m.max
         : kind == reduction::min ? m.min
                                  : m.norm;
}
/// A tolerance that nothing passes: over no cells, a maximum is -infinity.
constexpr double never = std::numeric_limits<double>::quiet_NaN();

double cells_of(const shape& n) { return double(n[0] * n[1] * n[2]); }

/// A maximum has one value; a sum depends on its order.
void expect_residual(double got, double want, reduction kind, const shape& n) {
  if (kind == reduction::max)
    EXPECT_EQ(support::distance(got, want), 0) << got << ", want " << want;
  else
    EXPECT_LE(support::distance(got, want), 1e-15 * cells_of(n)) << got << ", want " << want;
}

template <class T> void agree_on_everything(const subject<T>& s, const setting<T>& given) {
  const shape n = given.start[0].n;
  for (const auto& [every, max_steps, passing] : {std::array<idx, 3>{1, 12, 5},
                                                  {3, 40, 9},
                                                  {8, 40, 16},
                                                  {17, 40, 34},
                                                  {7, 20, 0},
                                                  {5, 20, 20},
                                                  {41, 40, 0},
                                                  {2, 0, 0}}) {
    SCOPED_TRACE("every " + std::to_string(every) + ", at most " + std::to_string(max_steps));
    // A tolerance that passes at the check after `passing` steps at the latest; 0: one that never passes.
    double tolerance = never;
    if (passing > 0) {
      const auto m = prepared(s, given, stepwise);
      tolerance = m->run_until(never, every, passing).residual * (1 + 1e-6);
    }
    const auto want_machine = prepared(s, given, stepwise);
    const auto want = want_machine->run_until(tolerance, every, max_steps);
    const auto want_fields = fields_of(s, *want_machine, n);
    ASSERT_EQ(want.converged, passing > 0);
    ASSERT_EQ(std::isnan(want.residual), want.steps < every);
    if (want.converged) { // then the residual is that of the present state
      const auto plain =
          oracle::measure(s.measured, s.recipe.rank, want_fields, given.boundaries, want.steps);
      EXPECT_LE(support::distance(want.residual, value_of(plain, s.residual)), sizeof(T) == 4 ? 1e-5 : 1e-12);
    }
    for (const way& how : others()) {
      if (cannot_split(how, s.recipe.rank, n)) continue;
      SCOPED_TRACE(how.name());
      const auto m = prepared(s, given, how);
      const auto got = m->run_until(tolerance, every, max_steps);
      EXPECT_EQ(got.steps, want.steps);
      EXPECT_EQ(m->step(), want.steps);
      EXPECT_EQ(got.converged, want.converged);
      expect_residual(got.residual, want.residual, s.residual, n);
      if (how.strategy != "auto" && has_strategies) { EXPECT_EQ(got.strategy, how.strategy); }
      ASSERT_TRUE(same(fields_of(s, *m, n), want_fields));
    }
  }
}

TYPED_TEST(until, in_a_kernel_is_until_step_by_step) {
  for (const char* name : {"relax", "mix"}) {
    const auto& s = find_subject<TypeParam>(name);
    for (const shape& n : shapes_of(s.recipe.rank))
      for (const auto& given : settings_of(s, n, boundaries)) {
        SCOPED_TRACE(s.name + ", " + given.name + ", nx = " + std::to_string(n[2]));
        agree_on_everything(s, given);
        if (this->HasFatalFailure()) return;
      }
  }
}

TYPED_TEST(until, a_run_goes_on_after_it) {
  for (const char* name : {"relax", "mix"}) {
    const auto& s = find_subject<TypeParam>(name);
    for (const auto& given : settings_of(s, shapes_of(s.recipe.rank)[1], {"periodic", "mixed"})) {
      SCOPED_TRACE(s.name + ", " + given.name);
      const auto plain = prepared(s, given, stepwise);
      plain->run(9 + 4 + 6);
      for (const way& how : others()) {
        SCOPED_TRACE(how.name());
        const auto m = prepared(s, given, how);
        m->run_until(never, 4, 9);
        m->run(4);
        m->run_until(never, 2, 6);
        EXPECT_TRUE(same(fields_of(s, *m, given.start[0].n), fields_of(s, *plain, given.start[0].n)));
      }
    }
  }
}

TYPED_TEST(until, never_passes_on_nan) {
  for (const char* name : {"relax", "mix"}) {
    const auto& s = find_subject<TypeParam>(name);
    for (const auto& given : settings_of(s, shapes_of(s.recipe.rank)[1], {"nan"}))
      for (const way& how : others()) {
        SCOPED_TRACE(s.name + ", " + how.name());
        const auto m = prepared(s, given, how);
        const auto report = m->run_until(std::numeric_limits<double>::infinity(), 2, 9);
        EXPECT_EQ(report.steps, 9);
        EXPECT_FALSE(report.converged);
        EXPECT_TRUE(std::isnan(report.residual));
      }
  }
}

TYPED_TEST(until, registers_alone_hold_it_or_say_why) {
  if (!has_strategies) GTEST_SKIP() << "there is nothing to force";
  const auto& s = find_subject<TypeParam>("relax");
  for (const auto& given : settings_of(s, shapes_of(2)[1], {"fixed"})) {
    const auto m = prepared(s, given, {"resident", "registers"});
    try {
      EXPECT_EQ(m->run_until(never, 2, 9).strategy, "resident");
    } catch (const std::exception& refusal) {
      EXPECT_EQ(std::string(refusal.what()).find("stet: strategy resident: "), 0u) << refusal.what();
    }
  }
}

TYPED_TEST(until, reductions_are_those_of_plain_loops) {
  for (const char* name : {"relax", "mix"}) {
    const auto& s = find_subject<TypeParam>(name);
    auto shapes = shapes_of(s.recipe.rank);
    if (s.recipe.rank == 2) shapes.push_back({1, 602, 1101}); // more cells than threads
    for (const shape& n : shapes)
      for (const auto& given : settings_of(s, n, boundaries))
        for (const way& how : others()) {
          if (cannot_split(how, s.recipe.rank, n)) continue;
          SCOPED_TRACE(s.name + ", " + given.name + ", nx = " + std::to_string(n[2]) + ", " + how.name());
          const auto m = prepared(s, given, how);
          m->run(5);
          const auto want =
              oracle::measure(s.measured, s.recipe.rank, fields_of(s, *m, n), given.boundaries, m->step());
          const double each = sizeof(TypeParam) == 4 ? 1e-6 : 1e-14; // contracted or not
          EXPECT_NEAR(m->reduce(reduction::sum), want.sum, each * cells_of(n));
          EXPECT_NEAR(m->reduce(reduction::norm), want.norm, each * cells_of(n));
          EXPECT_LE(support::distance(m->reduce(reduction::max), want.max), each);
          EXPECT_LE(support::distance(m->reduce(reduction::min), want.min), each);
        }
  }
}

} // namespace
