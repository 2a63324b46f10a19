// A stencil that reads the step's number and the coordinates.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;

struct clock {
  static constexpr auto step() {
    auto place = stet::where(stet::step_index < 5, 0.0002 * stet::coord<0>, -0.0001 * stet::coord<1>);
    return stet::update(u = 0.5 * u(0, 1) + 0.3 * u(-2, 0) + place + 0.001 * stet::step_index);
  }
};
struct clock_case {
  using stencil = clock;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(u);
  static constexpr bool reads_step = true;
  static double start(int, double noise) { return noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto right = [](const oracle::sight<T>& at) {
      const T place = at.step < 5 ? T(0.0002) * at.coord(0) : T(-0.0001) * at.coord(1);
      return T(0.5) * at(0, 0, 1) + T(0.3) * at(0, -2, 0) + place + T(0.001) * T(at.step);
    };
    return {rank, 1, {{{0, right}}}};
  }
};
const strategies::listed<clock_case> clock_listed("clock");

} // namespace
