#pragma once
#include <cuda_runtime_api.h>

#include <utility>

#include "stet/cuda/runtime/device_guard.hpp"
#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// An owned stream that never waits for stream 0 (cudaStreamNonBlocking). Converts to `cudaStream_t`.
///
/// Destruction does not wait: work already in the stream is finished first, then its resources go.
class stream {
 public:
  /// \param ordinal device of the stream
  explicit stream(int ordinal) : ordinal_(ordinal) {
    const device_guard current(ordinal);
    STET_CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
  }
  /// On the calling thread's current device.
  stream() : stream(current_ordinal()) {}

  stream(stream&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), ordinal_(other.ordinal_) {}
  stream& operator=(stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(ordinal_, other.ordinal_);
    return *this;
  }
  ~stream() {
    if (handle_) { (void)cudaStreamDestroy(handle_); }
  }

  cudaStream_t get() const noexcept { return handle_; }
  operator cudaStream_t() const noexcept { return handle_; }
  int device() const noexcept { return ordinal_; }

  /// Waits for all work in the stream. \throws cuda::error when some of it failed
  void synchronize() const { STET_CUDA_CHECK(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
  int ordinal_ = 0;
};

/// An owned event: a point in a stream that can be waited for and timed.
class event {
 public:
  /// \param ordinal device of the streams in which the event will be recorded
  explicit event(int ordinal) {
    const device_guard current(ordinal);
    STET_CUDA_CHECK(cudaEventCreate(&handle_));
  }
  /// On the calling thread's current device.
  event() : event(current_ordinal()) {}

  event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~event() {
    if (handle_) { (void)cudaEventDestroy(handle_); }
  }

  cudaEvent_t get() const noexcept { return handle_; }

  /// Marks the present end of `stream`. Does not wait.
  void record(cudaStream_t stream) { STET_CUDA_CHECK(cudaEventRecord(handle_, stream)); }

  /// Makes later work in `stream` wait for the event; the host does not.
  void block(cudaStream_t stream) const { STET_CUDA_CHECK(cudaStreamWaitEvent(stream, handle_, 0)); }

  /// Waits on the host until the device has passed the event.
  void synchronize() const { STET_CUDA_CHECK(cudaEventSynchronize(handle_)); }

  /// Seconds on the device's clock from `start` to this event; waits for this event. Resolution: about 0.5
  /// µs.
  ///
  /// \pre both have been recorded, `start` first
  double seconds_since(const event& start) const {
    synchronize();
    float milliseconds = 0;
    STET_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.handle_, handle_));
    return 1e-3 * milliseconds;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

} // namespace stet::cuda
