#pragma once
// The suite stencils' variants with all weights different, in the library's language.
#include <array>
#include <stet/stet.hpp>

namespace variants {

inline constexpr stet::field<"u"> u;

/// 10, 11, 12 … over their sum, as in tables::variant.
template <std::size_t N> constexpr std::array<double, N> ascending() {
  std::array<double, N> w{};
  double sum = 0;
  for (std::size_t i = 0; i < N; ++i) sum += w[i] = 10.0 + double(i);
  for (double& one : w) one /= sum;
  return w;
}

struct v2d5pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<5>())); }
};
struct v2ds9pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<9>())); }
};
struct v2d13pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<13>())); }
};
struct v2d17pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<17>())); }
};
struct v2d21pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<21>())); }
};
struct v2ds25pt {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, ascending<25>())); }
};
struct v2d9pt {
  static constexpr auto step() { return stet::update(u = stet::box<2>(u, ascending<9>())); }
};
struct v2d25pt {
  static constexpr auto step() { return stet::update(u = stet::box<2>(u, ascending<25>())); }
};
struct v3d7pt {
  static constexpr auto step() { return stet::update(u = stet::star<3>(u, ascending<7>())); }
};
struct v3d13pt {
  static constexpr auto step() { return stet::update(u = stet::star<3>(u, ascending<13>())); }
};
struct v3d27pt {
  static constexpr auto step() { return stet::update(u = stet::box<3>(u, ascending<27>())); }
};

struct v3d17pt {
  static constexpr auto step() {
    constexpr auto w = ascending<17>();
    auto below = w[0] * u(-1, -1, -1) + w[1] * u(-1, -1, 1) + w[2] * u(-1, 1, -1) + w[3] * u(-1, 1, 1);
    auto north = w[4] * u(0, -1, -1) + w[5] * u(0, -1, 0) + w[6] * u(0, -1, 1);
    auto middle = w[7] * u(0, 0, -1) + w[8] * u(0, 0, 0) + w[9] * u(0, 0, 1);
    auto south = w[10] * u(0, 1, -1) + w[11] * u(0, 1, 0) + w[12] * u(0, 1, 1);
    auto above = w[13] * u(1, -1, -1) + w[14] * u(1, -1, 1) + w[15] * u(1, 1, -1) + w[16] * u(1, 1, 1);
    return stet::update(u = below + north + middle + south + above);
  }
};
struct poisson {
  static constexpr auto step() {
    constexpr auto w = ascending<19>();
    auto below = w[0] * u(-1, -1, 0) + w[1] * u(-1, 0, -1) + w[2] * u(-1, 0, 0) + w[3] * u(-1, 0, 1) +
                 w[4] * u(-1, 1, 0);
    auto north = w[5] * u(0, -1, -1) + w[6] * u(0, -1, 0) + w[7] * u(0, -1, 1);
    auto middle = w[8] * u(0, 0, -1) + w[9] * u(0, 0, 0) + w[10] * u(0, 0, 1);
    auto south = w[11] * u(0, 1, -1) + w[12] * u(0, 1, 0) + w[13] * u(0, 1, 1);
    auto above = w[14] * u(1, -1, 0) + w[15] * u(1, 0, -1) + w[16] * u(1, 0, 0) + w[17] * u(1, 0, 1) +
                 w[18] * u(1, 1, 0);
    return stet::update(u = below + north + middle + south + above);
  }
};

} // namespace variants
