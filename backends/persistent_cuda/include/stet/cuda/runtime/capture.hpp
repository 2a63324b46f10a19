#pragma once
#include <cuda_runtime_api.h>

#include <source_location>
#include <string>
#include <string_view>

#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// Whether work put into `stream` is being captured into a CUDA graph (also when that capture has already
/// been invalidated). Does not synchronise and does not disturb a capture.
///
/// \throws cuda::error for stream 0 while another, blocking stream is captured: then stream 0 cannot be used
inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  STET_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

/// Throws when `stream` is being captured, before anything has spoilt the capture.
///
/// \param what what cannot be captured, as the subject of a sentence: "a run that checks a tolerance"
inline void refuse_capture(cudaStream_t stream, std::string_view what,
                           std::source_location where = std::source_location::current()) {
  if (is_capturing(stream)) {
    throw error(cudaErrorStreamCaptureUnsupported, what, "cannot be captured into a CUDA graph",
                "do it before or after the capture", where);
  }
}

} // namespace stet::cuda
