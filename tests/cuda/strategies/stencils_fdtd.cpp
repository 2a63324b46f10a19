// Two stages with targets of their own: Maxwell, leapfrog.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"hx"> hx;
inline constexpr stet::field<"hy"> hy;
inline constexpr stet::field<"ez"> ez;

struct fdtd {
  static constexpr auto step() {
    return stet::stages(stet::update(hx = hx - 0.4 * (ez(1, 0) - ez), hy = hy + 0.4 * (ez(0, 1) - ez)),
                        stet::update(ez = ez + 0.4 * (hy - hy(0, -1) - hx + hx(-1, 0))));
  }
};
struct fdtd_case {
  using stencil = fdtd;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(hx, hy, ez);
  static double start(int, double noise) { return 0.25 * noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto next_hx = [](const oracle::sight<T>& at) {
      return at(0, 0, 0) - T(0.4) * (at(2, 1, 0) - at(2, 0, 0));
    };
    const auto next_hy = [](const oracle::sight<T>& at) {
      return at(1, 0, 0) + T(0.4) * (at(2, 0, 1) - at(2, 0, 0));
    };
    const auto next_ez = [](const oracle::sight<T>& at) {
      return at(2, 0, 0) + T(0.4) * (at(1, 0, 0) - at(1, 0, -1) - at(0, 0, 0) + at(0, -1, 0));
    };
    return {rank, 3, {{{0, next_hx}, {1, next_hy}}, {{2, next_ez}}}};
  }
};
const strategies::listed<fdtd_case> fdtd_listed("fdtd");

} // namespace
