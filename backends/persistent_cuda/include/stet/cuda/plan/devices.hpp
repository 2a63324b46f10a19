#pragma once
#include <stet/cuda/runtime/device_facts.hpp>
#include <string_view>
#include <vector>

/// Devices by name, for plans on machines without them. Figures from the vendor's architecture papers and
/// data sheets and from the CUDA programming guide's table of compute capabilities; clocks are the boost
/// clocks.
namespace stet::cuda {

struct known_device {
  std::string_view key;
  device_facts facts;
};

inline std::vector<known_device> known_devices() {
  const auto make = [](std::string name, int capability, int sms, double ghz, double bytes_per_s,
                       int fp64_ratio, std::int64_t shared_kib, std::int64_t l2_mib, std::int64_t memory_gib,
                       int threads_per_sm) {
    device_facts f;
    f.name = std::move(name);
    f.compute_major = capability / 10;
    f.compute_minor = capability % 10;
    f.sm_count = sms;
    f.clock_ghz = ghz;
    f.hbm_bytes_per_s = bytes_per_s;
    f.single_to_double_ratio = fp64_ratio;
    f.global_bytes = memory_gib << 30;
    f.registers_per_sm = f.registers_per_block = 65536;
    f.shared_per_sm = shared_kib << 10;
    f.shared_per_block = 48 << 10;
    f.shared_reserved_per_block = 1 << 10;
    f.shared_per_block_optin = f.shared_per_sm - f.shared_reserved_per_block;
    f.max_threads_per_sm = threads_per_sm;
    f.max_threads_per_block = 1024;
    f.max_blocks_per_sm = capability == 89 ? 24 : 32;
    f.max_grid_x = 2147483647;
    f.max_grid_y = f.max_grid_z = 65535;
    f.l2_bytes = l2_mib << 20;
    f.cooperative_launch = true;
    f.cluster_launch = capability >= 90;
    return f;
  };
  return {
      {"a100", make("NVIDIA A100 80GB SXM", 80, 108, 1.41, 2.039e12, 2, 164, 40, 80, 2048)},
      {"h100", make("NVIDIA H100 SXM", 90, 132, 1.98, 3.35e12, 2, 228, 50, 80, 2048)},
      {"h200", make("NVIDIA H200 SXM", 90, 132, 1.98, 4.8e12, 2, 228, 60, 141, 2048)},
      {"l40s", make("NVIDIA L40S", 89, 142, 2.52, 0.864e12, 64, 100, 96, 48, 1536)},
      {"rtx4090", make("NVIDIA GeForce RTX 4090", 89, 128, 2.52, 1.008e12, 64, 100, 72, 24, 1536)},
      {"b200", make("NVIDIA B200 SXM", 100, 148, 1.965, 8.0e12, 2, 228, 126, 180, 2048)},
  };
}

} // namespace stet::cuda
