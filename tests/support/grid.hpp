#pragma once
// A plain grid of values, always seen as (z, y, x); lower ranks have extents of 1 in front. Knows nothing of
// the library.
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

namespace oracle {

using idx = std::int64_t;
using shape = std::array<idx, 3>; // (z, y, x)

template <class T> struct grid {
  shape n{1, 1, 1};
  std::vector<T> cells;

  grid() = default;
  explicit grid(shape extents, T value = T(0))
      : n(extents), cells(static_cast<std::size_t>(extents[0] * extents[1] * extents[2]), value) {}

  T& operator()(idx z, idx y, idx x) { return cells[static_cast<std::size_t>((z * n[1] + y) * n[2] + x)]; }
  const T& operator()(idx z, idx y, idx x) const {
    return cells[static_cast<std::size_t>((z * n[1] + y) * n[2] + x)];
  }
};

/// Calls f(z, y, x) for every cell, x fastest.
template <class F> void for_each_cell(shape n, F&& f) {
  for (idx z = 0; z < n[0]; ++z)
    for (idx y = 0; y < n[1]; ++y)
      for (idx x = 0; x < n[2]; ++x) f(z, y, x);
}

/// A grid filled from f(z, y, x), rounded to T.
template <class T, class F> grid<T> make_grid(shape n, F&& f) {
  grid<T> g(n);
  for_each_cell(n, [&](idx z, idx y, idx x) { g(z, y, x) = static_cast<T>(f(z, y, x)); });
  return g;
}

/// A pseudo-random value in [-1, 1) that depends on the cell and the salt only.
inline double noise(idx z, idx y, idx x, std::uint64_t salt = 0) {
  std::uint64_t h = salt * 0xD6E8FEB86659FD93ull + 0x2545F4914F6CDD1Dull;
  for (const idx part : {z, y, x}) {
    h ^= static_cast<std::uint64_t>(part) + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
    h *= 0xBF58476D1CE4E5B9ull;
    h ^= h >> 31;
  }
  return static_cast<double>(h >> 11) / 4503599627370496.0 - 1.0;
}

template <class T> grid<T> noise_grid(shape n, std::uint64_t salt = 0) {
  return make_grid<T>(n, [salt](idx z, idx y, idx x) { return noise(z, y, x, salt); });
}

/// Extents of rank 1, 2 or 3 as (z, y, x).
inline shape as_shape(const std::vector<idx>& extents) {
  shape n{1, 1, 1};
  for (std::size_t i = 0; i < extents.size(); ++i) n[3 - extents.size() + i] = extents[i];
  return n;
}

} // namespace oracle
