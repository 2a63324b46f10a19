// The code blocks of docs/language.md, and checks of what the text says about them.
#include <stet/stet.hpp>

#include "expect.hpp"

// snippet: anatomy
inline constexpr stet::field<"u"> u; // a name is an identity: this is field "u" wherever it stands
inline constexpr stet::field<"v"> v;
inline constexpr stet::param<"F"> F; // a scalar, set at run time
inline constexpr stet::param<"k"> k;

struct gray_scott { // a stencil: a named type, at namespace scope or local to a function
  static constexpr auto step() {
    auto uvv = u * v * v; // an expression is a value: name it, pass it, return it
    return stet::update(u = u + 0.16 * stet::laplacian<2>(u) - uvv + F * (1 - u),
                        v = v + 0.08 * stet::laplacian<2>(v) + uvv - (F + k) * v);
  }
};
// end

void anatomy() {
  // snippet: simulation
  stet::simulation<gray_scott, float> sim({48, 64}); // extents (y, x)
  sim.boundary(u, stet::periodic);
  sim.boundary(v, stet::periodic);
  sim.fill(u, 1);
  sim.fill(v, [](auto y, auto x) { return y / 8 == 3 && x / 8 == 4 ? 0.5 : 0; });
  sim.set(F, 0.035);
  sim.set(k, 0.06);
  stet::run_report report = sim.run(100); // exactly so many steps
  auto h = sim.host(v);                   // a copy: h(y, x)
  // end
  EXPECT(report.steps, 100);
  EXPECT(h(28, 36) > 0 && h(28, 36) < 1, 1);
}

// snippet: own helper
template <class Field, class Speed> constexpr auto upwind(const Field& f, const Speed& c) {
  return stet::where(c > 0, c * (f - f(-1)), c * (f(1) - f)); // both branches are evaluated
}
inline constexpr stet::param<"c"> c;
struct advection {
  static constexpr auto step() { return stet::update(u = u - upwind(u, c)); }
};
// end

void own_helper() {
  stet::simulation<advection> sim({5});
  sim.boundary(u, stet::periodic);
  sim.fill(u, [](auto x) { return x; });
  sim.set(c, 1);
  sim.run(1);
  for (int x = 0; x < 5; ++x) EXPECT(sim.host(u)(x), (x + 4) % 5);
  sim.set(c, -1);
  sim.run(2);
  for (int x = 0; x < 5; ++x) EXPECT(sim.host(u)(x), (x + 1) % 5);
}

// snippet: weights
struct weighted {
  static constexpr auto step() {
    return stet::update(u = stet::star<2>(u, 1, 2, 3, 4, 5),             // north, west, centre, east, south
                        v = stet::box<2>(v, 1, 2, 3, 4, 5, 6, 7, 8, 9)); // row by row, from north-west
  }
};
// end

void weights() {
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x) {
      stet::simulation<weighted> sim({3, 3});
      const auto one = [&](auto j, auto i) { return j == y && i == x; };
      sim.fill(u, one);
      sim.fill(v, one);
      sim.run(1);
      const int star[] = {0, 1, 0, 2, 3, 4, 0, 5, 0};
      EXPECT(sim.host(u)(1, 1), star[3 * y + x]);
      EXPECT(sim.host(v)(1, 1), 3 * y + x + 1);
    }
}

// snippet: red-black
struct red_black { // Gauss-Seidel for the Laplace equation: the second stage reads what the first wrote
  static constexpr auto step() {
    auto mean = 0.25 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0));
    auto odd = stet::parity(stet::coord<0> + stet::coord<1>);
    return stet::stages(stet::update(u = stet::where(odd, u, mean)), //
                        stet::update(u = stet::where(odd, mean, u)));
  }
  static constexpr auto residual() { return stet::max_of(stet::abs(stet::laplacian<2>(u))); }
};
struct mean_square {
  static constexpr auto value() { return stet::sum_of(u * u); }
};
// end

void reductions() {
  // snippet: until
  stet::simulation<red_black> sim({17, 17});
  sim.boundary(u, stet::dirichlet(0));
  sim.boundary(u, stet::face::y_low, stet::dirichlet(1));
  auto report = sim.run_until(1e-9, 10, 100'000); // tolerance, check every 10 steps, at most so many
  double squares = sim.reduce<mean_square>() / double(sim.cells());
  // end
  EXPECT(report.converged, 1);
  EXPECT(report.steps % 10, 0);
  EXPECT(report.residual <= 1e-9, 1);
  EXPECT(squares > 0.05 && squares < 0.25, 1);
  EXPECT(std::abs(sim.host(u)(8, 8) - 0.25) < 1e-6, 1);
  const auto few = sim.run_until(-1, 7, 20);
  EXPECT(few.steps, 20);
  EXPECT(few.converged, 0);
  EXPECT(sim.run_until(1, 7, 6).residual, NAN); // no check: 6 < 7
  EXPECT(sim.run_until(1, 1, 0).converged, 0);
}

// snippet: rank
struct decay {
  static constexpr int rank = 2; // no access gives offsets, so the rank is said
  static constexpr auto step() { return stet::update(u = u - 0.5 * u); }
};
// end

void rank() {
  stet::simulation<decay> sim({2, 3});
  sim.fill(u, 4);
  sim.run(2);
  EXPECT(sim.host(u)(1, 2), 1);
}

// snippet: corner
struct corner {
  static constexpr auto step() { return stet::update(v = u(-1, -1)); }
};
// end

void corners() {
  // snippet: corner run
  stet::simulation<corner> sim({3, 3});
  sim.fill(u, [](auto y, auto x) { return 10 * y + x; });
  sim.fill(v, 5);
  sim.boundary(u, stet::face::y_low, stet::dirichlet(-1));
  sim.boundary(u, stet::face::x_low, stet::dirichlet(-2));
  sim.run(1); // v(0, 0) = -2: x is folded first, and its dirichlet face gives the value
              // v(0, 1) = -1, v(1, 0) = -2, v(1, 1) = 0

  sim.boundary(u, stet::face::x_low, stet::neumann);
  sim.run(1); // v(0, 0) = -1: x is mirrored to 0, then y meets its dirichlet face
              // v(1, 0) = 0

  sim.boundary(u, stet::face::x_low, stet::fixed);
  sim.run(1); // column 0 is rim now: v(0, 0) and v(1, 0) keep what they had
  // end
  EXPECT(sim.host(v)(0, 0), -1);
  EXPECT(sim.host(v)(1, 0), 0);
  sim.fill(v, 5);
  sim.run(1);
  EXPECT(sim.host(v)(0, 0), 5);
  EXPECT(sim.host(v)(1, 0), 5);
  EXPECT(sim.host(v)(0, 1), -1);
  sim.boundary(u, stet::face::x_low, stet::dirichlet(-2));
  sim.run(1);
  EXPECT(sim.host(v)(0, 0), -2);
  EXPECT(sim.host(v)(0, 1), -1);
  EXPECT(sim.host(v)(1, 0), -2);
  EXPECT(sim.host(v)(1, 1), 0);
}

// --- What the tables say: each field below takes the value of one rule, cell by cell
// ---------------------------
inline constexpr stet::field<"mod"> mod;
inline constexpr stet::field<"parity"> parity;
inline constexpr stet::field<"smaller"> smaller;
inline constexpr stet::field<"larger"> larger;
inline constexpr stet::field<"where"> where;
inline constexpr stet::field<"inverse"> inverse;
inline constexpr stet::field<"both"> both;
inline constexpr stet::field<"either"> either;
inline constexpr stet::field<"less"> less;
inline constexpr stet::field<"unequal"> unequal;
inline constexpr stet::field<"tenth"> tenth;
inline constexpr stet::field<"float_tenth"> float_tenth;
inline constexpr stet::field<"third"> third;
inline constexpr stet::field<"number"> number;
struct rules {
  static constexpr int rank = 1;
  static constexpr auto step() {
    return stet::update(mod = stet::mod(u, v), parity = stet::parity(u), smaller = stet::min(u, v),
                        larger = stet::max(u, v), where = stet::where(u, 1, 2), inverse = !u, both = u && v,
                        either = u || v, less = u < v, unequal = u != v, tenth = 0.1, float_tenth = 0.1f,
                        third = u * (1 / 3), number = stet::step_index + 10 * stet::coord<0>);
  }
};

template <class Real> struct rule_results {
  stet::simulation<rules, Real> sim{{1}};
  /// The value of `f` after one step from u, v.
  template <class Field> double operator()(Field f, double first, double second = 0) {
    sim.fill(u, first);
    sim.fill(v, second);
    sim.run(1);
    return sim.host(f)(0);
  }
};

void tables() {
  rule_results<double> rule;
  EXPECT(rule(number, 0), 0);
  EXPECT(rule(number, 0), 1);
  EXPECT(rule(mod, -1, 3), 2);
  EXPECT(rule(mod, 1, -3), -2);
  EXPECT(rule(mod, 7.5, 2), 1.5);
  EXPECT(rule(mod, 1, 0), NAN);
  EXPECT(rule(parity, -3), 1);
  EXPECT(rule(parity, -4), 0);
  EXPECT(rule(parity, 2.5), 0.5);
  EXPECT(rule(smaller, NAN, 1), NAN);
  EXPECT(rule(smaller, 1, NAN), NAN);
  EXPECT(rule(larger, NAN, 1), NAN);
  EXPECT(rule(larger, 1, NAN), NAN);
  EXPECT(rule(where, NAN), 1);
  EXPECT(rule(where, -0.0), 2);
  EXPECT(rule(inverse, NAN), 0);
  EXPECT(rule(inverse, 0), 1);
  EXPECT(rule(both, 0.5, -2), 1);
  EXPECT(rule(both, 0.5, 0), 0);
  EXPECT(rule(either, 0, 0), 0);
  EXPECT(rule(less, NAN, 1), 0);
  EXPECT(rule(unequal, NAN, NAN), 1);
  EXPECT(rule(tenth, 0), 0.1);
  EXPECT(rule(float_tenth, 0), double(0.1f));
  EXPECT(rule(third, 3), 0); // 1 / 3 is C++'s, not ours
  rule_results<float> single;
  EXPECT(single(tenth, 0), 0.1f);
}

int main() {
  anatomy();
  own_helper();
  weights();
  reductions();
  rank();
  corners();
  tables();
}
