// A residual that is a norm over two fields and stages, in 3D.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;

struct mix {
  static constexpr auto step() {
    return stet::stages(stet::update(u = 0.5 * u + 0.3 * v(1, 0, 0) + 0.15 * v(0, -1, 0)),
                        stet::update(v = 0.45 * v + 0.25 * u(0, 0, -1) + 0.25 * u(-1, 0, 0)));
  }
  static constexpr auto residual() { return stet::norm2_of(u(0, 1, 0) - v); }
};
struct mix_case {
  using stencil = mix;
  static constexpr int rank = 3;
  static constexpr auto fields = std::make_tuple(u, v);
  static constexpr auto residual = strategies::reduction::norm;
  static double start(int, double noise) { return noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto next_u = [](const oracle::sight<T>& at) {
      return T(0.5) * at(0, 0, 0, 0) + T(0.3) * at(1, 1, 0, 0) + T(0.15) * at(1, 0, -1, 0);
    };
    const auto next_v = [](const oracle::sight<T>& at) {
      return T(0.45) * at(1, 0, 0, 0) + T(0.25) * at(0, 0, 0, -1) + T(0.25) * at(0, -1, 0, 0);
    };
    return {rank, 2, {{{0, next_u}}, {{1, next_v}}}};
  }
  template <class T> static T measured(const oracle::sight<T>& at) { return at(0, 0, 1, 0) - at(1, 0, 0, 0); }
  static constexpr auto expression() { return u(0, 1, 0) - v; }
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
const strategies::listed<mix_case> mix_listed("mix");

} // namespace
