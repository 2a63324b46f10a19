// The thirteen suite stencils of the product against plain loops over this folder's own tables.
#include "../support/compare.hpp"
#include "suite.hpp"
#include "tables.hpp"
#include <set>

namespace {

using oracle::idx;
using oracle::shape;

const std::vector<std::string> names{"2d5pt",  "2ds9pt", "2d13pt", "2d17pt", "2d21pt", "2ds25pt", "2d9pt",
                                     "2d25pt", "3d7pt",  "3d13pt", "3d17pt", "3d27pt", "poisson"};

TEST(suite, has_the_thirteen_names) {
  EXPECT_EQ((std::set<std::string>(suite::names().begin(), suite::names().end())),
            (std::set<std::string>(names.begin(), names.end())));
}

using face_rules = std::pair<suite::boundary, oracle::side>;
const face_rules boundaries[] = {{{suite::face_rule::fixed}, oracle::fixed},
                                 {{suite::face_rule::dirichlet, 0.75}, oracle::dirichlet(0.75)},
                                 {{suite::face_rule::neumann}, oracle::neumann},
                                 {{suite::face_rule::periodic}, oracle::periodic}};

class suite_stencil : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(each, suite_stencil, ::testing::ValuesIn(names),
                         [](const auto& info) { return "s" + info.param; });

template <class T> void follows_the_oracle(const std::string& name, const std::vector<idx>& extents) {
  const shape n = oracle::as_shape(extents);
  const auto taps = tables::suite(name);
  const auto sim =
      suite::make(name, sizeof(T) == 4 ? suite::precision::single : suite::precision::twice, extents);
  for (const auto& [boundary, side] : boundaries) {
    SCOPED_TRACE(name + ", boundary " + std::to_string(int(boundary.rule)) + ", bytes " +
                 std::to_string(sizeof(T)));
    auto want = oracle::noise_grid<T>(n, 11);
    const auto start = want;
    sim->set_boundary(boundary);
    sim->fill([&](idx z, idx y, idx x) { return double(start(z, y, x)); });
    for (const int steps : {1, 5}) {
      EXPECT_EQ(sim->run(steps).steps, steps);
      want = oracle::linear_run(want, taps, oracle::everywhere(side), steps);
      const std::vector<double> cells = sim->copy_out();
      ASSERT_EQ(cells.size(), want.cells.size());
      oracle::grid<T> got(n);
      for (std::size_t i = 0; i < cells.size(); ++i) got.cells[i] = T(cells[i]);
      EXPECT_TRUE(support::close(got, want)) << "after " << steps << " more steps";
    }
    std::size_t moved = 0;
    for (std::size_t i = 0; i < want.cells.size(); ++i) moved += want.cells[i] != start.cells[i];
    EXPECT_EQ(sim->updated_cells(), idx(moved));
  }
}

TEST_P(suite_stencil, follows_the_oracle_under_all_boundaries) {
  const std::vector<idx> extents =
      GetParam()[0] == '2' ? std::vector<idx>{37, 53} : std::vector<idx>{13, 17, 21};
  follows_the_oracle<float>(GetParam(), extents);
  follows_the_oracle<double>(GetParam(), extents);
}

TEST_P(suite_stencil, keeps_a_constant_field_since_its_weights_sum_to_one) {
  double sum = 0;
  for (const auto& tap : tables::suite(GetParam())) sum += tap.weight;
  EXPECT_NEAR(sum, 1, 1e-15 * 30);
  const std::vector<idx> extents =
      GetParam()[0] == '2' ? std::vector<idx>{20, 30} : std::vector<idx>{8, 9, 10};
  const auto sim = suite::make(GetParam(), suite::precision::twice, extents);
  sim->set_boundary({suite::face_rule::neumann});
  sim->fill([](idx, idx, idx) { return 3.0; });
  sim->run(50);
  for (const double value : sim->copy_out()) ASSERT_NEAR(value, 3, 1e-12);
}

} // namespace
