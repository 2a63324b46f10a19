#pragma once
// The weights of the 13 stencils, written down once: the library's expressions (stencils.hpp) and the lists
// that oracles loop over (entry::taps) both come from here.
//
// The published weights do not sum to one, so that a field would decay to zero or grow without bound. Every
// weight is therefore divided by the sum of its stencil's; normalised() is the only place that does it.
#include <array>
#include <cstddef>

namespace suite {

/// One term of a stencil: weight · u(z + dz, y + dy, x + dx).
struct tap {
  int dz = 0, dy = 0, dx = 0;
  double weight = 0;
};

/// Taps in (dz, dy, dx) order.
template <std::size_t N> using table = std::array<tap, N>;

template <std::size_t N> constexpr table<N> normalised(table<N> taps) {
  double sum = 0;
  for (const tap& t : taps) sum += t.weight;
  for (tap& t : taps) t.weight /= sum;
  return taps;
}

/// The weights alone, as stet::star and stet::box take them.
template <std::size_t N> constexpr std::array<double, N> weights(const table<N>& taps) {
  std::array<double, N> result{};
  for (std::size_t i = 0; i < N; ++i) result[i] = taps[i].weight;
  return result;
}

namespace published {

/// Weights over 118 at distance 1 to 6. Every second star of the literature is a prefix of this table.
inline constexpr double west[] = {12, 9, 3, 2, 5, 6}; // x-
inline constexpr double east[] = {12, 9, 3, 3, 4, 6}; // x+
inline constexpr double north[] = {5, 7, 5, 1, 6, 2}; // y-
inline constexpr double south[] = {5, 7, 5, 4, 3, 2}; // y+
inline constexpr double centre = 15;

template <int Radius> constexpr auto star_2d() {
  table<4 * Radius + 1> taps{};
  std::size_t i = 0;
  for (int d = Radius; d > 0; --d) taps[i++] = {0, -d, 0, north[d - 1] / 118};
  for (int d = Radius; d > 0; --d) taps[i++] = {0, 0, -d, west[d - 1] / 118};
  taps[i++] = {0, 0, 0, centre / 118};
  for (int d = 1; d <= Radius; ++d) taps[i++] = {0, 0, d, east[d - 1] / 118};
  for (int d = 1; d <= Radius; ++d) taps[i++] = {0, d, 0, south[d - 1] / 118};
  return taps;
}

/// A 2D box, rows from y- to y+.
template <int Radius>
constexpr auto box_2d(const std::array<double, (2 * Radius + 1) * (2 * Radius + 1)>& rows, double over) {
  table<(2 * Radius + 1) * (2 * Radius + 1)> taps{};
  std::size_t i = 0;
  for (int dy = -Radius; dy <= Radius; ++dy)
    for (int dx = -Radius; dx <= Radius; ++dx, ++i) taps[i] = {0, dy, dx, rows[i] / over};
  return taps;
}

inline constexpr auto box_9 = box_2d<1>({7, 5, 9, 12, 15, 12, 9, 5, 7}, 118);
inline constexpr auto box_25 =
    box_2d<2>({1, 2, 3, 4, 5, 7, 7, 5, 7, 6, 8, 12, 15, 12, 12, 9, 9, 5, 7, 15, 10, 11, 12, 13, 14}, 118);

/// The published centre is -1.67, which makes the sum almost -0.7; .019 makes it one.
inline constexpr table<7> star_3d_7 = {{{-1, 0, 0, .166},
                                        {0, -1, 0, .164},
                                        {0, 0, -1, .162},
                                        {0, 0, 0, .019},
                                        {0, 0, 1, .161},
                                        {0, 1, 0, .163},
                                        {1, 0, 0, .165}}};

/// The published centre is -.996, which makes the sum zero; .004 makes it one.
constexpr table<13> star_3d_13() {
  table<13> taps{};
  std::size_t i = 0;
  for (int d : {-2, -1}) taps[i++] = {d, 0, 0, .083};
  for (int d : {-2, -1}) taps[i++] = {0, d, 0, .083};
  for (int d : {-2, -1}) taps[i++] = {0, 0, d, .083};
  taps[i++] = {0, 0, 0, .004};
  for (int d : {1, 2}) taps[i++] = {0, 0, d, .083};
  for (int d : {1, 2}) taps[i++] = {0, d, 0, .083};
  for (int d : {1, 2}) taps[i++] = {d, 0, 0, .083};
  return taps;
}

/// One plane of the 27-point box; each plane adds .01 to the one before.
inline constexpr double plane_27[] = {.5, .7, .9, 1.2, 1.5, 1.2, .9, .7, .5};

constexpr table<27> box_3d_27() {
  table<27> taps{};
  std::size_t i = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx, ++i) taps[i] = {dz, dy, dx, (plane_27[i % 9] + .01 * (dz + 1)) / 159};
  return taps;
}

/// The middle plane of the 27-point box and the corners of the other two.
constexpr table<17> corners_3d_17() {
  table<17> taps{};
  std::size_t i = 0;
  for (const tap& t : box_3d_27()) {
    if (t.dz == 0) taps[i++] = t;
    if (t.dz != 0 && t.dy != 0 && t.dx != 0) taps[i++] = {t.dz, t.dy, t.dx, (t.dz < 0 ? .50 : .52) / 159};
  }
  return taps;
}

/// Centre, faces and edges of the unit cube, by absolute value: with the published signs the sum is .67.
constexpr table<19> poisson_19() {
  table<19> taps{};
  std::size_t i = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int off_axis = (dz != 0) + (dy != 0) + (dx != 0);
        if (off_axis < 3) taps[i++] = {dz, dy, dx, off_axis == 0 ? 2.666 : off_axis == 1 ? .166 : .0833};
      }
  return taps;
}

} // namespace published
} // namespace suite
