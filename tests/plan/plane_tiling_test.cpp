// How temporal divides a grid of rank 3, without a GPU: shapes fit a multiprocessor, tiles cover the grid
// once, rings hold what a pass reads, and refusals say why.
#include "posed.hpp"
#include <gtest/gtest.h>

namespace {

struct lopsided { // reaches 2 up, 1 down; 1 above, 2 below; 3 left
  static constexpr auto step() {
    return stet::update(u = 0.5 * u(-2, 0, 0) + 0.25 * u(1, -1, 0) + 0.25 * u(0, 2, -3));
  }
};
struct pair {
  static constexpr auto step() {
    return stet::update(u = u + 0.1 * stet::laplacian<3>(v), v = v - 0.1 * stet::laplacian<3>(u));
  }
};
struct two_stages {
  static constexpr auto step() {
    return stet::stages(stet::update(u = 0.5 * v(0, 0, 1) + 0.5 * u), stet::update(v = 0.5 * u(0, 0, -1)));
  }
};

/// Tiles own every cell once, and hold all around it that the steps of a pass read.
void expect_covered(const axis_tiling& t, int around) {
  EXPECT_EQ(t.own_begin(0), 0);
  EXPECT_EQ(t.own_begin(t.count), t.n);
  for (int i = 0; i < t.count; ++i) {
    SCOPED_TRACE(testing::Message() << "tile " << i << " of " << t.count << ", " << t.n << " cells");
    EXPECT_LT(t.own_begin(i), t.own_begin(i + 1));
    EXPECT_EQ(t.begin(i) % t.unit, 0);
    EXPECT_EQ(t.own_begin(i) % t.unit, 0);
    EXPECT_LE(t.begin(i), t.periodic ? t.own_begin(i) - around : std::max(0, t.own_begin(i) - around));
    EXPECT_GE(t.begin(i) + t.held,
              t.periodic ? t.own_begin(i + 1) + around : std::min(t.n, t.own_begin(i + 1) + around));
  }
}

template <class S, class Real> void expect_tiles_for(boundary_kind kind) {
  const device_facts d = device("h200");
  const plane_shape s = plane_shape_of<S, Real>();
  ASSERT_GT(s.depth, 0);
  EXPECT_LE(s.shared_bytes(), d.shared_per_block_optin);
  EXPECT_LE(s.threads(), 512);
  for (const std::array<index, 3>& n : {std::array<index, 3>{1, 1, 4},
                                        {2, 17, 64},
                                        {5, 98, 68},
                                        {64, 97, 132},
                                        {512, 512, 512},
                                        {7, 4000, 36}}) {
    SCOPED_TRACE(testing::Message() << n[0] << "x" << n[1] << "x" << n[2] << ", boundary " << int(kind));
    std::optional<plan> p;
    ASSERT_NO_THROW(p = make_plan(pose<S, Real>(n, kind), {strategy::temporal, cache::registers}, d));
    const plane_tiling& t = p->planes;
    EXPECT_EQ(p->chosen.how, strategy::temporal);
    EXPECT_GT(p->chosen.seconds_per_step, 0);
    EXPECT_LE(t.blocks, d.sm_count);
    EXPECT_GE(t.rounds() * t.blocks, t.tiles());
    const auto reach = [&](std::size_t a) { return t.depth * std::max(s.around.low[a], s.around.high[a]); };
    expect_covered(t.y, reach(1));
    expect_covered(t.x, reach(2));
    EXPECT_EQ(t.own_begin(0, int(n[0])), 0);
    EXPECT_EQ(t.own_begin(t.cuts, int(n[0])), n[0]);
    for (int i = 0; i < t.cuts && t.cuts > 1; ++i)
      EXPECT_GE(t.own_begin(i + 1, int(n[0])) - t.own_begin(i, int(n[0])), reach(0)) << "cut " << i;
    if (kind == boundary_kind::periodic) { EXPECT_GE(t.overlap, t.tiles() - 1); }
  }
}

TEST(plane_tiling, covers_the_grid) {
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic}) {
    expect_tiles_for<star7, float>(kind);
    expect_tiles_for<star7, double>(kind);
    expect_tiles_for<lopsided, float>(kind);
    expect_tiles_for<lopsided, double>(kind);
    expect_tiles_for<pair, float>(kind);
    expect_tiles_for<pair, double>(kind);
  }
}

std::string refusal(const problem& p, int depth, const device_facts& d) {
  try {
    make_plan(p, {strategy::temporal, cache::registers, depth}, d);
  } catch (const stet::error& e) { return e.what(); }
  return "";
}
TEST(plane_tiling, refusals_name_the_reason) {
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << '"' << text << '"';
  };
  const device_facts d = device("h200");
  const std::array<index, 3> n{64, 64, 64};
  EXPECT_EQ(refusal(pose<star7, float>(n, boundary_kind::fixed), 0, d), "");
  EXPECT_TRUE(says(refusal(pose<star7, float>(n, boundary_kind::neumann), 0, d), "fixed and periodic faces"));
  EXPECT_TRUE(says(refusal(pose<star7, float>(n, boundary_kind::fixed), 9, d), "steps of the stencil"));
  EXPECT_TRUE(
      says(refusal(pose<star7, float>({64, 64, 66}, boundary_kind::periodic), 0, d), "multiple of 4"));
  EXPECT_TRUE(says(refusal(pose<two_stages, float>(n, boundary_kind::fixed), 0, d), "one stage"));
  device_facts small = d;
  small.shared_per_block_optin = 48 * 1024;
  EXPECT_TRUE(says(refusal(pose<star7, float>(n, boundary_kind::fixed), 0, small), "bytes of shared memory"));
}

} // namespace
