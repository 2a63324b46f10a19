#pragma once
// Kernels that take their time, and the subjects for tests of launches and streams.
#include "../gpu.hpp"
#include "settings.hpp"
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>

namespace strategies {

/// Spins for about so many nanoseconds. With as much dynamic shared memory as a block may have, a block also
/// keeps its multiprocessor from all others.
__global__ static void spin(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - begin < nanoseconds);
}

inline void spin_in(cudaStream_t stream, unsigned long long nanoseconds, int blocks = 1,
                    std::size_t shared = 0) {
  stet::cuda::launch(&spin,
                     {.grid = unsigned(blocks), .dynamic_shared = shared, .stream = stream, .name = "spin"},
                     nanoseconds);
}

/// The ways of a two-dimensional stencil with one field under fixed faces: none may refuse.
inline std::vector<way> every_way() {
  return {{"per_step"},
          {"per_step_graph"},
          {"resident", "registers"},
          {"resident", "shared"},
          {"resident_partial", "registers"},
          {"resident_partial", "shared"},
          {"temporal", "registers"},
          {"temporal", "shared"},
          {"auto"}};
}

/// The first of settings_of() with this name.
template <class T> setting<T> one_setting(const subject<T>& s, const shape& n, const std::string& name) {
  return settings_of(s, n, {name}).at(0);
}

} // namespace strategies
