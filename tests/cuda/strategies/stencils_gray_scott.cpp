// Two fields that react.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::param<"F"> F;
inline constexpr stet::param<"k"> k;

struct gray_scott {
  static constexpr auto step() {
    auto uvv = 0.5 * u * v * v;
    return stet::update(u = u + 0.16 * stet::laplacian<2>(u) - uvv + F * (1 - u),
                        v = v + 0.08 * stet::laplacian<2>(v) + uvv - (F + k) * v);
  }
};
struct gray_scott_case {
  using stencil = gray_scott;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(u, v);
  static double start(int field, double noise) {
    return field == 0 ? 0.75 + 0.25 * noise : 0.2 + 0.2 * noise;
  }
  template <class Simulation> static void set_params(Simulation& sim) { sim.set(F, 0.035), sim.set(k, 0.06); }
  template <class T> static oracle::recipe<T> recipe() {
    const auto laplacian = [](const oracle::sight<T>& at, int f) {
      return at(f, -1, 0) + at(f, 1, 0) + at(f, 0, -1) + at(f, 0, 1) - 4 * at(f, 0, 0);
    };
    const auto next_u = [=](const oracle::sight<T>& at) {
      const T a = at(0, 0, 0), b = at(1, 0, 0);
      return a + T(0.16) * laplacian(at, 0) - T(0.5) * a * b * b + T(0.035) * (1 - a);
    };
    const auto next_v = [=](const oracle::sight<T>& at) {
      const T a = at(0, 0, 0), b = at(1, 0, 0);
      return b + T(0.08) * laplacian(at, 1) + T(0.5) * a * b * b - (T(0.035) + T(0.06)) * b;
    };
    return {rank, 2, {{{0, next_u}, {1, next_v}}}};
  }
};
const strategies::listed<gray_scott_case> gray_scott_listed("gray_scott");

} // namespace
