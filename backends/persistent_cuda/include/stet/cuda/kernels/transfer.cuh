#pragma once
#include <stet/data.hpp>

/// Copies between a field and a strided view of device memory.
namespace stet::cuda {

/// One thread per cell, x fastest. Launch: blocks of 256 threads that cover all cells in grid-stride loops.
template <bool In, class Real>
__global__ void transfer_kernel(Real* field, index pitch,
                                strided<std::conditional_t<In, const Real, Real>> outside,
                                std::array<index, 3> extents) {
  const index cells = extents[0] * extents[1] * extents[2];
  for (index i = index(blockIdx.x) * blockDim.x + threadIdx.x; i < cells;
       i += index(gridDim.x) * blockDim.x) {
    const index row = i / extents[2], x = i % extents[2], y = row % extents[1], z = row / extents[1];
    Real& inside = field[row * pitch + x];
    if constexpr (In)
      inside = outside(z, y, x);
    else
      outside(z, y, x) = inside;
  }
}

} // namespace stet::cuda
