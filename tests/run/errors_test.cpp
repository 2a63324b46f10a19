// Mistakes found at run time: stet::error, whose message names the argument and what to do, and nothing has
// changed.
#include "../support/simulate.hpp"
#include <functional>

namespace {

using oracle::idx;

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"c"> c;
inline constexpr stet::param<"speed"> speed;

struct upwind { // reaches 3 to the left, 1 to the right
  static constexpr auto step() { return stet::update(u = u + speed * (u(0, -3) - u(0, 1)) + c(-2, 0)); }
  static constexpr auto residual() { return stet::max_of(u); }
};
using simulation = stet::simulation<upwind, double, stet::default_backend>;
struct largest {
  static constexpr auto value() { return stet::max_of(speed * u); }
};

/// A simulation that may run.
simulation ready(idx ny = 6, idx nx = 7) {
  simulation sim({ny, nx});
  sim.set(speed, 0.5);
  return sim;
}

struct mistake {
  const char* name;
  std::function<void()> make;
  std::vector<const char*> says;
};
const auto run_with = [](auto... set) {
  return [=] {
    simulation sim = ready();
    (set(sim), ...);
    sim.run(1);
  };
};
constexpr idx huge = std::numeric_limits<idx>::max();

const mistake mistakes[] = {
    {"unset_parameter",
     [] {
       simulation({5, 6}).run(1);
     },
     {"speed", "set"}},
    {"unset_parameter_in_run_until",
     [] {
       simulation({5, 6}).run_until(0, 1, 1);
     },
     {"speed", "set"}},
    {"unset_parameter_in_reduce",
     [] {
       simulation({5, 6}).reduce<largest>();
     },
     {"speed", "set"}},
    {"negative_steps", [] { ready().run(-1); }, {"steps", "-1", "0 or more"}},
    {"negative_max_steps", [] { ready().run_until(0, 1, -3); }, {"max_steps", "-3", "0 or more"}},
    {"check_every_0", [] { ready().run_until(0, 0, 5); }, {"check_every", "0", "1 or more"}},
    {"check_every_negative", [] { ready().run_until(0, -2, 5); }, {"check_every", "-2", "1 or more"}},
    {"zero_extent",
     [] {
       simulation({0, 5});
     },
     {"extents", "0x5", "at least one cell"}},
    {"zero_extent_x",
     [] {
       simulation({5, 0});
     },
     {"extents", "5x0"}},
    {"negative_extent",
     [] {
       simulation({5, -1});
     },
     {"extents", "5x-1", "at least one cell"}},
    {"product_of_two_negatives",
     [] {
       simulation({-5, -1});
     },
     {"extents", "-5x-1"}},
    {"overflowing_product",
     [] {
       simulation({idx(1) << 32, idx(1) << 32});
     },
     {"extents", "smaller grid"}},
    {"overflowing_bytes",
     [] {
       simulation({idx(1) << 31, idx(1) << 30});
     },
     {"extents", "smaller grid"}},
    {"overflowing_extent",
     [] {
       simulation({huge, huge});
     },
     {"extents", "smaller grid"}},
    {"extent_beyond_signed",
     [] {
       simulation({~std::uint64_t(0), std::uint64_t(1)});
     },
     {"extents"}},
    {"more_than_any_memory",
     [] {
       simulation({idx(1) << 28, idx(1) << 28});
     },
     {"extents", "smaller grid"}},
    {"periodic_on_one_face",
     run_with([](auto& s) { s.boundary(u, stet::face::x_low, stet::periodic); }),
     {"u", "x_low", "x_high", "periodic", "both faces"}},
    {"periodic_against_neumann",
     run_with([](auto& s) { s.boundary(u, stet::neumann); },
              [](auto& s) { s.boundary(u, stet::face::y_high, stet::periodic); }),
     {"u", "y_low", "y_high", "periodic"}},
    {"periodic_on_one_face_of_a_coefficient",
     run_with([](auto& s) { s.boundary(c, stet::face::y_low, stet::periodic); }),
     {"c", "y_low", "periodic", "both faces"}},
    {"fixed_against_dirichlet_on_a_short_axis",
     [] {
       simulation sim = ready(6, 2);
       sim.boundary(u, stet::face::x_low, stet::dirichlet(1));
       sim.run(1);
     },
     {"u", "fixed", "x_low", "x_high", "2 cells", "reach 3"}},
    {"fixed_against_neumann_on_a_short_axis_of_a_coefficient",
     [] {
       simulation sim = ready(1, 9);
       sim.boundary(c, stet::face::y_high, stet::neumann);
       sim.run(1);
     },
     {"c", "fixed", "y_low", "y_high", "reach 2"}},
    {"face_of_a_missing_axis",
     [] { ready().boundary(u, stet::face::z_low, stet::neumann); },
     {"z_low", "rank 2"}},
    {"null_pointer_in",
     [] {
       ready().copy_in(u, static_cast<const double*>(nullptr), {7, 1});
     },
     {"data", "null"}},
    {"null_pointer_out",
     [] {
       ready().copy_out(u, static_cast<double*>(nullptr), {7, 1});
     },
     {"data", "null"}},
    {"strides_that_overflow",
     [] {
       const double x = 0;
       ready().copy_in(u, &x, {huge, idx(1)});
     },
     {"strides", "elements"}},
    {"most_negative_stride",
     [] {
       const double x = 0;
       ready().copy_in(u, &x, {std::numeric_limits<idx>::min(), idx(1)});
     },
     {"strides", "elements"}},
};

class run_time_error : public ::testing::TestWithParam<mistake> {};
INSTANTIATE_TEST_SUITE_P(each, run_time_error, ::testing::ValuesIn(mistakes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(run_time_error, names_the_argument_and_the_remedy) {
  try {
    GetParam().make();
    ADD_FAILURE() << "no error";
  } catch (const stet::error& e) {
    for (const char* part : GetParam().says)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in: " << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "one line";
    EXPECT_FALSE(e.argument().empty());
  }
}

TEST(after_an_error, the_simulation_is_as_it_was_and_can_be_used) {
  simulation sim = ready();
  sim.fill(u, [](idx y, idx x) { return double(10 * y + x); });
  const auto before = support::take<2, double>(sim, u, {1, 6, 7});
  sim.boundary(u, stet::face::x_low, stet::periodic);
  EXPECT_THROW(sim.run(5), stet::error);
  EXPECT_THROW(sim.run_until(0, 1, 5), stet::error);
  EXPECT_TRUE(support::identical(support::take<2, double>(sim, u, {1, 6, 7}), before));
  EXPECT_EQ(sim.step(), 0);
  sim.boundary(u, stet::face::x_high, stet::periodic);
  EXPECT_EQ(sim.run(5).steps, 5);
  EXPECT_EQ(sim.step(), 5);
}

TEST(no_error, where_the_rules_allow_it) {
  simulation sim = ready(2, 3); // c is fixed on both faces, on an axis as long as its reach
  sim.boundary(u, stet::face::x_low,
               stet::dirichlet(1)); // opposite fixed, on an axis of 3 cells: not shorter than the reach
  EXPECT_EQ(sim.run(1).steps, 1);
  sim.set(speed, std::nan("")); // NaN is a value like any other
  EXPECT_EQ(sim.run(1).steps, 1);
  simulation thin = ready(1, 1); // thinner than every rim: nothing is updated
  thin.fill(u, 3);
  EXPECT_EQ(thin.run(4).steps, 4);
  EXPECT_EQ(thin.host(u)(0, 0), 3);
}

struct poison {
  static constexpr auto step() { return stet::update(u = u(0, 0) * speed); }
};
TEST(no_error, a_parameter_of_nan_gives_nan) {
  stet::simulation<poison, float, stet::default_backend> sim({3, 4});
  sim.fill(u, 1);
  sim.set(speed, std::nan(""));
  sim.run(1);
  for (idx y = 0; y < 3; ++y)
    for (idx x = 0; x < 4; ++x) EXPECT_TRUE(std::isnan(sim.host(u)(y, x)));
}

} // namespace
