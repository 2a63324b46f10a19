#pragma once
/// Host/device annotation and loop hints: the only macros that the library defines for its own code.

#if defined(__CUDACC__) || defined(__HIPCC__)
#define STET_HOST_DEVICE __host__ __device__
#define STET_INLINE __host__ __device__ __forceinline__
#else
#define STET_HOST_DEVICE
#define STET_INLINE inline __attribute__((always_inline))
#endif

/// A function that the host calls rather than inlines; device code inlines it all the same.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define STET_HOST_NOINLINE STET_INLINE
#else
#define STET_HOST_NOINLINE STET_HOST_DEVICE __attribute__((noinline))
#endif

/// In front of a loop whose iterations do not depend on each other (the caller vouches for it).
/// Clang, whose pragma warns wherever it cannot follow, checks at run time instead.
#if defined(__GNUC__) && !defined(__clang__)
#define STET_INDEPENDENT _Pragma("GCC ivdep")
#else
#define STET_INDEPENDENT
#endif
