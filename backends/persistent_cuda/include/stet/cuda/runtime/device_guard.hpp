#pragma once
#include <cuda_runtime_api.h>

#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// Ordinal of the calling thread's current device.
inline int current_ordinal() {
  int ordinal = 0;
  STET_CUDA_CHECK(cudaGetDevice(&ordinal));
  return ordinal;
}

/// Makes a device the calling thread's current one, and the one before current again at the end of the scope.
class device_guard {
 public:
  explicit device_guard(int ordinal) : previous_(current_ordinal()), changed_(ordinal != previous_) {
    if (changed_) { STET_CUDA_CHECK(cudaSetDevice(ordinal)); }
  }
  ~device_guard() {
    if (changed_) { (void)cudaSetDevice(previous_); }
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int previous_;
  bool changed_;
};

/// Device of a stream. Of the streams 0 and cudaStreamPerThread: the current device.
inline int device_of(cudaStream_t stream) {
  int ordinal = 0;
  STET_CUDA_CHECK(cudaStreamGetDevice(stream, &ordinal));
  return ordinal;
}

} // namespace stet::cuda
