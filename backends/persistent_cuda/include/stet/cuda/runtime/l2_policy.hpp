#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "stet/cuda/runtime/device_facts.hpp"
#include "stet/error.hpp"

namespace stet::cuda {

/// How eagerly the L2 cache keeps the lines of an access.
enum class access_property {
  normal,     ///< as without any policy; also takes the persisting state back from lines that have it
  streaming,  ///< evicted first
  persisting, ///< evicted last; lives in the set-aside part of L2
};

/// An access-policy window: what L2 does with accesses to `bytes` bytes from `base` on. Plain numbers, no
/// CUDA types; it describes a window and does nothing. `l2_window`, `l2_launch_attribute()` and graph nodes
/// apply it.
///
/// `hit_ratio` of the lines, chosen by the hardware, get the property `hit`, the others `miss`. The whole of
/// bytes × hit_ratio should fit into the set-aside, or the lines evict each other: see `l2_budget` and
/// `fitted_l2_policy()`. (CUDA Programming Guide, "L2 Cache Control".)
struct l2_policy {
  const void* base = nullptr;
  std::int64_t bytes = 0; ///< 0: no window, accesses are normal
  float hit_ratio = 1;    ///< 0 to 1
  access_property hit = access_property::persisting;
  access_property miss = access_property::streaming; ///< normal or streaming

  /// What the window claims of the set-aside: bytes × hit_ratio, rounded up; nothing unless `hit` is
  /// persisting.
  std::int64_t persisting_bytes() const noexcept {
    if (hit != access_property::persisting) { return 0; }
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * static_cast<double>(hit_ratio)));
  }

  bool operator==(const l2_policy&) const = default;
};

/// The same window with the property normal: kernels that read it under this policy release the lines that
/// were persisting.
constexpr l2_policy released(l2_policy policy) noexcept {
  policy.hit_ratio = 1;
  policy.hit = access_property::normal;
  policy.miss = access_property::normal;
  return policy;
}

/// The best window over `bytes` bytes from `base` on that the device allows and that claims at most
/// `persisting_bytes` of the set-aside: cut at the largest window, with the hit ratio lowered until it fits.
/// On a device without windows: no window (bytes = 0), so that the caller need not ask.
inline l2_policy fitted_l2_policy(const void* base, std::int64_t bytes, std::int64_t persisting_bytes,
                                  const device_facts& facts) {
  l2_policy policy{.base = base};
  if (!facts.supports_l2_windows() || bytes <= 0 || persisting_bytes <= 0) { return {}; }
  policy.bytes = std::min(bytes, facts.access_policy_window_max);
  policy.hit_ratio = static_cast<float>(std::min(1.0, static_cast<double>(persisting_bytes) / policy.bytes));
  while (policy.persisting_bytes() > persisting_bytes) { // the ratio was rounded up
    policy.hit_ratio = std::nextafter(policy.hit_ratio, 0.0F);
  }
  return policy;
}

/// Throws a sentence for a window that the device does not support or that makes no sense. CUDA itself would
/// clamp or ignore some of these without a word. No window (bytes = 0) is always right.
///
/// \throws stet::error
inline void check_l2_policy(const l2_policy& policy, const device_facts& facts) {
  if (policy.bytes == 0) { return; }
  if (!facts.supports_l2_windows()) {
    throw stet::error("l2_window", facts.name + " has no L2 access-policy windows", "run without a window");
  }
  if (policy.bytes < 0 || policy.base == nullptr) {
    throw stet::error("l2_window",
                      "a window of " + std::to_string(policy.bytes) + " bytes" +
                          (policy.base == nullptr ? " has no address" : " is negative"),
                      "give it an array on the device, or 0 bytes for no window");
  }
  if (policy.bytes > facts.access_policy_window_max) {
    throw stet::error("l2_window",
                      "a window of " + std::to_string(policy.bytes) +
                          " bytes is beyond the device's largest, " +
                          std::to_string(facts.access_policy_window_max),
                      "use a smaller window, such as fitted_l2_policy() makes");
  }
  if (!(policy.hit_ratio >= 0 && policy.hit_ratio <= 1)) {
    throw stet::error("l2_window", "the hit ratio is " + std::to_string(policy.hit_ratio),
                      "use one from 0 to 1");
  }
  if (policy.miss == access_property::persisting) {
    throw stet::error("l2_window", "the property for misses is persisting", "use normal or streaming");
  }
}

} // namespace stet::cuda
