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
  /// Rounds that all blocks have finished; does not wait. The same in all threads: what may be read and
  /// written then may be.
  __device__ __forceinline__ unsigned least() const {
    __shared__ unsigned of_warp[32];
    unsigned least = count(blockIdx.x);
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
      const unsigned other = count(b);
      if (int(other - least) < 0) least = other;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      const unsigned other = __shfl_xor_sync(0xffffffffu, least, lanes);
      if (int(other - least) < 0) least = other;
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = least;
    __threadfence();
    __syncthreads();
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
      if (int(of_warp[w] - least) < 0) least = of_warp[w];
    return least;
  }
  /// Until all blocks have.
  __device__ __forceinline__ void wait(unsigned rounds) const {
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
      while (int(count(b) - rounds) < 0) {}
    __threadfence();
    __syncthreads();
  }

 private:
  __device__ __forceinline__ unsigned count(unsigned block) const {
    unsigned rounds;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(rounds)
                 : "l"(__cvta_generic_to_global(finished + block))
                 : "memory");
    return rounds;
  }
};

} // namespace stet::cuda
