// The copy bandwidth of the GPU's memory.
#include <algorithm>
#include <cuda_runtime.h>
#include <limits>
#include <stdexcept>
#include <string>

#include "suite.hpp"

namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

/// Best of a few device-to-device copies of 1 GiB, far beyond the L2 cache.
double measure() {
  const std::size_t bytes = std::size_t(1) << 30;
  void *from = nullptr, *to = nullptr;
  cudaEvent_t begin, end;
  check(cudaMalloc(&from, bytes), "cudaMalloc");
  check(cudaMalloc(&to, bytes), "cudaMalloc");
  check(cudaMemset(from, 0, bytes), "cudaMemset");
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  float best = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 10; ++i) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    best = std::min(best, milliseconds);
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  check(cudaFree(from), "cudaFree");
  check(cudaFree(to), "cudaFree");
  return 2 * double(bytes) / (best * 1e-3);
}

const suite::register_copy here("persistent_cuda", measure);

} // namespace
