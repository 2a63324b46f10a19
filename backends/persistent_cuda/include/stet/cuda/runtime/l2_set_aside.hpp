#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stet/cuda/runtime/device_facts.hpp"
#include "stet/cuda/runtime/device_guard.hpp"
#include "stet/cuda/runtime/error.hpp"
#include "stet/cuda/runtime/l2_budget.hpp"

namespace stet::cuda {

/// Bytes of L2 now set aside for persisting accesses on a device (cudaLimitPersistingL2CacheSize).
inline std::int64_t persisting_l2_bytes(int ordinal) {
  const device_guard current(ordinal);
  std::size_t bytes = 0;
  STET_CUDA_CHECK(cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize));
  return static_cast<std::int64_t>(bytes);
}

/// Makes every persisting line in a device's L2 a normal one, whoever made it persisting. Takes effect on
/// return; kernels still running may make new ones, so wait for them first. Does not synchronise.
inline void reset_persisting_l2(int ordinal) {
  const device_guard current(ordinal);
  STET_CUDA_CHECK(cudaCtxResetPersistingL2Cache());
}

/// Sets a part of L2 aside for persisting accesses while it lives, and then restores the size that was there.
///
///     l2_set_aside aside(24 << 20, facts);
///     l2_window window(stream, fitted_l2_policy(table, bytes, aside.bytes(), facts), facts, aside.budget());
///
/// The rest of L2 is what all other accesses have, so an unused set-aside only costs. The driver may round
/// the size: `bytes()` is what it granted, and `budget()` divides that among the windows. Does not
/// synchronise. The size belongs to the device and is not meant to be changed by several threads at once;
/// guards end in the reverse order of their beginning.
class l2_set_aside {
 public:
  /// \param bytes 0 to `facts.persisting_l2_max`
  /// \param facts of the device that is meant
  /// \throws stet::error when the device has no set-aside (compute capability below 8.0, MIG), when another
  ///         process decides on it (MPS), or when it is smaller
  l2_set_aside(std::int64_t bytes, const device_facts& facts)
      : ordinal_(facts.ordinal), previous_(checked(bytes, facts)), granted_(change(bytes, facts)),
        budget_(granted_) {}

  /// Restores the size; lines that are persisting stay so until evicted or reset.
  ~l2_set_aside() {
    if (changed_) { restore(); }
  }
  l2_set_aside(const l2_set_aside&) = delete;
  l2_set_aside& operator=(const l2_set_aside&) = delete;

  /// What the driver granted.
  std::int64_t bytes() const noexcept { return granted_; }
  /// What was set aside before, and will be again.
  std::int64_t previous_bytes() const noexcept { return previous_; }
  l2_budget& budget() noexcept { return budget_; }

 private:
  /// Returns the present size.
  static std::int64_t checked(std::int64_t bytes, const device_facts& facts) {
    if (!facts.supports_l2_windows() || facts.mig) {
      throw stet::error("l2_set_aside",
                        facts.name + (facts.mig ? " is a MIG instance, which has" : " has") +
                            " no L2 set-aside for persisting accesses",
                        "run without it");
    }
    if (bytes < 0 || bytes > facts.persisting_l2_max) {
      throw stet::error("l2_set_aside",
                        std::to_string(bytes) + " bytes are wanted, but " + facts.name +
                            " can set aside 0 to " + std::to_string(facts.persisting_l2_max),
                        "ask for no more than device_facts::persisting_l2_max");
    }
    const std::int64_t present = persisting_l2_bytes(facts.ordinal);
    if (facts.mps && bytes > present) {
      throw stet::error(
          "l2_set_aside",
          std::to_string(bytes) + " bytes are wanted, but the device is shared through MPS, which has set " +
              std::to_string(present) + " aside",
          "set CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT where the MPS server starts");
    }
    return present;
  }

  std::int64_t change(std::int64_t bytes, const device_facts& facts) {
    if (facts.mps) { return previous_; }
    const device_guard current(ordinal_);
    STET_CUDA_CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(bytes)));
    changed_ = true;
    try {
      return persisting_l2_bytes(ordinal_);
    } catch (...) {
      restore();
      throw;
    }
  }

  void restore() noexcept {
    try {
      const device_guard current(ordinal_);
      (void)cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(previous_));
    } catch (...) { // the device is lost, and the limit with it
    }
    (void)cudaGetLastError();
  }

  bool changed_ = false;
  int ordinal_;
  std::int64_t previous_;
  std::int64_t granted_;
  l2_budget budget_;
};

} // namespace stet::cuda
