#pragma once
#include <array>
#include <cstdint>
#include <stet/macros.hpp>

/// What a stencil reads beyond a face of the grid.
namespace stet {

/// Extents, indices and counts of cells: products of extents need 64 bits.
using index = std::int64_t;

enum class boundary_kind : unsigned char {
  fixed,     ///< nothing: cells whose right-hand sides would cross the face are not updated (the rim)
  dirichlet, ///< a value
  neumann,   ///< the mirror image: index −1 is cell 0, −2 is cell 1, n is cell n − 1
  periodic,  ///< the cells at the opposite face
};

/// A boundary of one field at one face.
struct boundary {
  boundary_kind kind = boundary_kind::fixed;
  double value = 0; ///< of dirichlet
};
inline constexpr boundary fixed{boundary_kind::fixed};
inline constexpr boundary neumann{boundary_kind::neumann};
inline constexpr boundary periodic{boundary_kind::periodic};
/// `value` everywhere beyond the face.
constexpr boundary dirichlet(double value) { return {boundary_kind::dirichlet, value}; }

/// The faces of the grid. A grid of rank 2 has y and x, one of rank 1 only x. Number = 2 · axis (z, y, x) +
/// side.
enum class face : int { z_low, z_high, y_low, y_high, x_low, x_high };
inline constexpr int face_count = 6;

/// The boundaries of all fields as kernels take them: by value.
template <class Real, int Fields> struct boundary_table {
  boundary_kind kind[Fields][face_count];
  Real value[Fields][face_count];
};

/// Brings `i` into [0, n) by the boundaries of one axis, as often as needed. Returns −1, or the side (0 low,
/// 1 high) of the dirichlet face that gives the value instead. Faces that are crossed are not fixed.
/// \tparam Integer index, or int where the axis is known to be short
template <class Integer> STET_INLINE int fold(Integer& i, Integer n, boundary_kind low, boundary_kind high) {
  while (i < 0 || i >= n) {
    const int side = i < 0 ? 0 : 1;
    const boundary_kind kind = side == 0 ? low : high;
    if (kind == boundary_kind::dirichlet) return side;
    if (kind == boundary_kind::periodic)
      i = (i % n + n) % n;
    else
      i = side == 0 ? -1 - i : 2 * n - 1 - i;
  }
  return -1;
}

} // namespace stet
