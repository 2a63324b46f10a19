#pragma once
/// The header for users: the language, `simulation`, and the backends that the target links.
///
/// CMake target       brings
/// stet::kokkos_ref       stet::kokkos_ref, portable Kokkos loops: the reference
/// stet::persistent_cuda  stet::persistent_cuda, hand-tuned CUDA (needs a CUDA source file)
/// stet::default_backend  the one chosen by the option STET_BACKEND, as stet::default_backend

#include <stet/simulation.hpp>
#include <stet/version.hpp>

#if defined(STET_WITH_KOKKOS_REF)
#include <stet/kokkos_ref.hpp>
#endif
#if defined(STET_WITH_PERSISTENT_CUDA)
#include <stet/persistent_cuda.hpp>
#endif

namespace stet {

#if defined(STET_DEFAULT_BACKEND)
using default_backend = STET_DEFAULT_BACKEND;
#elif defined(STET_WITH_KOKKOS_REF)
using default_backend = kokkos_ref;
#elif defined(STET_WITH_PERSISTENT_CUDA)
using default_backend = persistent_cuda;
#else
#error "stet: no backend: link stet::kokkos_ref, stet::persistent_cuda or stet::default_backend"
#endif

template <class S, class Real = double, class Backend = default_backend> class simulation;

} // namespace stet
