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
/// Loads a piece that other blocks may have written, where `wanted`; elsewhere `to` gets arbitrary values.
/// All such loads of a thread are in flight together: branches around them would wait for each.
template <class Real>
__device__ __forceinline__ void load_piece_if(bool wanted, const Real* from, Real (&to)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%2]; }"
                 : "=d"(to[0]), "=d"(to[1])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
}
/// As assembly: of a plain store of computed values nvcc 13.0 makes four stores, each with a 4-way bank
/// conflict.
template <class Real>
__device__ __forceinline__ void store_piece(Real* to, const Real (&from)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "f"(from[0]),
                 "f"(from[1]), "f"(from[2]), "f"(from[3])
                 : "memory");
  else
    asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "d"(from[0]),
                 "d"(from[1])
                 : "memory");
}
/// The same where `wanted`, without a branch.
template <class Real>
__device__ __forceinline__ void store_piece_if(bool wanted, Real* to, const Real (&from)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.v4.f32 [%0], {%1, %2, %3, %4}; }" ::"l"(
                     __cvta_generic_to_global(to)),
                 "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]), "r"(unsigned(wanted))
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.global.v2.f64 [%0], {%1, %2}; }" ::"l"(
                     __cvta_generic_to_global(to)),
                 "d"(from[0]), "d"(from[1]), "r"(unsigned(wanted))
                 : "memory");
}
/// The same where begin ≤ i < end.
template <class Real>
__device__ __forceinline__ void store_piece_between(int i, int begin, int end, Real* to,
                                                    const Real (&from)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %5, %6; setp.lt.and.s32 p, %5, %7, p;"
                 "  @p st.global.v4.f32 [%0], {%1, %2, %3, %4}; }" ::"l"(__cvta_generic_to_global(to)),
                 "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]), "r"(i), "r"(begin), "r"(end)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %3, %4; setp.lt.and.s32 p, %3, %5, p;"
                 "  @p st.global.v2.f64 [%0], {%1, %2}; }" ::"l"(__cvta_generic_to_global(to)),
                 "d"(from[0]), "d"(from[1]), "r"(i), "r"(begin), "r"(end)
                 : "memory");
}
/// The same for a single value.
__device__ __forceinline__ void store_if(bool wanted, float* to, float v) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.f32 [%0], %1; }" ::"l"(
                   __cvta_generic_to_global(to)),
               "f"(v), "r"(unsigned(wanted))
               : "memory");
}
__device__ __forceinline__ void store_if(bool wanted, double* to, double v) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.f64 [%0], %1; }" ::"l"(
                   __cvta_generic_to_global(to)),
               "d"(v), "r"(unsigned(wanted))
               : "memory");
}
/// The same into shared memory.
template <class Real>
__device__ __forceinline__ void store_piece_shared(Real* to, const Real (&from)[piece_cells<Real>]) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (piece_cells<Real> == 4)
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(from[0]), "f"(from[1]),
                 "f"(from[2]), "f"(from[3])
                 : "memory");
  else
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(address), "d"(from[0]), "d"(from[1]) : "memory");
}
/// Starts to copy a piece from global into shared memory, where 0 ≤ i < n, without a branch.
template <class Real>
__device__ __forceinline__ void send_piece_if(int i, int n, Real* to, const Real* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile(
      "{ .reg .pred p; setp.lt.u32 p, %2, %3; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(address),
      "l"(from), "r"(i), "r"(n)
      : "memory");
#else // as __pipeline_memcpy_async() does there
  if (unsigned(i) >= unsigned(n)) return;
  Real v[piece_cells<Real>];
  load_piece_if(true, from, v);
  store_piece_shared(to, v);
#endif
}
/// The same in any case.
template <class Real> __device__ __forceinline__ void send_piece(Real* to, const Real* from) {
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
  Real v[piece_cells<Real>];
  load_piece_if(true, from, v);
  store_piece_shared(to, v);
#endif
}

} // namespace stet::cuda
