#pragma once
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <limits>
#include <stet/boundary.hpp>
#include <stet/error.hpp>
#include <string>
#include <vector>

/// Data in and out of a simulation: strided views of the caller's memory, and a host copy of a field.
namespace stet {

/// The caller's memory, seen as cells (z, y, x) with strides in elements; leading axes of a lower rank have
/// extent 1.
template <class T> struct strided {
  T* data = nullptr;
  std::array<index, 3> strides{0, 0, 0};
  constexpr T& operator()(index z, index y, index x) const {
    return data[z * strides[0] + y * strides[1] + x * strides[2]];
  }
};

/// A field copied to the host: `h(z, y, x)` (or two, or one index), contiguous, x fastest.
template <class Real, int Rank> class host_array {
 public:
  host_array(const std::array<index, Rank>& extents, std::vector<Real> values)
      : extents_(extents), values_(std::move(values)) {}

  template <std::integral... Indices> const Real& operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == Rank,
                  "stet: a host array takes as many indices as the grid has axes");
    index at = 0;
    int axis = 0;
    ((assert(static_cast<index>(indices) >= 0 && static_cast<index>(indices) < extents_[axis]),
      at = at * extents_[axis++] + static_cast<index>(indices)),
     ...);
    return values_[static_cast<std::size_t>(at)];
  }
  index extent(int axis) const { return extents_[axis]; }
  const Real* data() const { return values_.data(); }
  index size() const { return static_cast<index>(values_.size()); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::array<index, Rank> extents_;
  std::vector<Real> values_;
};

namespace detail {

/// Extents or strides of rank R as (z, y, x), leading axes filled.
template <int Rank> constexpr std::array<index, 3> padded(const std::array<index, Rank>& values, index fill) {
  std::array<index, 3> r{fill, fill, fill};
  for (int a = 0; a < Rank; ++a) r[3 - Rank + a] = values[a];
  return r;
}

inline std::string to_string(const std::array<index, 3>& values, int rank) {
  std::string s;
  for (int a = 3 - rank; a < 3; ++a) {
    if (!s.empty()) s += 'x';
    s += std::to_string(values[a]);
  }
  return s;
}

/// a · b, or −1 when it does not fit; a, b ≥ 0.
constexpr index product(index a, index b) {
  if (a < 0 || b < 0 || (a != 0 && b > std::numeric_limits<index>::max() / a)) return -1;
  return a * b;
}

/// Whether the farthest cell of a view lies within 63-bit byte offsets.
constexpr bool strides_fit(const std::array<index, 3>& extents, const std::array<index, 3>& strides,
                           index size) {
  index total = 0;
  for (int a = 0; a < 3; ++a) {
    if (strides[a] == std::numeric_limits<index>::min()) return false;
    const index span = product(product(extents[a] - 1, strides[a] < 0 ? -strides[a] : strides[a]), size);
    if (span < 0 || span > std::numeric_limits<index>::max() - total) return false;
    total += span;
  }
  return true;
}

/// Whether two different cells share an address: whether Σ dₐ·strideₐ = 0 for some d ≠ 0 with |dₐ| < extentₐ.
constexpr bool cells_overlap(const std::array<index, 3>& extents, const std::array<index, 3>& strides) {
  std::array<index, 3> n = extents, s = strides;
  for (int a = 0; a < 3; ++a) {
    if (n[a] == 1)
      s[a] = 0; // never moves
    else if (s[a] == 0)
      return true;
    if (s[a] < 0) s[a] = -s[a];
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      if (s[j] > s[j + 1]) {
        std::swap(s[j], s[j + 1]);
        std::swap(n[j], n[j + 1]);
      }
  // Nested axes (each stride beyond the span of the smaller ones) are the common case.
  index span = 0;
  bool nested = true;
  for (int a = 0; a < 3; ++a) {
    if (n[a] > 1 && s[a] <= span) nested = false;
    span += (n[a] - 1) * s[a];
  }
  if (nested) return false;
  // Search over the two axes of fewest cells; the third difference follows.
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      if (n[j] > n[j + 1]) {
        std::swap(s[j], s[j + 1]);
        std::swap(n[j], n[j + 1]);
      }
  for (index d0 = 0; d0 < n[0]; ++d0)
    for (index d1 = -(n[1] - 1); d1 < n[1]; ++d1) {
      if (d0 == 0 && d1 == 0) continue; // then the third would have to be 0 as well
      const index rest = d0 * s[0] + d1 * s[1];
      if (s[2] == 0 ? rest == 0 : rest % s[2] == 0 && (rest / s[2] < 0 ? -(rest / s[2]) : rest / s[2]) < n[2])
        return true;
    }
  return false;
}

} // namespace detail
} // namespace stet
