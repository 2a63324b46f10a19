#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "stet/cuda/runtime/device_facts.hpp"
#include "stet/cuda/runtime/l2_policy.hpp"
#include "stet/cuda/runtime/l2_set_aside.hpp"
#include "stet/cuda/runtime/l2_window.hpp"

namespace stet::cuda {

/// While it lives, L2 sets aside what a window claims, and `attributes()` gives launches that window, also
/// launches that are captured into a graph and cooperative ones. No stream is changed.
///
/// Its end restores the set-aside, also on exceptions, and makes all persisting lines of the device normal
/// again. \pre at its end the launches are done
class windowed_launches {
 public:
  /// \param policy whose hit ratio is lowered when the driver grants less of L2 than it claims
  /// \throws stet::error when the device has no such window or set-aside, or MPS has set less aside
  windowed_launches(const l2_policy& policy, const device_facts& facts)
      : ordinal_(facts.ordinal), aside_(policy.persisting_bytes(), facts),
        policy_(within(policy, aside_.bytes(), facts)), lease_(aside_.budget().reserve(policy_)),
        attribute_(l2_launch_attribute(policy_, facts)) {}

  ~windowed_launches() {
    try {
      reset_persisting_l2(ordinal_);
    } catch (...) { // the device is lost, and its L2 with it
    }
  }
  windowed_launches(const windowed_launches&) = delete;
  windowed_launches& operator=(const windowed_launches&) = delete;

  std::span<const cudaLaunchAttribute> attributes() const noexcept { return {&attribute_, 1}; }
  /// The window that is really on.
  const l2_policy& policy() const noexcept { return policy_; }

 private:
  static l2_policy within(l2_policy policy, std::int64_t granted, const device_facts& facts) {
    if (policy.persisting_bytes() > granted)
      policy.hit_ratio = fitted_l2_policy(policy.base, policy.bytes, granted, facts).hit_ratio;
    return policy;
  }

  int ordinal_;
  l2_set_aside aside_;
  l2_policy policy_;
  l2_budget::lease lease_;
  cudaLaunchAttribute attribute_;
};

} // namespace stet::cuda
