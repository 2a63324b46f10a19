#pragma once

/// How blocks that go over the grid again and again, a tile after the other, wait for each other: no more
/// than data demands, without a grid barrier.
///
/// A pass reads one copy of the fields and writes the other, the next one goes back. Block b takes the tiles
/// b, b + blocks, ... of each pass: a round each, in the same order in every pass. A tile may be loaded, and
/// later written, when the pass before has finished every tile that overlaps it: these have been written, and
/// are no longer read.
namespace stet::cuda {

/// Rounds that each block has finished since the launch; 0 before it.
struct pass_progress {
  unsigned* finished;

  /// After the block has written its tile. All its threads.
  __device__ __forceinline__ void publish(unsigned rounds) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      *reinterpret_cast<volatile unsigned*>(finished + blockIdx.x) = rounds;
    }
  }
  /// Whether every block has finished so many rounds; then what they wrote can be read from L2. All threads
  /// of the block, which get the same answer.
  __device__ __forceinline__ bool reached(unsigned rounds) const {
    int behind = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
      behind |= *reinterpret_cast<volatile const unsigned*>(finished + i) < rounds;
    __threadfence();
    return __syncthreads_or(behind) == 0;
  }
  /// Waits for it.
  __device__ __forceinline__ void wait(unsigned rounds) const {
    while (!reached(rounds)) {}
  }
};

} // namespace stet::cuda
