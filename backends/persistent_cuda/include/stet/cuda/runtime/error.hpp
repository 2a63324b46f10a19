#pragma once
#include <cuda_runtime_api.h>

#include <source_location>
#include <string>
#include <string_view>

#include "stet/error.hpp"

namespace stet::cuda {

/// A call into CUDA that failed, or that would have failed and was not made.
///
/// `what()` is one sentence: the API, the name and meaning of the status, file and line, and what to do. The
/// status has been cleared from CUDA's last error, so an unrelated call afterwards does not report it again.
/// Unless `device_lost()`, the device can be used on.
class error : public stet::error {
 public:
  /// A failed call.
  /// \param status what the call returned
  /// \param api    its name; from an expression `f(x)` the name `f` is taken
  explicit error(cudaError_t status, std::string_view api,
                 std::source_location where = std::source_location::current())
      : error(status, api, describe(status), remedy_for(status), where) {}

  /// A failure that can be explained better than CUDA does.
  /// \param problem what is wrong, with numbers
  /// \param remedy  what to do about it
  error(cudaError_t status, std::string_view api, const std::string& problem, const std::string& remedy,
        std::source_location where = std::source_location::current())
      : stet::error(name_of(api), problem + " at " + place(where), remedy), status_(status),
        api_(name_of(api)), where_(where) {}

  cudaError_t status() const noexcept { return status_; }
  /// Name of the function that failed, e.g. "cudaMalloc", or of the kernel.
  const std::string& api() const noexcept { return api_; }
  std::source_location where() const noexcept { return where_; }

  /// Whether the process has lost its device: every further CUDA call fails, and only a new process helps.
  bool device_lost() const noexcept { return loses_device(status_); }

  /// "cudaErrorInvalidValue (invalid argument)"
  static std::string describe(cudaError_t status) {
    return std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
  }

  /// Whether a status is one of those after which the CUDA context is unusable.
  static bool loses_device(cudaError_t status) noexcept {
    switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
    }
  }

  /// What a user can do about a status.
  static const char* remedy_for(cudaError_t status) {
    if (loses_device(status)) {
      return "the device is lost to this process: start a new one, under compute-sanitizer to find the cause";
    }
    switch (status) {
    case cudaErrorMemoryAllocation:
      return "use smaller extents, or free device memory that others hold";
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return "run where an NVIDIA GPU is visible (see CUDA_VISIBLE_DEVICES)";
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorUnsupportedPtxVersion:
      return "run where an NVIDIA GPU has a driver at least as new as the CUDA toolkit";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return "build for this device: put its compute capability into CMAKE_CUDA_ARCHITECTURES";
    case cudaErrorCooperativeLaunchTooLarge:
      return "launch no more blocks than cooperative_capacity() reports, and leave no SM to other contexts";
    case cudaErrorLaunchOutOfResources:
      return "use fewer threads per block, or __launch_bounds__ so that the registers suffice";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
      return "make this call before or after the stream capture";
    default:
      return "check the arguments of this call, and whether earlier asynchronous work failed";
    }
  }

 private:
  static std::string name_of(std::string_view call) { return std::string(call.substr(0, call.find('('))); }

  static std::string place(std::source_location where) {
    const std::string_view file = where.file_name();
    return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line());
  }

  cudaError_t status_;
  std::string api_;
  std::source_location where_;
};

/// Throws `cuda::error` unless `status` is success, and clears CUDA's last error before.
///
/// \param call the call or its name, for the message
inline void check(cudaError_t status, std::string_view call,
                  std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) { return; }
  (void)cudaGetLastError();
  throw error(status, call, where);
}

} // namespace stet::cuda

/// Makes a CUDA call and throws `stet::cuda::error` when it fails: STET_CUDA_CHECK(cudaMalloc(&p, bytes));
#define STET_CUDA_CHECK(...) ::stet::cuda::check((__VA_ARGS__), #__VA_ARGS__)
