#pragma once
// Whole-grid comparison for every test: the rim counts, a NaN equals only a NaN, and the worst cell is named.
#include "grid.hpp"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace support {

using oracle::grid;
using oracle::idx;

/// Agreement that is promised between two evaluations of one expression, relative to max(1, |want|).
template <class T> inline constexpr double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-12;

/// Distance of two values relative to max(1, |want|); infinite when exactly one is NaN or they are different
/// infinities.
inline double distance(double got, double want) {
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) && std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  if (got == want) return 0;
  const double d = std::abs(got - want) / std::fmax(1.0, std::abs(want));
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

template <class T>
::testing::AssertionResult close(const grid<T>& got, const grid<T>& want, double allowed = tolerance<T>) {
  if (got.n != want.n) return ::testing::AssertionFailure() << "the grids have different extents";
  double worst = 0;
  oracle::shape at{0, 0, 0};
  idx bad = 0;
  oracle::for_each_cell(want.n, [&](idx z, idx y, idx x) {
    const double d = distance(double(got(z, y, x)), double(want(z, y, x)));
    if (d > allowed) ++bad;
    if (d > worst) worst = d, at = {z, y, x};
  });
  if (bad == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << bad << " of " << want.cells.size() << " cells differ; worst at (" << at[0] << ", " << at[1]
         << ", " << at[2] << "): got " << double(got(at[0], at[1], at[2])) << ", want "
         << double(want(at[0], at[1], at[2])) << " (distance " << worst << ", allowed " << allowed << ")";
}

/// Equal bit for bit, NaN payloads and signs of zero included.
template <class T>::testing::AssertionResult identical(const grid<T>& got, const grid<T>& want) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (got.n != want.n) return ::testing::AssertionFailure() << "the grids have different extents";
  ::testing::AssertionResult result = ::testing::AssertionSuccess();
  oracle::for_each_cell(want.n, [&](idx z, idx y, idx x) {
    if (result && std::bit_cast<bits>(got(z, y, x)) != std::bit_cast<bits>(want(z, y, x)))
      result = ::testing::AssertionFailure() << "cell (" << z << ", " << y << ", " << x << "): got "
                                             << got(z, y, x) << ", want " << want(z, y, x) << ", bit for bit";
  });
  return result;
}

/// Equal bit for bit, but any NaN equals any other.
template <class T>::testing::AssertionResult same(const grid<T>& got, const grid<T>& want) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (got.n != want.n) return ::testing::AssertionFailure() << "the grids have different extents";
  std::size_t bad = 0, first = 0;
  for (std::size_t i = 0; i < want.cells.size(); ++i) {
    const T a = got.cells[i], b = want.cells[i];
    if (std::bit_cast<bits>(a) == std::bit_cast<bits>(b) || (std::isnan(a) && std::isnan(b))) continue;
    if (bad++ == 0) first = i;
  }
  if (bad == 0) return ::testing::AssertionSuccess();
  const idx x = idx(first) % want.n[2], line = idx(first) / want.n[2];
  return ::testing::AssertionFailure()
         << bad << " of " << want.cells.size() << " cells differ; the first at (" << line / want.n[1] << ", "
         << line % want.n[1] << ", " << x << "): got " << got.cells[first] << ", want " << want.cells[first]
         << ", bit for bit";
}

} // namespace support
