// Two stages with one target in common.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;

struct shared_target {
  static constexpr auto step() {
    return stet::stages(stet::update(u = 0.6 * u + 0.4 * v(0, 1), v = 0.7 * v + 0.3 * u(-1, 0)),
                        stet::update(u = 0.55 * u(1, 0) + 0.4 * v));
  }
};
struct shared_target_case {
  using stencil = shared_target;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(u, v);
  static double start(int, double noise) { return noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto first_u = [](const oracle::sight<T>& at) {
      return T(0.6) * at(0, 0, 0) + T(0.4) * at(1, 0, 1);
    };
    const auto first_v = [](const oracle::sight<T>& at) {
      return T(0.7) * at(1, 0, 0) + T(0.3) * at(0, -1, 0);
    };
    const auto second_u = [](const oracle::sight<T>& at) {
      return T(0.55) * at(0, 1, 0) + T(0.4) * at(1, 0, 0);
    };
    return {rank, 2, {{{0, first_u}, {1, first_v}}, {{0, second_u}}}};
  }
};
const strategies::listed<shared_target_case> shared_target_listed("shared_target");

} // namespace
