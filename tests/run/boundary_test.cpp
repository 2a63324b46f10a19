// What lies beyond the faces, by hand: corners, mirrors and wraps on thin grids, rims of stages, changes
// between runs.
#include "../support/simulate.hpp"

namespace {

using oracle::idx;
using oracle::shape;

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::field<"c"> c;
inline constexpr stet::param<"p"> p;

using real = double;
template <class S> using simulation = stet::simulation<S, real, stet::default_backend>;

struct corner_2d {
  static constexpr auto step() { return stet::update(u = u(-1, -1)); }
};

// Cells hold 10 y + x + 11: row 0 is 11 12, row 1 is 21 22.
struct corner_case {
  const char* name;
  stet::face face[2];
  double value[2]; // NaN: neumann
  double want[4];  // after one step of u = u(-1, -1): (0,0) (0,1) (1,0) (1,1)
};
TEST(corners, x_is_folded_first_then_y) {
  constexpr double mirror = std::numeric_limits<double>::quiet_NaN();
  using enum stet::face;
  const corner_case cases[] = {
      {"dirichlet on both: x wins", {x_low, y_low}, {5, 7}, {5, 7, 5, 11}},
      {"the order of the calls does not matter", {y_low, x_low}, {7, 5}, {5, 7, 5, 11}},
      {"mirror in x, dirichlet in y", {x_low, y_low}, {mirror, 7}, {7, 7, 11, 11}},
      {"dirichlet in x, mirror in y", {x_low, y_low}, {5, mirror}, {5, 11, 5, 11}},
      {"mirror in both", {x_low, y_low}, {mirror, mirror}, {11, 11, 11, 11}},
  };
  for (const corner_case& one : cases) {
    SCOPED_TRACE(one.name);
    simulation<corner_2d> sim({2, 2});
    for (int i = 0; i < 2; ++i) {
      if (std::isnan(one.value[i]))
        sim.boundary(u, one.face[i], stet::neumann);
      else
        sim.boundary(u, one.face[i], stet::dirichlet(one.value[i]));
    }
    sim.fill(u, [](idx y, idx x) { return double(10 * y + x + 11); });
    sim.run(1);
    const auto h = sim.host(u);
    for (idx y = 0; y < 2; ++y)
      for (idx x = 0; x < 2; ++x) EXPECT_EQ(h(y, x), one.want[2 * y + x]) << y << ", " << x;
  }
}
TEST(corners, a_fixed_face_keeps_the_rim_even_where_another_face_gives_a_value) {
  simulation<corner_2d> sim({2, 2}); // y_low stays fixed
  sim.boundary(u, stet::face::x_low, stet::dirichlet(5));
  sim.fill(u, [](idx y, idx x) { return double(10 * y + x + 11); });
  sim.run(1);
  const auto h = sim.host(u);
  EXPECT_EQ(h(0, 0), 11);
  EXPECT_EQ(h(0, 1), 12);
  EXPECT_EQ(h(1, 0), 5);
  EXPECT_EQ(h(1, 1), 11);
}

struct corner_3d {
  static constexpr auto step() { return stet::update(u = u(1, 1, 1)); }
};
TEST(corners, z_is_folded_last) {
  // Cells hold 100 z + 10 y + x; the high corner (1, 1, 1) reads (2, 2, 2).
  simulation<corner_3d> sim({2, 2, 2});
  const auto corner = [&] {
    sim.fill(u, [](idx z, idx y, idx x) { return double(100 * z + 10 * y + x); });
    sim.run(1);
    return sim.host(u)(1, 1, 1);
  };
  sim.boundary(u, stet::neumann);
  EXPECT_EQ(corner(), 111);
  sim.boundary(u, stet::face::z_high, stet::dirichlet(-1));
  EXPECT_EQ(corner(), -1);
  sim.boundary(u, stet::face::y_high, stet::dirichlet(-2));
  EXPECT_EQ(corner(), -2);
  sim.boundary(u, stet::face::x_high, stet::dirichlet(-3));
  EXPECT_EQ(corner(), -3);
  sim.boundary(u, stet::neumann); // again, on all faces
  sim.boundary(u, stet::face::x_low, stet::periodic);
  sim.boundary(u, stet::face::x_high, stet::periodic);
  EXPECT_EQ(corner(), 110);
}

struct far_left {
  static constexpr auto step() { return stet::update(u = u(-5)); }
};
struct far_right {
  static constexpr auto step() { return stet::update(u = u(5)); }
};
template <class S>
void reads(std::vector<int> cells, oracle::side low, oracle::side high, std::vector<int> want) {
  const idx n = idx(cells.size());
  simulation<S> sim({n});
  support::set_sides<1>(sim, u, {{{}, {}, {low, high}}});
  sim.fill(u, [&](idx x) { return double(cells[std::size_t(x)]); });
  sim.run(1);
  const auto h = sim.host(u);
  for (idx x = 0; x < n; ++x) EXPECT_EQ(h(x), want[std::size_t(x)]) << "cell " << x << " of " << n;
}
TEST(thin_grids, wrap_and_mirror_as_often_as_needed) {
  using oracle::dirichlet, oracle::neumann, oracle::periodic;
  reads<far_left>({1}, periodic, periodic, {1});
  reads<far_left>({1, 2}, periodic, periodic, {2, 1});
  reads<far_left>({1, 2, 3}, periodic, periodic, {2, 3, 1});
  // mirrored, the line goes … 2 2 1 | 1 2 2 1 1 2 …: cell -5 of {1, 2} is cell 0
  reads<far_left>({1}, neumann, neumann, {1});
  reads<far_left>({1, 2}, neumann, neumann, {1, 1});
  reads<far_left>({1, 2, 3}, neumann, neumann, {2, 3, 3});
  reads<far_right>({1, 2}, neumann, neumann, {2, 2});
  reads<far_right>({1, 2, 3}, neumann, neumann, {1, 1, 2});
  // out through the mirror on one side, into the dirichlet face on the other
  reads<far_left>({1, 2, 3}, neumann, dirichlet(9), {9, 9, 3});
  reads<far_right>({1, 2, 3}, dirichlet(8), neumann, {1, 8, 8});
  reads<far_left>({1, 2}, dirichlet(8), neumann, {8, 8});
}

// In a stage, the rim is as wide as the stage's reach into fields that are fixed there, and it holds for all
// that the stage writes.
struct exchange {
  static constexpr auto step() {
    return stet::stages(stet::update(u = u + v(0, 2), v = v + u(-1, 0)), stet::update(v = v + 100));
  }
};
TEST(rims, belong_to_the_stage_and_to_fixed_fields_only) {
  const idx ny = 4, nx = 6;
  simulation<exchange> sim({ny, nx});
  const auto run = [&] {
    sim.fill(u, [](idx, idx) { return 1.0; });
    sim.fill(v, [](idx, idx) { return 10.0; });
    sim.run(1);
  };
  // u fixed in y, v periodic: the first row waits in stage one, nothing waits in stage two.
  sim.boundary(v, stet::periodic);
  run();
  auto hu = sim.host(u), hv = sim.host(v);
  for (idx y = 0; y < ny; ++y)
    for (idx x = 0; x < nx; ++x) {
      EXPECT_EQ(hu(y, x), y == 0 ? 1 : 11) << y << ", " << x;
      EXPECT_EQ(hv(y, x), y == 0 ? 110 : 111) << y << ", " << x;
    }
  // u periodic, v fixed: the last two columns wait.
  sim.boundary(u, stet::periodic);
  sim.boundary(v, stet::fixed);
  run();
  auto gu = sim.host(u), gv = sim.host(v);
  for (idx y = 0; y < ny; ++y)
    for (idx x = 0; x < nx; ++x) {
      EXPECT_EQ(gu(y, x), x >= nx - 2 ? 1 : 11) << y << ", " << x;
      EXPECT_EQ(gv(y, x), x >= nx - 2 ? 110 : 111) << y << ", " << x;
    }
}

struct with_coefficient {
  static constexpr auto step() { return stet::update(u = u + c(1)); }
};
TEST(rims, coefficients_have_boundaries_too_fixed_unless_said_otherwise) {
  const auto last = [](auto&& set) {
    simulation<with_coefficient> sim({5});
    sim.boundary(u, stet::periodic);
    set(sim);
    sim.fill(c, [](idx x) { return double(x + 1); });
    sim.run(2);
    EXPECT_EQ(sim.host(u)(0), 4);
    EXPECT_EQ(sim.host(u)(3), 10);
    return sim.host(u)(4);
  };
  EXPECT_EQ(last([](auto&) {}), 0);
  EXPECT_EQ(last([](auto& sim) { sim.boundary(c, stet::periodic); }), 2);
  EXPECT_EQ(last([](auto& sim) { sim.boundary(c, stet::face::x_high, stet::neumann); }), 10);
  EXPECT_EQ(last([](auto& sim) { sim.boundary(c, stet::face::x_high, stet::dirichlet(7)); }), 14);
}

// Reach is syntactic: the branch that is never taken counts.
struct both_branches {
  static constexpr auto step() { return stet::update(u = stet::where(stet::coord<0> < 1000, u + 1, u(3))); }
};
TEST(rims, both_branches_of_where_count) {
  simulation<both_branches> sim({8});
  sim.run(1);
  for (idx x = 0; x < 8; ++x) EXPECT_EQ(sim.host(u)(x), x < 5 ? 1 : 0) << x;
}

struct outside {
  static constexpr auto step() { return stet::update(u = u(-1) + p); }
};
TEST(between_runs, boundaries_and_parameters_may_change) {
  simulation<outside> sim({3});
  sim.boundary(u, stet::dirichlet(1));
  sim.set(p, 10);
  sim.run(1); // 0 0 0 -> 11 10 10
  sim.boundary(u, stet::face::x_low, stet::dirichlet(2));
  sim.run(1); // -> 12 21 20
  sim.set(p, 100);
  sim.run(1); // -> 102 112 121
  sim.boundary(u, stet::periodic);
  sim.run(1); // -> 221 202 212
  sim.boundary(u, stet::fixed);
  sim.run(1); // -> 221 321 302
  const auto h = sim.host(u);
  EXPECT_EQ(h(0), 221);
  EXPECT_EQ(h(1), 321);
  EXPECT_EQ(h(2), 302);
}

struct clock {
  static constexpr int rank = 1;
  static constexpr auto step() { return stet::update(u = 10 * u + stet::step_index); }
};
TEST(between_runs, the_step_index_goes_on) {
  simulation<clock> sim({2});
  sim.run(2); // 0, 1
  sim.run(0);
  sim.fill(u, [](idx) { return 7.0; }); // filling does not set the clock back
  sim.run(1);
  sim.run(2);
  EXPECT_EQ(sim.host(u)(0), 7234);
  EXPECT_EQ(sim.host(u)(1), 7234);
}

TEST(a_simulation, starts_at_zero) {
  simulation<corner_2d> sim({7, 9});
  EXPECT_TRUE(support::identical(support::take<2, real>(sim, u, {1, 7, 9}), oracle::grid<real>({1, 7, 9})));
}

} // namespace
