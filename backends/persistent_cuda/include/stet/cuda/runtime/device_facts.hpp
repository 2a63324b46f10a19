#pragma once
#include <cstdint>
#include <ostream>
#include <string>

namespace stet::cuda {

/// What plans need to know of a device: plain numbers, no CUDA types, so that plans can be made and tested on
/// machines without a GPU. `query_device()` fills it in; tests write it by hand.
///
/// Sizes are in bytes, registers are 32 bits wide. Zero means: unknown, or the device has none.
struct device_facts {
  std::string name;
  int ordinal = 0;
  int compute_major = 0;  ///< compute capability, e.g. 9
  int compute_minor = 0;  ///< and 0
  int driver_version = 0; ///< as CUDA counts: 13000 is 13.0

  /// Multiprocessors as the driver reports them to this process; in a MIG instance those of the instance. A
  /// context that may use fewer of them (a share under MPS, a green context) is found out by the launch at
  /// the latest: see launch_cooperative().
  int sm_count = 0;
  int warp_size = 32;
  double clock_ghz = 0;       ///< peak SM clock
  double hbm_bytes_per_s = 0; ///< peak of the memory by clock and bus width; real copies reach about 87-92%
  /// FP32 operations per FP64 operation: 2 on data-centre GPUs, 32 or 64 on others.
  int single_to_double_ratio = 0;

  std::int64_t global_bytes = 0;
  std::int64_t registers_per_sm = 0;
  std::int64_t registers_per_block = 0;
  std::int64_t shared_per_sm = 0;
  std::int64_t shared_per_block = 0;          ///< without opting in: 48 KiB
  std::int64_t shared_per_block_optin = 0;    ///< static and dynamic together, after opting in
  std::int64_t shared_reserved_per_block = 0; ///< taken from shared_per_sm by the driver for each block

  int max_threads_per_sm = 0;
  int max_threads_per_block = 0;
  int max_blocks_per_sm = 0;
  std::int64_t max_grid_x = 0;
  std::int64_t max_grid_y = 0;
  std::int64_t max_grid_z = 0;

  std::int64_t l2_bytes = 0;                 ///< cudaDeviceProp::l2CacheSize
  std::int64_t persisting_l2_max = 0;        ///< cudaDeviceProp::persistingL2CacheMaxSize
  std::int64_t access_policy_window_max = 0; ///< cudaDeviceProp::accessPolicyMaxWindowSize

  bool cooperative_launch = false;
  bool cluster_launch = false;
  bool mps = false; ///< shared with other processes through MPS: the L2 set-aside cannot be changed here
  bool mig = false; ///< a MIG instance: there is no L2 set-aside

  /// 10 × major + minor: 75, 80, 90.
  constexpr int compute_capability() const noexcept { return 10 * compute_major + compute_minor; }

  /// Whether L2 access-policy windows and the set-aside exist (compute capability 8.0, and the driver
  /// agrees).
  constexpr bool supports_l2_windows() const noexcept {
    return compute_major >= 8 && persisting_l2_max > 0 && access_policy_window_max > 0;
  }

  /// Registers and shared memory of all multiprocessors: what a field can stay in.
  constexpr std::int64_t on_chip_bytes() const noexcept {
    return sm_count * (4 * registers_per_sm + shared_per_sm);
  }

  bool operator==(const device_facts&) const = default;
};

/// One line: "NVIDIA H200 (9.0, 132 SMs at 1.98 GHz, 4.9 TB/s, L2 60 MiB)".
inline std::ostream& operator<<(std::ostream& out, const device_facts& facts) {
  return out << facts.name << " (" << facts.compute_major << '.' << facts.compute_minor << ", "
             << facts.sm_count << " SMs at " << facts.clock_ghz << " GHz, " << facts.hbm_bytes_per_s * 1e-12
             << " TB/s, L2 " << (facts.l2_bytes >> 20) << " MiB)";
}

} // namespace stet::cuda
