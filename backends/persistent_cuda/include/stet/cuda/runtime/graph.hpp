#pragma once
#include <cuda_runtime_api.h>

#include <utility>

#include "stet/cuda/runtime/capture.hpp"
#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// An owned, executable CUDA graph.
class graph {
 public:
  /// What `body()` puts into `stream`, recorded instead of run. \throws whatever body throws; the stream is
  /// then as before
  template <class Body> static graph captured(cudaStream_t stream, Body&& body) {
    refuse_capture(stream, "a capture inside a capture");
    STET_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t recorded = nullptr;
    try {
      body();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &recorded);
      if (recorded) { (void)cudaGraphDestroy(recorded); }
      (void)cudaGetLastError();
      throw;
    }
    STET_CUDA_CHECK(cudaStreamEndCapture(stream, &recorded));
    graph result;
    const cudaError_t status = cudaGraphInstantiate(&result.handle_, recorded, 0);
    (void)cudaGraphDestroy(recorded);
    STET_CUDA_CHECK(status);
    return result;
  }

  graph(graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  graph& operator=(graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~graph() {
    if (handle_) { (void)cudaGraphExecDestroy(handle_); }
  }

  /// Runs it once, in stream order. Does not wait.
  void launch(cudaStream_t stream) const { STET_CUDA_CHECK(cudaGraphLaunch(handle_, stream)); }

 private:
  graph() = default;
  cudaGraphExec_t handle_ = nullptr;
};

} // namespace stet::cuda
