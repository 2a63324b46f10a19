#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stet/cuda/plan/policy.hpp>
#include <stet/cuda/runtime/device_facts.hpp>
#include <stet/cuda/runtime/l2_budget.hpp>
#include <stet/cuda/runtime/l2_policy.hpp>
#include <stet/error.hpp>
#include <string>

/// The choice of an L2 access-policy window for a run. Host only, no CUDA.
///
/// A field has two copies: a step reads one and writes the other, the next step goes back. A launch has one
/// window, so it lies over the beginning of the copy that holds the field when the run begins, and stays
/// there: what is written there in one step is read there in the next. Of every two steps it saves a write
/// and a read of its bytes, as much as a window half as long over each copy would, and needs neither moving
/// (a replayed graph could not) nor both copies in one allocation.
namespace stet::cuda {

/// Cells from row to row of a field in device memory: rows begin at multiples of 128 bytes.
constexpr std::int64_t row_pitch(std::int64_t nx, int value_bytes) {
  const std::int64_t unit = 128 / value_bytes;
  return (nx + unit - 1) / unit * unit;
}

/// The window for a field, without its base; bytes = 0: none. It claims at most the device's largest
/// set-aside.
///
/// \param wanted      l2_off; l2_auto: what the set-aside can hold, no window where there can be none or
///                    where MPS decides on the set-aside; otherwise bytes, of which those beyond the field
///                    are left out
/// \param hit_ratio   0 to 1; none: 1, or less when the window is larger than the set-aside
/// \param field_bytes of one copy
/// \throws stet::error bytes that the device has no window or no set-aside for; a hit ratio outside 0 to 1
inline l2_policy choose_l2_window(std::int64_t wanted, std::optional<double> hit_ratio,
                                  std::int64_t field_bytes, const device_facts& device) {
  if (hit_ratio && !(*hit_ratio >= 0 && *hit_ratio <= 1)) {
    throw stet::error("l2_hit_ratio", std::to_string(*hit_ratio) + " is no share of the window",
                      "give 0 to 1");
  }
  if (wanted < 0 && wanted != l2_auto) {
    throw stet::error("l2_window", std::to_string(wanted) + " bytes are no window",
                      "give l2_off, l2_auto or a number of bytes");
  }
  if (wanted == l2_off) { return {}; }
  const bool has_set_aside = device.supports_l2_windows() && !device.mig;
  const bool automatic = wanted == l2_auto;
  if (automatic) {
    if (!has_set_aside || device.mps) { return {}; }
    wanted = std::min(device.access_policy_window_max, device.persisting_l2_max);
    if (hit_ratio) {
      wanted = device.access_policy_window_max;
      const double held = double(device.persisting_l2_max) / double(static_cast<float>(*hit_ratio));
      if (held < double(wanted)) { wanted = static_cast<std::int64_t>(held); }
    }
  } else if (!has_set_aside) {
    throw stet::error("l2_window", device.name + " has no part of L2 to set aside for a window",
                      "turn the window off, or leave it to l2_auto");
  }
  wanted = std::min(wanted, field_bytes);
  if (wanted > device.access_policy_window_max) {
    throw stet::error("l2_window",
                      std::to_string(wanted) + " bytes are beyond the device's largest window, " +
                          std::to_string(device.access_policy_window_max),
                      "give fewer bytes, or leave it to l2_auto");
  }
  if (!hit_ratio) { return fitted_l2_policy(nullptr, wanted, device.persisting_l2_max, device); }
  l2_policy window{.bytes = wanted, .hit_ratio = static_cast<float>(*hit_ratio)};
  while (automatic && window.persisting_bytes() > device.persisting_l2_max) { --window.bytes; } // rounding
  (void)l2_budget(device.persisting_l2_max).reserve(window); // throws when it does not fit
  return window;
}

/// "L2 window 24.0 MiB, hit ratio 1.00"; empty when there is none.
inline std::string to_text(const l2_policy& window) {
  if (window.bytes == 0) { return {}; }
  char text[80];
  std::snprintf(text, sizeof text, "L2 window %.1f MiB, hit ratio %.2f", double(window.bytes) / (1 << 20),
                double(window.hit_ratio));
  return text;
}

} // namespace stet::cuda
