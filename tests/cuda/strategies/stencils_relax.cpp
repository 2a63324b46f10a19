// A residual that is a maximum, in 2D.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;

struct relax {
  static constexpr auto step() {
    return stet::update(u = stet::star<2>(u, 0.24, 0.21, 0.08, 0.2, 0.26)); // they sum to 0.99
  }
  static constexpr auto difference() { return u(-1, 0) + 2 * u(0, 1) - 3 * u; }
  static constexpr auto residual() { return stet::max_of(stet::abs(difference())); }
};
struct relax_case {
  using stencil = relax;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(u);
  static constexpr auto residual = strategies::reduction::max;
  static double start(int, double noise) { return noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto right = [](const oracle::sight<T>& at) {
      return T(0.24) * at(0, -1, 0) + T(0.21) * at(0, 0, -1) + T(0.08) * at(0, 0, 0) + T(0.2) * at(0, 0, 1) +
             T(0.26) * at(0, 1, 0);
    };
    return {rank, 1, {{{0, right}}}};
  }
  template <class T> static T measured(const oracle::sight<T>& at) {
    return std::abs(at(0, -1, 0) + 2 * at(0, 0, 1) - 3 * at(0, 0, 0));
  }
  static constexpr auto expression() { return stet::abs(relax::difference()); }
  struct sum {
    static constexpr auto value() { return stet::sum_of(expression()); }
  };
  struct max {
    static constexpr auto value() { return stet::max_of(expression()); }
  };
  struct min {
    static constexpr auto value() { return stet::min_of(expression()); }
  };
  struct norm {
    static constexpr auto value() { return stet::norm2_of(expression()); }
  };
};
const strategies::listed<relax_case> relax_listed("relax");

} // namespace
