#pragma once

/// The order of passes over a grid in which blocks take one tile after another, from one buffer to the other.
///
/// In every pass block b takes the tiles b, b + blocks, b + 2 blocks, ...: the k-th of them is the block's
/// round k. A tile may be loaded as soon as those that it overlaps are through the pass before: then what it
/// reads is written, and what it will write is read. No barrier of the whole grid:
///
///     block 0   | pass 0, round 0 | round 1 |  pass 1, round 0 ...
///     block 1   | pass 0, round 0   | round 1 | waits |  pass 1, round 0 ...
namespace stet::cuda {

/// How far the blocks are. Rounds are counted from the beginning of the launch, passes on end; a block
/// without a tile in the last round of a pass counts it with the one before. Counts may run over: what is
/// compared are differences.
///
/// All threads of a block call together. \pre the counters are zero when the kernel begins; all blocks run at
/// once (a cooperative launch)
struct pass_progress {
  unsigned* finished; ///< per block

  /// The block has finished so many rounds: what its threads have read and written is over for those that
  /// find out.
  __device__ __forceinline__ void publish(unsigned rounds) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      asm volatile(
          "st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(finished + blockIdx.x)),
          "r"(rounds)
          : "memory");
    }
  }
  /// Whether all blocks have; does not wait. The same in all threads; if so, they may go on as after wait().
  __device__ __forceinline__ bool reached(unsigned rounds) const {
    int all = 1;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) all &= has_finished(b, rounds);
    __threadfence();
    return __syncthreads_and(all) != 0;
  }
  /// Until all blocks have.
  __device__ __forceinline__ void wait(unsigned rounds) const {
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
      while (!has_finished(b, rounds)) {}
    __threadfence();
    __syncthreads();
  }

 private:
  __device__ __forceinline__ bool has_finished(unsigned block, unsigned rounds) const {
    unsigned count;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(count)
                 : "l"(__cvta_generic_to_global(finished + block))
                 : "memory");
    return int(count - rounds) >= 0;
  }
};

} // namespace stet::cuda
