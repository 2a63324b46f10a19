// One axis with unequal sides, and a parameter.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::param<"p"> p;

struct shift {
  static constexpr auto step() {
    return stet::update(u = 0.3 * u(-3) + 0.25 * u(-1) + 0.2 * u + 0.15 * u(2) + 0.1 * p);
  }
};
struct shift_case {
  using stencil = shift;
  static constexpr int rank = 1;
  static constexpr auto fields = std::make_tuple(u);
  static double start(int, double noise) { return noise; }
  template <class Simulation> static void set_params(Simulation& sim) { sim.set(p, -0.75); }
  template <class T> static oracle::recipe<T> recipe() {
    const auto right = [](const oracle::sight<T>& at) {
      return T(0.3) * at(0, -3) + T(0.25) * at(0, -1) + T(0.2) * at(0, 0) + T(0.15) * at(0, 2) +
             T(0.1) * T(-0.75);
    };
    return {rank, 1, {{{0, right}}}};
  }
};
const strategies::listed<shift_case> shift_listed("shift");

} // namespace
