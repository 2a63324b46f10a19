#pragma once
// The thirteen suite stencils as plain tables, typed in from the published weights, and divided by their sum.
#include "../support/oracle.hpp"
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace tables {

using oracle::tap;
using oracle::taps;

inline taps normalised(taps t) {
  double sum = 0;
  for (const tap& one : t) sum += one.weight;
  for (tap& one : t) one.weight /= sum;
  return t;
}

/// 2D star: centre and four arms, over 118.
inline taps star_2d(int radius) {
  constexpr double west[] = {12, 9, 3, 2, 5, 6}, east[] = {12, 9, 3, 3, 4, 6};
  constexpr double north[] = {5, 7, 5, 1, 6, 2}, south[] = {5, 7, 5, 4, 3, 2};
  taps t{{0, 0, 0, 15}};
  for (int d = 1; d <= radius; ++d) {
    t.push_back({0, 0, -d, west[d - 1]});
    t.push_back({0, 0, d, east[d - 1]});
    t.push_back({0, -d, 0, north[d - 1]});
    t.push_back({0, d, 0, south[d - 1]});
  }
  return normalised(t);
}

/// 2D box: rows from y- to y+.
inline taps box_2d(int radius, std::initializer_list<double> rows) {
  taps t;
  auto w = rows.begin();
  for (int dy = -radius; dy <= radius; ++dy)
    for (int dx = -radius; dx <= radius; ++dx) t.push_back({0, dy, dx, *w++});
  return normalised(t);
}

/// 3D star with the same weight on every neighbour.
inline taps star_3d13() {
  taps t{{0, 0, 0, .004}};
  for (int d : {-2, -1, 1, 2}) {
    t.push_back({d, 0, 0, .083});
    t.push_back({0, d, 0, .083});
    t.push_back({0, 0, d, .083});
  }
  return normalised(t);
}

inline taps star_3d7() {
  return normalised({{0, 0, 0, .019},
                     {0, 0, 1, .161},
                     {0, 0, -1, .162},
                     {0, 1, 0, .163},
                     {0, -1, 0, .164},
                     {1, 0, 0, .165},
                     {-1, 0, 0, .166}});
}

/// The 3D box of radius 1; with `corners_only` just the middle plane and the eight corners (17 points).
inline taps box_3d(bool corners_only) {
  constexpr double plane[3][3] = {{.5, .7, .9}, {1.2, 1.5, 1.2}, {.9, .7, .5}};
  constexpr double corner[3] = {.50, 0, .52}; // z-, (unused), z+
  taps t;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const double full = plane[dy + 1][dx + 1] + (dz == 0 ? .01 : dz == 1 ? .02 : 0);
        if (!corners_only || dz == 0)
          t.push_back({dz, dy, dx, full});
        else if (dy != 0 && dx != 0)
          t.push_back({dz, dy, dx, corner[dz + 1]});
      }
  return normalised(t);
}

/// 19 points: centre, faces, edges, no corners.
inline taps poisson() {
  taps t;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int off = std::abs(dz) + std::abs(dy) + std::abs(dx);
        if (off < 3) t.push_back({dz, dy, dx, off == 0 ? 2.666 : off == 1 ? .166 : .0833});
      }
  return normalised(t);
}

inline taps suite(const std::string& name) {
  if (name == "2d5pt") return star_2d(1);
  if (name == "2ds9pt") return star_2d(2);
  if (name == "2d13pt") return star_2d(3);
  if (name == "2d17pt") return star_2d(4);
  if (name == "2d21pt") return star_2d(5);
  if (name == "2ds25pt") return star_2d(6);
  if (name == "2d9pt") return box_2d(1, {7, 5, 9, 12, 15, 12, 9, 5, 7});
  if (name == "2d25pt")
    return box_2d(2, {1, 2, 3, 4, 5, 7, 7, 5, 7, 6, 8, 12, 15, 12, 12, 9, 9, 5, 7, 15, 10, 11, 12, 13, 14});
  if (name == "3d7pt") return star_3d7();
  if (name == "3d13pt") return star_3d13();
  if (name == "3d17pt") return box_3d(true);
  if (name == "3d27pt") return box_3d(false);
  if (name == "poisson") return poisson();
  throw std::invalid_argument("no suite stencil is called " + name);
}

/// The same points with weights that all differ (10, 11, 12 … in (dz, dy, dx) order, over their sum), so that
/// swapped directions show.
inline taps variant(const std::string& name) {
  taps t = suite(name);
  std::sort(t.begin(), t.end(), [](const tap& a, const tap& b) {
    return std::array{a.dz, a.dy, a.dx} < std::array{b.dz, b.dy, b.dx};
  });
  for (std::size_t i = 0; i < t.size(); ++i) t[i].weight = 10.0 + double(i);
  return normalised(t);
}

} // namespace tables
