#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "stet/cuda/runtime/device_facts.hpp"
#include "stet/cuda/runtime/device_guard.hpp"
#include "stet/cuda/runtime/error.hpp"

namespace stet::cuda {

/// One attribute of a device.
inline int device_attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  STET_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, ordinal));
  return value;
}

/// Number of devices that this process sees; 0 without a driver or a GPU. Does not throw.
inline int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

/// Facts of one device. Initialises its context first, so that what a context restricts can show; that takes
/// a fraction of a second the first time. Does not synchronise; does not change the current device.
///
/// \throws cuda::error when there is no such device
inline device_facts query_device(int ordinal) {
  const auto get = [ordinal](cudaDeviceAttr attribute) { return device_attribute(attribute, ordinal); };

  device_facts facts;
  facts.ordinal = ordinal;
  {
    const device_guard current(ordinal);
    STET_CUDA_CHECK(cudaFree(nullptr)); // creates the context, if there is none
  }
  // Only these two come from cudaDeviceProp (a large struct whose clocks CUDA 13 removed).
  const auto properties = std::make_unique<cudaDeviceProp>();
  STET_CUDA_CHECK(cudaGetDeviceProperties(properties.get(), ordinal));
  facts.name = properties->name;
  facts.global_bytes = static_cast<std::int64_t>(properties->totalGlobalMem);
  facts.mig =
      facts.name.find(" MIG ") != std::string::npos; // "NVIDIA H200 MIG 1g.18gb"; there is no attribute

  facts.compute_major = get(cudaDevAttrComputeCapabilityMajor);
  facts.compute_minor = get(cudaDevAttrComputeCapabilityMinor);
  STET_CUDA_CHECK(cudaDriverGetVersion(&facts.driver_version));

  facts.sm_count = get(cudaDevAttrMultiProcessorCount);
  facts.warp_size = get(cudaDevAttrWarpSize);
  facts.clock_ghz = 1e-6 * get(cudaDevAttrClockRate); // kHz
  // Two transfers per clock; the clock is in kHz, the bus in bits. Virtual GPUs may report 0.
  facts.hbm_bytes_per_s =
      2.0 * 1e3 * get(cudaDevAttrMemoryClockRate) * get(cudaDevAttrGlobalMemoryBusWidth) / 8;
  facts.single_to_double_ratio = get(cudaDevAttrSingleToDoublePrecisionPerfRatio);

  facts.registers_per_sm = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  facts.registers_per_block = get(cudaDevAttrMaxRegistersPerBlock);
  facts.shared_per_sm = get(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  facts.shared_per_block = get(cudaDevAttrMaxSharedMemoryPerBlock);
  facts.shared_per_block_optin = get(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  facts.shared_reserved_per_block = get(cudaDevAttrReservedSharedMemoryPerBlock);

  facts.max_threads_per_sm = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  facts.max_threads_per_block = get(cudaDevAttrMaxThreadsPerBlock);
  facts.max_blocks_per_sm = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  facts.max_grid_x = get(cudaDevAttrMaxGridDimX);
  facts.max_grid_y = get(cudaDevAttrMaxGridDimY);
  facts.max_grid_z = get(cudaDevAttrMaxGridDimZ);

  facts.l2_bytes = get(cudaDevAttrL2CacheSize);
  facts.persisting_l2_max = get(cudaDevAttrMaxPersistingL2CacheSize);
  facts.access_policy_window_max = get(cudaDevAttrMaxAccessPolicyWindowSize);

  facts.cooperative_launch = get(cudaDevAttrCooperativeLaunch) != 0;
  facts.cluster_launch = get(cudaDevAttrClusterLaunch) != 0;
  facts.mps = get(cudaDevAttrMpsEnabled) != 0;
  return facts;
}

/// Facts of the calling thread's current device.
inline device_facts current_device() { return query_device(current_ordinal()); }

} // namespace stet::cuda
