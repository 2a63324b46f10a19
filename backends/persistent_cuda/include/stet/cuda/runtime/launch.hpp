#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stet/cuda/runtime/device_guard.hpp"
#include "stet/cuda/runtime/error.hpp"
#include "stet/cuda/runtime/query_device.hpp"

namespace stet::cuda {

/// How a kernel is to be launched: everything but its arguments.
struct launch_config {
  dim3 grid = {1, 1, 1};
  dim3 block = {1, 1, 1};
  std::size_t dynamic_shared = 0;   ///< bytes per block; above 48 KiB the kernel is opted in
  cudaStream_t stream = nullptr;    ///< the user's, or an own one; 0 only if the user says so
  std::string_view name = "kernel"; ///< for messages
  /// E.g. `l2_launch_attribute(window)`. Read during the call only.
  std::span<const cudaLaunchAttribute> attributes = {};
  std::source_location where = std::source_location::current();

  std::int64_t blocks() const noexcept { return std::int64_t{1} * grid.x * grid.y * grid.z; }
  int threads() const noexcept { return static_cast<int>(block.x * block.y * block.z); }
};

namespace detail {

template <class... Parameters> const void* address_of(void (*kernel)(Parameters...)) noexcept {
  return reinterpret_cast<const void*>(kernel);
}

/// Opts a kernel in to `bytes` of dynamic shared memory on the current device; never lowers what it may use.
inline void allow_dynamic_shared(const void* kernel, const launch_config& config) {
  if (config.dynamic_shared == 0) { return; }
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes", config.where);
  if (config.dynamic_shared <= static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes)) { return; }

  const std::size_t optin =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, current_ordinal()));
  if (attributes.sharedSizeBytes + config.dynamic_shared > optin) {
    throw error(cudaErrorInvalidValue, config.name,
                "a block wants " + std::to_string(attributes.sharedSizeBytes) + " + " +
                    std::to_string(config.dynamic_shared) +
                    " bytes of shared memory (static + dynamic), the device has " + std::to_string(optin),
                "use a smaller tile", config.where);
  }
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(config.dynamic_shared)),
        "cudaFuncSetAttribute", config.where);
}

inline cudaLaunchConfig_t to_cuda(const launch_config& config, std::span<cudaLaunchAttribute> attributes) {
  cudaLaunchConfig_t out{};
  out.gridDim = config.grid;
  out.blockDim = config.block;
  out.dynamicSmemBytes = config.dynamic_shared;
  out.stream = config.stream;
  out.attrs = attributes.empty() ? nullptr : attributes.data();
  out.numAttrs = static_cast<unsigned>(attributes.size());
  return out;
}

/// The one place where a kernel is launched. Whatever CUDA refuses is thrown, with the kernel's name.
inline void launch_raw(const void* kernel, const launch_config& config,
                       std::span<cudaLaunchAttribute> attributes, void** arguments) {
  allow_dynamic_shared(kernel, config);
  const cudaLaunchConfig_t cuda_config = to_cuda(config, attributes);
  const cudaError_t status = cudaLaunchKernelExC(&cuda_config, kernel, arguments);
  if (status == cudaSuccess) { return; }
  (void)cudaGetLastError();
  const auto text = [](dim3 d) {
    return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
  };
  throw error(status, config.name,
              "launch of " + text(config.grid) + " blocks of " + text(config.block) + " threads with " +
                  std::to_string(config.dynamic_shared) +
                  " bytes of dynamic shared memory failed: " + error::describe(status),
              error::remedy_for(status), config.where);
}

template <class... Parameters, class... Arguments>
void launch_with(void (*kernel)(Parameters...), const launch_config& config,
                 std::span<cudaLaunchAttribute> attributes, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "launch: the number of arguments differs from the number of the kernel's parameters.");
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::apply(
      [&](auto&... value) {
        std::array<void*, sizeof...(value) + 1> pointers{
            const_cast<void*>(static_cast<const void*>(std::addressof(value)))..., nullptr};
        launch_raw(address_of(kernel), config, attributes, pointers.data());
      },
      values);
}

/// Blocks of a cluster: 1 without the attribute.
inline std::int64_t cluster_blocks(std::span<const cudaLaunchAttribute> attributes) noexcept {
  for (const cudaLaunchAttribute& attribute : attributes) {
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& dim = attribute.val.clusterDim;
      return std::int64_t{1} * dim.x * dim.y * dim.z;
    }
  }
  return 1;
}

inline std::int64_t cooperative_capacity_raw(const void* kernel, const launch_config& config) {
  const int ordinal = current_ordinal();
  if (device_attribute(cudaDevAttrCooperativeLaunch, ordinal) == 0) { return 0; }
  allow_dynamic_shared(kernel, config);

  const std::int64_t cluster = cluster_blocks(config.attributes);
  if (cluster > 1) {
    std::vector<cudaLaunchAttribute> attributes(config.attributes.begin(), config.attributes.end());
    const cudaLaunchConfig_t cuda_config = to_cuda(config, attributes);
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &cuda_config), "cudaOccupancyMaxActiveClusters",
          config.where);
    return clusters * cluster;
  }
  int per_sm = 0;
  check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, config.threads(), config.dynamic_shared),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor", config.where);
  return std::int64_t{per_sm} * device_attribute(cudaDevAttrMultiProcessorCount, ordinal);
}

} // namespace detail

/// Launches a kernel. Does not wait; can be captured.
///
///     launch(&step<heat>, {.grid = blocks, .block = 256, .stream = stream, .name = "step"}, u, v, extents);
///
/// Blocks must not wait for each other: only `launch_cooperative()` promises that they all run at once.
///
/// \pre the stream belongs to the current device
/// \throws cuda::error with the kernel's name and the configuration when CUDA refuses the launch. What goes
///         wrong while the kernel runs shows at the next synchronisation.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const launch_config& config, Arguments&&... arguments) {
  std::vector<cudaLaunchAttribute> attributes(config.attributes.begin(), config.attributes.end());
  detail::launch_with(kernel, config, attributes, std::forward<Arguments>(arguments)...);
}

/// The same, without attributes.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t dynamic_shared,
            cudaStream_t stream, std::string_view name, Arguments&&... arguments) {
  launch(kernel,
         {.grid = grid, .block = block, .dynamic_shared = dynamic_shared, .stream = stream, .name = name},
         std::forward<Arguments>(arguments)...);
}

/// Most blocks that the current device keeps resident together, were it empty: those per multiprocessor by
/// registers, shared memory and threads, times the multiprocessors. With a cluster attribute: those of whole
/// clusters. 0 when a block does not fit or the device has no cooperative launch. `config.grid` is not read.
///
/// Work that holds multiprocessors meanwhile lowers nothing: it only delays a cooperative launch. A context
/// or stream with a share of the device (green contexts) may hold less; then the launch itself is refused
/// with the status cudaErrorCooperativeLaunchTooLarge.
template <class... Parameters>
std::int64_t cooperative_capacity(void (*kernel)(Parameters...), const launch_config& config) {
  return detail::cooperative_capacity_raw(detail::address_of(kernel), config);
}

/// The same, for blocks of `block_threads` threads.
template <class... Parameters>
std::int64_t cooperative_capacity(void (*kernel)(Parameters...), int block_threads,
                                  std::size_t dynamic_shared, std::string_view name = "kernel",
                                  std::source_location where = std::source_location::current()) {
  return cooperative_capacity(kernel, {.block = static_cast<unsigned>(block_threads),
                                       .dynamic_shared = dynamic_shared,
                                       .name = name,
                                       .where = where});
}

/// Launches a kernel whose blocks may wait for each other: all of them run at once. Does not wait; can be
/// captured.
///
/// \throws cuda::error with the status cudaErrorCooperativeLaunchTooLarge when there are more blocks than can
/// be
///         resident together (nothing has been launched then), whether found here or by CUDA; otherwise as
///         launch()
template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), const launch_config& config,
                        Arguments&&... arguments) {
  const std::int64_t capacity = cooperative_capacity(kernel, config);
  if (config.blocks() > capacity) {
    throw error(cudaErrorCooperativeLaunchTooLarge, config.name,
                std::to_string(config.blocks()) + " blocks of " + std::to_string(config.threads()) +
                    " threads must run at once, but the device holds " + std::to_string(capacity),
                "launch fewer or smaller blocks", config.where);
  }
  std::vector<cudaLaunchAttribute> attributes(config.attributes.begin(), config.attributes.end());
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  attributes.push_back(cooperative);
  detail::launch_with(kernel, config, attributes, std::forward<Arguments>(arguments)...);
}

} // namespace stet::cuda
