// A 3D wave: two time levels, and a coefficient that is read beside the cell, too.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"prev"> prev;
inline constexpr stet::field<"c2"> c2;

struct wave {
  static constexpr auto step() {
    auto speed = 0.5 * c2 + 0.5 * c2(0, 0, 1);
    return stet::update(u = 2 * u - prev + speed * stet::laplacian<3>(u), prev = u);
  }
};
struct wave_case {
  using stencil = wave;
  static constexpr int rank = 3;
  static constexpr auto fields = std::make_tuple(u, prev, c2);
  static double start(int field, double noise) { return field == 2 ? 0.1 + 0.05 * noise : 0.125 * noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto next = [](const oracle::sight<T>& at) {
      const T speed = T(0.5) * at(2, 0, 0, 0) + T(0.5) * at(2, 0, 0, 1);
      const T around = at(0, -1, 0, 0) + at(0, 1, 0, 0) + at(0, 0, -1, 0) + at(0, 0, 1, 0) + at(0, 0, 0, -1) +
                       at(0, 0, 0, 1) - 6 * at(0, 0, 0, 0);
      return 2 * at(0, 0, 0, 0) - at(1, 0, 0, 0) + speed * around;
    };
    const auto keep = [](const oracle::sight<T>& at) { return at(0, 0, 0, 0); };
    return {rank, 3, {{{0, next}, {1, keep}}}};
  }
};
const strategies::listed<wave_case> wave_listed("wave");

} // namespace
