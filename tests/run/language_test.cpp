// Every operator and function against the C++ one, on values that are easy to get wrong; helpers on
// polynomials.
#include "../support/simulate.hpp"
#include <functional>

namespace {

using oracle::idx;
using oracle::shape;

inline constexpr stet::field<"a"> a;
inline constexpr stet::field<"b"> b;
inline constexpr stet::field<"c"> c;
inline constexpr stet::field<"r0"> r0;
inline constexpr stet::field<"r1"> r1;
inline constexpr stet::field<"r2"> r2;
inline constexpr stet::field<"r3"> r3;
inline constexpr stet::field<"r4"> r4;
inline constexpr stet::field<"r5"> r5;
inline constexpr stet::field<"r6"> r6;
inline constexpr stet::field<"r7"> r7;
inline constexpr stet::field<"r8"> r8;
inline constexpr stet::field<"r9"> r9;

template <class T> constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T> constexpr T inf_of = std::numeric_limits<T>::infinity();

/// All pairs of these values, as the fields a and b; c is a third value.
template <class T> std::vector<T> values() {
  return {0,      -T(0),   1,      -1,     2,       3,   -3,      5,         7,          -7,
          T(0.1), T(-0.7), T(1.5), T(2.5), T(-2.5), 100, T(1e-3), inf_of<T>, -inf_of<T>, nan_of<T>};
}

template <class T> struct row {
  const char* name;
  std::function<T(T, T, T)> want;
  double allowed; // 0: the same value (NaN equals NaN, 0 equals -0)
};

/// Runs one step and compares the fields r0, r1 … with the rows of the table.
template <class Stencil, class T, class... Fields>
void table(const std::vector<row<T>>& rows, Fields... results) {
  const std::vector<T> v = values<T>();
  const idx n = idx(v.size() * v.size());
  const auto at = [&](idx i, int which) {
    const std::size_t k = std::size_t(i);
    return which == 0 ? v[k / v.size()] : which == 1 ? v[k % v.size()] : v[(k * 7 + 3) % v.size()];
  };
  stet::simulation<Stencil, T, stet::default_backend> sim({n});
  sim.fill(a, [&](idx i) { return at(i, 0); });
  sim.fill(b, [&](idx i) { return at(i, 1); });
  sim.fill(c, [&](idx i) { return at(i, 2); });
  sim.run(1);
  std::size_t k = 0;
  ASSERT_EQ(rows.size(), sizeof...(Fields));
  const auto one = [&](auto field) {
    const row<T>& r = rows[k++];
    const auto h = sim.host(field);
    for (idx i = 0; i < n; ++i) {
      const T want = r.want(at(i, 0), at(i, 1), at(i, 2));
      EXPECT_LE(support::distance(double(h(i)), double(want)), r.allowed)
          << r.name << " of " << at(i, 0) << ", " << at(i, 1) << ", " << at(i, 2) << ": got " << h(i)
          << ", want " << want;
    }
  };
  (one(results), ...);
}

/// The host has no cheap fma: the reference backend rounds the product by itself. Others must fuse.
template <class T>
const double fused = stet::default_backend::name == std::string("kokkos_ref")
                         ? 4 * std::numeric_limits<T>::epsilon()
                         : 0.0;

struct arithmetic {
  static constexpr int rank = 1;
  static constexpr auto step() {
    return stet::update(r0 = a + b, r1 = a - b, r2 = a * b, r3 = a / b, r4 = -a, r5 = a * b + c,
                        r6 = c + a * b, r7 = a * b + c * b, r8 = a * b - c, r9 = 2 * a + 0.5);
  }
};
struct logic {
  static constexpr int rank = 1;
  static constexpr auto step() {
    return stet::update(r0 = a<b, r1 = a <= b, r2 = a> b, r3 = a >= b, r4 = a == b, r5 = a != b, r6 = a && b,
                        r7 = a || b, r8 = stet::where(a, b, c),
                        r9 = stet::where((a < b) && (b < c), a + 1, !c));
  }
};
struct functions {
  static constexpr int rank = 1;
  static constexpr auto step() {
    return stet::update(r0 = stet::min(a, b), r1 = stet::max(a, b), r2 = stet::abs(a), r3 = stet::floor(a),
                        r4 = stet::sqrt(a), r5 = stet::sin(a), r6 = stet::cos(a), r7 = stet::tanh(a),
                        r8 = stet::exp(c), r9 = stet::log(a));
  }
};

template <class T> class language : public ::testing::Test {};
using precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(language, precisions);

TYPED_TEST(language, arithmetic_rounds_once_and_a_product_is_fused_into_a_sum) {
  using T = TypeParam;
  table<arithmetic, T>({{"a + b", [](T x, T y, T) { return x + y; }, 0},
                        {"a - b", [](T x, T y, T) { return x - y; }, 0},
                        {"a * b", [](T x, T y, T) { return x * y; }, 0},
                        {"a / b", [](T x, T y, T) { return x / y; }, 0},
                        {"-a", [](T x, T, T) { return -x; }, 0},
                        {"a * b + c", [](T x, T y, T z) { return std::fma(x, y, z); }, fused<T>},
                        {"c + a * b", [](T x, T y, T z) { return std::fma(x, y, z); }, fused<T>},
                        {"a * b + c * b", [](T x, T y, T z) { return std::fma(x, y, T(z * y)); }, fused<T>},
                        {"a * b - c", [](T x, T y, T z) { return T(x * y) - z; }, 0},
                        {"2 * a + 0.5", [](T x, T, T) { return std::fma(T(2), x, T(0.5)); }, fused<T>}},
                       r0, r1, r2, r3, r4, r5, r6, r7, r8, r9);
}
TYPED_TEST(language, comparisons_and_logic_give_1_or_0) {
  using T = TypeParam;
  table<logic, T>({{"a < b", [](T x, T y, T) { return T(x < y); }, 0},
                   {"a <= b", [](T x, T y, T) { return T(x <= y); }, 0},
                   {"a > b", [](T x, T y, T) { return T(x > y); }, 0},
                   {"a >= b", [](T x, T y, T) { return T(x >= y); }, 0},
                   {"a == b", [](T x, T y, T) { return T(x == y); }, 0},
                   {"a != b", [](T x, T y, T) { return T(x != y); }, 0},
                   {"a && b", [](T x, T y, T) { return T(x != 0 && y != 0); }, 0},
                   {"a || b", [](T x, T y, T) { return T(x != 0 || y != 0); }, 0},
                   {"where(a, b, c)", [](T x, T y, T z) { return x != 0 ? y : z; }, 0},
                   {"where(a < b && b < c, a + 1, !c)",
                    [](T x, T y, T z) { return x < y && y < z ? x + 1 : T(z == 0); }, 0}},
                  r0, r1, r2, r3, r4, r5, r6, r7, r8, r9);
}
TYPED_TEST(language, functions) {
  using T = TypeParam;
  const double few_ulp = 8 * std::numeric_limits<T>::epsilon();
  const auto either_nan = [](T x, T y) { return std::isnan(x) || std::isnan(y); };
  table<functions, T>(
      {{"min", [=](T x, T y, T) { return either_nan(x, y) ? nan_of<T> : std::fmin(x, y); }, 0},
       {"max", [=](T x, T y, T) { return either_nan(x, y) ? nan_of<T> : std::fmax(x, y); }, 0},
       {"abs", [](T x, T, T) { return std::fabs(x); }, 0},
       {"floor", [](T x, T, T) { return std::floor(x); }, 0},
       {"sqrt", [](T x, T, T) { return std::sqrt(x); }, 0},
       {"sin", [](T x, T, T) { return std::sin(x); }, few_ulp},
       {"cos", [](T x, T, T) { return std::cos(x); }, few_ulp},
       {"tanh", [](T x, T, T) { return std::tanh(x); }, few_ulp},
       {"exp", [](T, T, T z) { return std::exp(z); }, few_ulp},
       {"log", [](T x, T, T) { return std::log(x); }, few_ulp}},
      r0, r1, r2, r3, r4, r5, r6, r7, r8, r9);
}

// Integers: i runs from -40 to 39.
struct integers {
  static constexpr int rank = 1;
  static constexpr auto step() {
    auto i = stet::coord<0> - 40;
    return stet::update(r0 = stet::mod(i, 3), r1 = stet::mod(i, 7), r2 = stet::parity(i),
                        r3 = stet::pow(2, i), r4 = stet::pow(i, 2), r5 = stet::mod(0.5 * i, 2),
                        r6 = stet::floor(0.25 * i), r7 = stet::mod(i, -3),
                        r8 = stet::where(stet::parity(stet::coord<0> + stet::step_index) == 0, 1, 2));
  }
};
TYPED_TEST(language, mod_and_parity_are_exact_on_integers) {
  using T = TypeParam;
  stet::simulation<integers, T, stet::default_backend> sim({80});
  sim.run(1);
  const auto h0 = sim.host(r0), h1 = sim.host(r1), h2 = sim.host(r2), h3 = sim.host(r3), h4 = sim.host(r4),
             h5 = sim.host(r5);
  const auto h6 = sim.host(r6), h7 = sim.host(r7), h8 = sim.host(r8);
  for (int x = 0; x < 80; ++x) {
    const int i = x - 40;
    EXPECT_EQ(h0(x), ((i % 3) + 3) % 3) << i;
    EXPECT_EQ(h1(x), ((i % 7) + 7) % 7) << i;
    EXPECT_EQ(h2(x), i & 1) << i;
    EXPECT_NEAR(h3(x) / std::ldexp(T(1), i), 1, 4 * std::numeric_limits<T>::epsilon()) << i;
    EXPECT_NEAR(h4(x), i * i, 1600 * std::numeric_limits<T>::epsilon()) << i;
    EXPECT_EQ(h5(x), ((i % 4) + 4) % 4 * 0.5) << i;
    EXPECT_EQ(h6(x), std::floor(i / 4.0)) << i;
    EXPECT_EQ(h7(x), -(((-i % 3) + 3) % 3)) << i;
    EXPECT_EQ(h8(x), x % 2 == 0 ? 1 : 2) << i;
  }
}

// p(z, y, x) = 2 z^2 + 3 y^2 + 5 x^2 + 7 z y + z - 2 y + 4 x: its differences are known integers.
double polynomial(idx z, idx y, idx x) {
  return double(2 * z * z + 3 * y * y + 5 * x * x + 7 * z * y + z - 2 * y + 4 * x);
}
struct differences {
  static constexpr auto step() {
    return stet::update(r0 = stet::d<0>(a), r1 = stet::d<1>(a), r2 = stet::d<2>(a), r3 = stet::d2<0>(a),
                        r4 = stet::d2<1>(a), r5 = stet::d2<2>(a), r6 = stet::laplacian<3>(a),
                        r7 = stet::star<3>(a, 1, 2, 3, 4, 5, 6, 7), // z-, y-, x-, centre, x+, y+, z+
                        r8 = a(0, 0, 0) + a);
  }
};
TEST(helpers, are_the_differences_of_a_polynomial) {
  const shape n{5, 6, 7};
  auto sim = support::make_simulation<3, differences, double>(n);
  support::put<3>(sim, a, oracle::make_grid<double>(n, polynomial));
  sim.run(1);
  const auto check = [&](const char* name, auto field, auto want) {
    const auto inner = oracle::make_grid<double>(n, [&](idx z, idx y, idx x) {
      const bool rim = z == 0 || y == 0 || x == 0 || z == n[0] - 1 || y == n[1] - 1 || x == n[2] - 1;
      return rim ? 0.0 : double(want(z, y, x));
    });
    EXPECT_TRUE(support::close(support::take<3, double>(sim, field, n), inner, 0)) << name;
  };
  check("d<0>", r0, [](idx z, idx y, idx) { return 4 * z + 7 * y + 1; });
  check("d<1>", r1, [](idx z, idx y, idx) { return 6 * y + 7 * z - 2; });
  check("d<2>", r2, [](idx, idx, idx x) { return 10 * x + 4; });
  check("d2<0>", r3, [](idx, idx, idx) { return 4; });
  check("d2<1>", r4, [](idx, idx, idx) { return 6; });
  check("d2<2>", r5, [](idx, idx, idx) { return 10; });
  check("laplacian<3>", r6, [](idx, idx, idx) { return 20; });
  check("star<3>", r7, [](idx z, idx y, idx x) {
    const auto p = polynomial;
    return p(z - 1, y, x) + 2 * p(z, y - 1, x) + 3 * p(z, y, x - 1) + 4 * p(z, y, x) + 5 * p(z, y, x + 1) +
           6 * p(z, y + 1, x) + 7 * p(z + 1, y, x);
  });
  check("a + a", r8, [](idx z, idx y, idx x) { return 2 * polynomial(z, y, x); });
}
struct rank_2_helpers {
  static constexpr auto step() {
    return stet::update(r0 = stet::box<2>(a, 1, 2, 3, 4, 5, 6, 7, 8, 9), r1 = stet::laplacian<2>(a),
                        r2 = stet::star<2>(a, b, 1, b + 2, 3, 4));
  }
};
struct rank_1_helpers {
  static constexpr auto step() {
    return stet::update(r0 = stet::box<1>(a, 1, 2, 3, 4, 5), r1 = stet::laplacian<1>(a), r2 = stet::d<0>(a));
  }
};
TEST(helpers, box_and_star_take_their_weights_row_by_row) {
  const shape n{1, 5, 6};
  auto sim = support::make_simulation<2, rank_2_helpers, double>(n);
  support::put<2>(sim, a, oracle::make_grid<double>(n, polynomial));
  support::put<2>(sim, b, oracle::make_grid<double>(n, [](idx, idx y, idx x) { return y + 10 * x; }));
  sim.run(1);
  const auto box = sim.host(r0), laplacian = sim.host(r1), star = sim.host(r2);
  for (idx y = 1; y < n[1] - 1; ++y)
    for (idx x = 1; x < n[2] - 1; ++x) {
      double want = 0;
      for (idx k = 0; k < 9; ++k) want += double(k + 1) * polynomial(0, y + k / 3 - 1, x + k % 3 - 1);
      EXPECT_EQ(box(y, x), want);
      EXPECT_EQ(laplacian(y, x), 16);
      const auto p = [](idx j, idx i) { return polynomial(0, j, i); };
      const double w = double(y + 10 * x);
      EXPECT_EQ(star(y, x),
                w * p(y - 1, x) + p(y, x - 1) + (w + 2) * p(y, x) + 3 * p(y, x + 1) + 4 * p(y + 1, x));
    }
}
TEST(helpers, of_rank_1) {
  const shape n{1, 1, 9};
  auto sim = support::make_simulation<1, rank_1_helpers, float>(n);
  support::put<1>(sim, a, oracle::make_grid<float>(n, polynomial));
  sim.run(1);
  for (idx x = 2; x < 7; ++x) {
    double want = 0;
    for (idx k = 0; k < 5; ++k) want += double(k + 1) * polynomial(0, 0, x + k - 2);
    EXPECT_EQ(sim.host(r0)(x), want);
    EXPECT_EQ(sim.host(r1)(x), 10);
    EXPECT_EQ(sim.host(r2)(x), 10 * x + 4);
  }
}

// Literals, parameters, coordinates and the step number take the field's precision.
inline constexpr stet::param<"third"> third;
struct precision {
  static constexpr auto step() {
    return stet::update(r0 = 0.1 * a(0, 0), r1 = third * a, r2 = 0.1 + stet::coord<0> * 100 + stet::coord<1>);
  }
};
TYPED_TEST(language, numbers_take_the_precision_of_the_field) {
  using T = TypeParam;
  const shape n{1, 3, 4};
  auto sim = support::make_simulation<2, precision, T>(n);
  sim.set(third, 1.0 / 3);
  sim.fill(a, [](idx y, idx x) { return double(y * 4 + x + 1); });
  sim.run(1);
  const auto h0 = sim.host(r0), h1 = sim.host(r1), h2 = sim.host(r2);
  for (idx y = 0; y < 3; ++y)
    for (idx x = 0; x < 4; ++x) {
      const T value = T(y * 4 + x + 1);
      EXPECT_EQ(h0(y, x), T(0.1) * value);
      EXPECT_EQ(h1(y, x), T(1.0 / 3) * value);
      EXPECT_EQ(h2(y, x), std::fma(T(y), T(100), T(0.1)) + T(x));
    }
}

} // namespace
