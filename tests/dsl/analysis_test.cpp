// The analysis against values counted by hand. It is constexpr, so most of the test is done when this file
// compiles.
#include <gtest/gtest.h>
#include <stet/analysis.hpp>
#include <stet/helpers.hpp>

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::field<"c"> c;
inline constexpr stet::field<"ez"> ez;
inline constexpr stet::field<"hx"> hx;
inline constexpr stet::field<"hy"> hy;
inline constexpr stet::field<"prev"> prev;
inline constexpr stet::param<"alpha"> alpha;
inline constexpr stet::param<"F"> F;
inline constexpr stet::param<"k"> k;

using stet::linearity;
using stet::reach;
using stet::shape;
using offset = std::array<int, 3>;

/// The offsets of a list are exactly these, in this order.
template <class List> constexpr bool are(const List& list, std::initializer_list<offset> want) {
  if (list.size() != int(want.size())) return false;
  int i = 0;
  for (const offset& one : want)
    if (list[i++] != one) return false;
  return true;
}

// --- Five points
// ----------------------------------------------------------------------------------------------
struct heat {
  static constexpr auto step() {
    return stet::update(u = u + alpha * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * u));
  }
};
using of_heat = stet::analysis<heat>;
static_assert(of_heat::rank == 2 && of_heat::fields == 1 && of_heat::assigned == 1 && of_heat::stages == 1 &&
              of_heat::params == 1);
static_assert(are(of_heat::offsets(u), {{0, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}}),
              "each once, by first use");
static_assert(of_heat::reach_into(u) == reach{{0, 1, 1}, {0, 1, 1}});
static_assert(of_heat::reach().radius() == 1);
static_assert(of_heat::shape(u) == shape::star);
static_assert(of_heat::linearity() == linearity::linear, "a parameter counts as given");
static_assert(of_heat::flops() == 3 + 1 + 1 + 2, "three sums, 4 * u, a difference, one fma");
static_assert(of_heat::reads() == 5 && of_heat::writes() == 1);
static_assert(of_heat::bytes<float>() == 8 && of_heat::bytes<double>() == 16, "u once each way");

// --- A lop-sided box, by two ranks
// ----------------------------------------------------------------------------
struct lopsided {
  static constexpr auto step() {
    return stet::update(u = u(-2, 0) + u(-1, 1) + u(0, -3) + u(1, -1) + c(0, 4));
  }
};
using of_lopsided = stet::analysis<lopsided>;
static_assert(of_lopsided::reach_into(u) == reach{{0, 2, 3}, {0, 1, 1}});
static_assert(of_lopsided::reach_into(c) == reach{{0, 0, 0}, {0, 0, 4}});
static_assert(of_lopsided::reach() == reach{{0, 2, 3}, {0, 1, 4}});
static_assert(of_lopsided::reach_into(u).radius() == 3 && of_lopsided::reach().radius() == 4);
static_assert(of_lopsided::reach().side(0) == 0 && of_lopsided::reach().side(2) == 2 &&
              of_lopsided::reach().side(3) == 1 && of_lopsided::reach().side(4) == 3 &&
              of_lopsided::reach().side(5) == 4);
static_assert(of_lopsided::shape(u) == shape::box && of_lopsided::shape(c) == shape::star);
static_assert(of_lopsided::linearity() == linearity::affine, "the coefficient is an added term");
static_assert(of_lopsided::fields == 2 && of_lopsided::assigned == 1);
static_assert(of_lopsided::bytes<float>() == 3 * 4, "u in and out, c in");

struct line {
  static constexpr auto step() { return stet::update(u = 0.5 * u(-3) + 0.5 * u(2)); }
};
static_assert(stet::analysis<line>::rank == 1);
static_assert(stet::analysis<line>::reach() == reach{{0, 0, 3}, {0, 0, 2}}, "rank 1 is along x");
static_assert(stet::analysis<line>::flops() == 1 + 2, "a product and an fma");

struct volume {
  static constexpr auto step() {
    return stet::update(u = u(-1, 0, 0) - u(0, 2, 0) + u(0, 0, -3) - u(4, 0, 0));
  }
};
static_assert(stet::analysis<volume>::reach() == reach{{1, 0, 3}, {4, 2, 0}});
static_assert(stet::analysis<volume>::shape(u) == shape::star);

// --- Shared subexpressions count once
// -------------------------------------------------------------------------
struct gray_scott {
  static constexpr auto step() {
    auto uvv = u * v * v;
    return stet::update(u = u + 0.16 * stet::laplacian<2>(u) - uvv + F * (1 - u),
                        v = v + 0.08 * stet::laplacian<2>(v) + uvv - (F + k) * v);
  }
};
using of_gray_scott = stet::analysis<gray_scott>;
// laplacian: 3 sums and an fma, 5. u: uvv 2, laplacian 5, fma 2, difference 1, 1 - u 1, fma 2.
// v: laplacian 5, fma 2, + uvv an fma 2, F + k 1, times v 1, difference 1; u * v is there already.
static_assert(of_gray_scott::flops() == (2 + 5 + 2 + 1 + 1 + 2) + (5 + 2 + 2 + 1 + 1 + 1));
static_assert(of_gray_scott::linearity() == linearity::nonlinear);
static_assert(of_gray_scott::reads() == 10 && of_gray_scott::writes() == 2);
static_assert(of_gray_scott::bytes<double>() == 32);
static_assert(of_gray_scott::params == 2);

// --- A coefficient and two time levels
// ------------------------------------------------------------------------
struct wave {
  static constexpr auto step() {
    return stet::update(prev = u, u = 2 * u - prev + c * stet::laplacian<3>(u));
  }
};
using of_wave = stet::analysis<wave>;
static_assert(of_wave::rank == 3 && of_wave::fields == 3 && of_wave::assigned == 2);
static_assert(of_wave::linearity() == linearity::linear, "c is a coefficient");
static_assert(of_wave::shape(prev) == shape::point && of_wave::shape(c) == shape::point &&
              of_wave::shape(u) == shape::star);
static_assert(of_wave::reads() == 9 && of_wave::writes() == 2, "7 u, prev, c");
static_assert(of_wave::bytes<float>() == 5 * 4, "u, prev, c in; u, prev out");

// --- Two stages
// -------------------------------------------------------------------------------------------------
struct fdtd {
  static constexpr auto step() {
    return stet::stages(stet::update(hx = hx - 0.5 * (ez(1, 0) - ez), hy = hy + 0.5 * (ez(0, 1) - ez)),
                        stet::update(ez = ez + 0.5 * (hy - hy(0, -1) - hx + hx(-1, 0))));
  }
};
using of_fdtd = stet::analysis<fdtd>;
static_assert(of_fdtd::stages == 2 && of_fdtd::assigned == 3);
static_assert(of_fdtd::reach_into(ez, 0) == reach{{0, 0, 0}, {0, 1, 1}} &&
              of_fdtd::reach_into(hx, 0) == reach{});
static_assert(of_fdtd::reach_into(hx, 1) == reach{{0, 1, 0}, {0, 0, 0}});
static_assert(of_fdtd::reach_into(hy, 1) == reach{{0, 0, 1}, {0, 0, 0}});
static_assert(of_fdtd::reach(1) == reach{{0, 1, 1}, {0, 0, 0}} &&
              of_fdtd::reach() == reach{{0, 1, 1}, {0, 1, 1}});
static_assert(of_fdtd::reads(0) == 5 && of_fdtd::writes(0) == 2);
static_assert(of_fdtd::reads(1) == 5 && of_fdtd::writes(1) == 1);
static_assert(of_fdtd::flops(0) == 3 + 3 && of_fdtd::flops(1) == 3 + 2 && of_fdtd::flops() == 11,
              "0.5 * x is fused into a sum, not into a difference");
static_assert(of_fdtd::bytes<double>(0) == 5 * 8 && of_fdtd::bytes<double>(1) == 4 * 8 &&
              of_fdtd::bytes<double>() == 9 * 8);
static_assert(of_fdtd::linearity() == linearity::linear);

// --- How a step depends on what it writes
// ---------------------------------------------------------------------
template <class Make> struct rank_1 {
  static constexpr int rank = 1;
  static constexpr auto step() { return stet::update(u = Make{}()); }
};
template <class Make> constexpr linearity kind(Make) { return stet::analysis<rank_1<Make>>::linearity(); }
static_assert(kind([] { return 3; }) == linearity::constant);
static_assert(kind([] { return c + alpha; }) == linearity::constant);
static_assert(kind([] { return stet::sin(c) * u; }) == linearity::linear);
static_assert(kind([] { return u / c - 2 * u; }) == linearity::linear);
static_assert(kind([] { return stet::where(stet::coord<0> < 3, u, -u); }) == linearity::linear);
static_assert(kind([] { return u + 1; }) == linearity::affine);
static_assert(kind([] { return u + stet::sin(stet::step_index); }) == linearity::affine);
static_assert(kind([] { return (u + 1) * c; }) == linearity::affine);
static_assert(kind([] { return u * u; }) == linearity::nonlinear);
static_assert(kind([] { return c / u; }) == linearity::nonlinear);
static_assert(kind([] { return stet::where(u > 0, u, c); }) == linearity::nonlinear);
static_assert(kind([] { return stet::abs(u); }) == linearity::nonlinear);
static_assert(kind([] { return stet::max(u, 0); }) == linearity::nonlinear);
static_assert(kind([] { return u * (u > 0); }) == linearity::nonlinear);

// The terms of star and box come in (dz, dy, dx) order.
struct star {
  static constexpr auto step() { return stet::update(u = stet::star<3>(u, 1, 2, 3, 4, 5, 6, 7)); }
};
struct box {
  static constexpr auto step() { return stet::update(u = stet::box<2>(u, 1, 2, 3, 4, 5, 6, 7, 8, 9)); }
};

TEST(analysis, star_and_box_emit_their_terms_in_order) {
  EXPECT_TRUE(are(stet::analysis<star>::offsets(u),
                  {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}}));
  EXPECT_TRUE(are(stet::analysis<box>::offsets(u), {{0, -1, -1},
                                                    {0, -1, 0},
                                                    {0, -1, 1},
                                                    {0, 0, -1},
                                                    {0, 0, 0},
                                                    {0, 0, 1},
                                                    {0, 1, -1},
                                                    {0, 1, 0},
                                                    {0, 1, 1}}));
}

// A wide box: 169 points, one product and 168 fused ones; the compiler's limits on constant expressions hold
// it.
struct wide_box {
  static constexpr auto step() {
    std::array<double, 169> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / double(i + 1);
    return stet::update(u = stet::box<2>(u, weights));
  }
};
static_assert(stet::analysis<wide_box>::reads() == 169);
static_assert(stet::analysis<wide_box>::flops() == 1 + 168 * 2);
static_assert(stet::analysis<wide_box>::reach_into(u) == reach{{0, 6, 6}, {0, 6, 6}});

// Literals that compare equal but are not: 0 and -0.
struct signed_zeros {
  static constexpr int rank = 1;
  static constexpr auto step() { return stet::update(u = 0.0, v = -0.0); }
};
static_assert(stet::step_program<signed_zeros>::value.node_count == 2);

} // namespace
