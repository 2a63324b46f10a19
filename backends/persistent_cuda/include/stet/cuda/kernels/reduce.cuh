#pragma once
#include <stet/grid.hpp>

/// Reductions. The order of the sums depends on the grid alone, not on the device: results repeat bitwise.
namespace stet::cuda {

inline constexpr int reduce_threads = 256, reduce_blocks = 1024;

namespace detail {

/// Combines the accumulators of a block in shared memory, in a fixed order; the result is thread 0's.
template <int Threads> __device__ double combine_block(accumulator mine) {
  __shared__ double values[Threads];
  values[threadIdx.x] = mine.value;
  __syncthreads();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (int(threadIdx.x) < half) {
      mine.take(values[threadIdx.x + half]);
      values[threadIdx.x] = mine.value;
    }
    __syncthreads();
  }
  return mine.value;
}

} // namespace detail

/// Reduces the cells of `active` into partial[block]. Launch: reduce_blocks blocks of reduce_threads threads.
/// \tparam Reduced a reduction_program over the fields of S
template <class Reduced, class S, class Real>
__global__ void __launch_bounds__(reduce_threads)
    reduce_kernel(const __grid_constant__ grid<S, Real> g, const __grid_constant__ cell_range active,
                  double* partial) {
  accumulator sum(Reduced::kind);
  constexpr int root = Reduced::value.targets[0].root;
  const index nx = active.length(2), ny = active.length(1), cells = active.cells();
  for (index i = index(blockIdx.x) * reduce_threads + threadIdx.x; i < cells;
       i += index(reduce_blocks) * reduce_threads) {
    const index row = i / nx;
    const double v = evaluate<Reduced, root, Real>(
        cell<S, Real, true>{g, active.lo[0] + row / ny, active.lo[1] + row % ny, active.lo[2] + i % nx});
    sum.take(Reduced::kind == reduction_kind::norm2 ? v * v : v);
  }
  const double total = detail::combine_block<reduce_threads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

} // namespace stet::cuda
