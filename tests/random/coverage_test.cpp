// The generated stencils are worth running: between them they use the whole language, and their values move
// and stay finite.
#include "../support/compare.hpp"
#include "check.hpp"
#include "program.hpp"
#include <set>

namespace random_stencils {

std::vector<std::pair<const oracle::program*, std::string_view>>& entry::all() {
  static std::vector<std::pair<const oracle::program*, std::string_view>> programs;
  return programs;
}

TEST(random_stencils, cover_the_language) {
  std::set<oracle::op> ops;
  std::set<oracle::kind> kinds;
  std::set<std::pair<int, std::string_view>> rank_and_type;
  std::set<std::size_t> stages;
  bool asymmetric = false, coefficient = false, thin = false;
  for (const auto& [p, type] : entry::all()) {
    rank_and_type.insert({p->rank, type});
    stages.insert(p->stages.size());
    for (const auto& stage : p->stages)
      for (const auto& assignment : stage)
        for (const auto& token : assignment.right) {
          ops.insert(token.what);
          if (token.what != oracle::op::field) continue;
          coefficient = coefficient || token.index >= p->assigned;
          for (const int d : token.offset) asymmetric = asymmetric || d <= -2;
        }
    for (const auto& s : p->settings) {
      for (int a = 3 - p->rank; a < 3; ++a) thin = thin || s.n[std::size_t(a)] == 1;
      for (const auto& sides : s.boundaries)
        for (const auto& axis : sides)
          for (const auto& side : axis) kinds.insert(side.what);
    }
  }
  EXPECT_EQ(ops.size(), std::size_t(oracle::op_count));
  EXPECT_EQ(kinds.size(), 4u);
  EXPECT_EQ(rank_and_type.size(), 6u) << "ranks 1 to 3, float and double";
  EXPECT_EQ(stages, (std::set<std::size_t>{1, 2, 3}));
  EXPECT_TRUE(asymmetric && coefficient && thin);
}

TEST(random_stencils, move_and_stay_bounded) {
  for (const auto& [p, type] : entry::all()) {
    SCOPED_TRACE(p->name);
    const oracle::setting& s = p->settings.front();
    const auto before = oracle::start<double>(*p, s);
    auto after = before;
    int steps = 0;
    for (const int run : s.runs) steps += run;
    for (int k = 0; k < steps; ++k) oracle::advance(*p, s, after);
    for (int f = 0; f < p->assigned; ++f) {
      const auto& a = before.fields[std::size_t(f)].cells;
      const auto& b = after.fields[std::size_t(f)].cells;
      std::size_t moved = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        moved += a[i] != b[i];
        EXPECT_LE(std::abs(b[i]), 1.5) << p->fields[std::size_t(f)].name << " at " << i;
      }
      EXPECT_GT(moved, 0u) << p->fields[std::size_t(f)].name;
    }
  }
}

} // namespace random_stencils
