// Conway's Life: where, ==, exact values.
#include "simulated.hpp"

namespace {

inline constexpr stet::field<"u"> u;

struct life {
  static constexpr auto step() {
    auto n = u(-1, -1) + u(-1, 0) + u(-1, 1) + u(0, -1) + u(0, 1) + u(1, -1) + u(1, 0) + u(1, 1);
    return stet::update(u = stet::where((n == 3) || ((n == 2) && (u == 1)), 1, 0));
  }
};
struct life_case {
  using stencil = life;
  static constexpr int rank = 2;
  static constexpr auto fields = std::make_tuple(u);
  static double start(int, double noise) { return noise < -0.2 ? 1 : 0; }
  template <class T> static oracle::recipe<T> recipe() {
    const auto right = [](const oracle::sight<T>& at) {
      T n = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (dy != 0 || dx != 0) n += at(0, dy, dx);
      const T here = at(0, 0, 0);
      return n == 3 || (n == 2 && here == 1) ? T(1) : T(0);
    };
    return {rank, 1, {{{0, right}}}};
  }
};
const strategies::listed<life_case> life_listed("life");

} // namespace
