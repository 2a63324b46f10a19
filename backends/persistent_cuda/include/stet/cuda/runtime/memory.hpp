#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "stet/cuda/runtime/capture.hpp"
#include "stet/cuda/runtime/device_guard.hpp"
#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// Whether kernels of the current device's process can be given `p` as device memory: memory of cudaMalloc
/// and its relatives, or managed memory. False for host memory, pinned or not, and for null.
inline bool is_device_pointer(const void* p) noexcept {
  cudaPointerAttributes attributes{};
  if (!p || cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

namespace detail {

/// cudaMalloc on the current device. When memory runs out: a sentence with the numbers.
inline void* allocate_bytes(std::size_t bytes, std::source_location where) {
  void* p = nullptr;
  const cudaError_t status = cudaMalloc(&p, bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) { (void)cudaGetLastError(); }
    throw error(status, "cudaMalloc",
                std::to_string(bytes) + " bytes of device memory are wanted, " + std::to_string(free) +
                    " of " + std::to_string(total) + " are free",
                "use smaller extents, or free device memory that others hold", where);
  }
  check(status, "cudaMalloc", where);
  return p;
}

} // namespace detail

/// Owned device memory for `size()` elements, uninitialised, aligned to at least 256 bytes.
///
/// Allocation and release may wait for the device (cudaMalloc, cudaFree) and must not happen while a stream
/// is captured. A move leaves the source empty.
template <class T> class device_array {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "device_array<T>: T must be copyable as bytes, and not const.");

 public:
  device_array() = default;

  /// On the calling thread's current device.
  /// \throws cuda::error naming the bytes wanted, free and in total when there is not enough memory; the
  /// device
  ///         can be used on
  explicit device_array(std::int64_t count, std::source_location where = std::source_location::current()) {
    if (count < 0 ||
        count > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T))) {
      throw stet::error("device_array", "cannot hold " + std::to_string(count) + " elements",
                        "check the extents for overflow");
    }
    if (count > 0) { data_ = static_cast<T*>(detail::allocate_bytes(count * sizeof(T), where)); }
    size_ = count;
  }

  device_array(device_array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_array& operator=(device_array&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~device_array() { release(); }

  T* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t bytes() const noexcept { return size_ * static_cast<std::int64_t>(sizeof(T)); }
  bool empty() const noexcept { return size_ == 0; }

  /// Copies from the host and waits for `stream`.
  /// \pre values.size() == size()
  void upload(std::span<const T> values, cudaStream_t stream) {
    copy(data_, values.data(), values.size(), cudaMemcpyHostToDevice, stream);
  }

  /// Copies to the host and waits for `stream`, hence for everything before it there.
  /// \pre values.size() == size()
  void download(std::span<T> values, cudaStream_t stream) const {
    copy(values.data(), data_, values.size(), cudaMemcpyDeviceToHost, stream);
  }

  /// Sets every byte, in `stream`. Does not wait; can be captured.
  void fill_bytes(unsigned char value, cudaStream_t stream) {
    if (size_ > 0) { STET_CUDA_CHECK(cudaMemsetAsync(data_, value, bytes(), stream)); }
  }

 private:
  void copy(void* to, const void* from, std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) const {
    if (count != static_cast<std::size_t>(size_)) {
      throw stet::error("device_array",
                        "holds " + std::to_string(size_) + " elements, but the host has " +
                            std::to_string(count),
                        "make both equal");
    }
    if (count == 0) { return; }
    refuse_capture(stream, "a copy between host and device that waits");
    STET_CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(T), kind, stream));
    STET_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  void release() noexcept {
    if (data_) { (void)cudaFree(data_); }
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

} // namespace stet::cuda
