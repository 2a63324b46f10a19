#pragma once
#include <stet/macros.hpp>
#include <type_traits>

/// 16-byte pieces of rows: the unit in which kernels move cells.
namespace stet::cuda {

/// Cells in a piece: 4 floats, 2 doubles.
template <class Real> inline constexpr int piece_cells = 16 / int(sizeof(Real));

template <class Real> using piece_type = std::conditional_t<sizeof(Real) == 4, float4, double2>;

/// Loads and stores of one piece; the address is a multiple of 16 bytes.
template <class Real>
__device__ __forceinline__ void load_piece(const Real* from, Real (&to)[piece_cells<Real>]) {
  const auto v = *reinterpret_cast<const piece_type<Real>*>(from);
  to[0] = v.x;
  to[1] = v.y;
  if constexpr (piece_cells<Real> == 4) {
    to[2] = v.z;
    to[3] = v.w;
  }
}
template <class Real>
__device__ __forceinline__ void store_piece(Real* to, const Real (&from)[piece_cells<Real>]) {
  piece_type<Real> v;
  v.x = from[0];
  v.y = from[1];
  if constexpr (piece_cells<Real> == 4) {
    v.z = from[2];
    v.w = from[3];
  }
  *reinterpret_cast<piece_type<Real>*>(to) = v;
}

} // namespace stet::cuda
