#pragma once
// First states: functions of a cell, the same for the library and for the plain loops.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "options.hpp"
#include "plain.hpp"

namespace app {

/// A pseudo-random value in [0, 1) that depends on the seed and the cell only (the mix is SplitMix64's).
[[nodiscard]] inline double noise(std::uint64_t seed, index z, index y, index x) {
  std::uint64_t h = seed;
  for (const index part : {z, y, x}) {
    h += std::uint64_t(part) + 0x9E3779B97F4A7C15ull;
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ h >> 27) * 0x94D049BB133111EBull;
    h ^= h >> 31;
  }
  return double(h >> 11) / 9007199254740992.0;
}

/// Rounded bumps of height 1 on 0, at places and of widths that the seed decides, in a unit cube that is as
/// wide as the grid's longest axis.
class bumps {
 public:
  bumps(const options& options, int count, double width) : n_(padded(options.extents)), count_(count) {
    const double longest = double(std::max({n_[0], n_[1], n_[2]}));
    for (int i = 0; i < count; ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        centre_[std::size_t(i)][axis] =
            (0.15 + 0.7 * noise(options.seed, i, index(axis), 7)) * double(n_[axis] - 1);
      width_[std::size_t(i)] = width * (0.6 + 0.8 * noise(options.seed, i, 3, 7)) * longest;
    }
  }

  [[nodiscard]] double operator()(index z, index y, index x) const {
    double sum = 0;
    for (std::size_t i = 0; i < std::size_t(count_); ++i) {
      const double dz = double(z) - centre_[i][0], dy = double(y) - centre_[i][1],
                   dx = double(x) - centre_[i][2];
      sum += std::exp(-(dz * dz + dy * dy + dx * dx) / (2 * width_[i] * width_[i]));
    }
    return sum;
  }

 private:
  std::array<index, 3> n_;
  int count_; // at most 16
  std::array<std::array<double, 3>, 16> centre_{};
  std::array<double, 16> width_{};
};

/// `f`, but with one NaN in the middle of the grid when `--init nan` asks for it.
template <class F> [[nodiscard]] auto perhaps_nan(const options& options, F f) {
  return [f, n = padded(options.extents), nan = options.start == start::nan](index z, index y, index x) {
    const bool middle = z == n[0] / 2 && y == n[1] / 2 && x == n[2] / 2;
    return nan && middle ? std::numeric_limits<double>::quiet_NaN() : double(f(z, y, x));
  };
}

} // namespace app
