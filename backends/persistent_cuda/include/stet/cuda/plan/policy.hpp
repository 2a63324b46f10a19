#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

/// What a user may ask of a run on the GPU. No CUDA needed.
namespace stet::cuda {

/// How the steps are carried out.
enum class strategy {
  automatic,        ///< the plan chooses
  per_step,         ///< one launch per stage
  per_step_graph,   ///< the same, launches replayed from a CUDA graph
  resident,         ///< one launch for all steps; all fields stay in registers and shared memory
  resident_partial, ///< the same for a part of the grid; the rest streams through memory at every step
  temporal, ///< tiles come from memory, take several steps on the chip and go back; again for all steps
};
inline constexpr std::array<std::string_view, 6> strategy_names{
    "auto", "per_step", "per_step_graph", "resident", "resident_partial", "temporal"};
constexpr bool is_resident(strategy s) { return s == strategy::resident || s == strategy::resident_partial; }
/// Whether the time loop is inside a kernel, whose blocks wait for each other.
constexpr bool has_loop(strategy s) { return is_resident(s) || s == strategy::temporal; }
constexpr std::string_view name_of(strategy s) { return strategy_names[static_cast<int>(s)]; }

/// Where fields may stay between two steps.
enum class cache {
  both,      ///< the faster of the two below, registers first and then shared memory included
  registers, ///< registers only
  shared,    ///< shared memory only
};
inline constexpr std::array<std::string_view, 3> cache_names{"both", "registers", "shared"};
constexpr std::string_view name_of(cache c) { return cache_names[static_cast<int>(c)]; }

/// The strategy, or cache, of a name. \pre it is one of the names above
constexpr strategy strategy_named(std::string_view name) {
  return strategy(std::find(strategy_names.begin(), strategy_names.end(), name) - strategy_names.begin());
}
constexpr cache cache_named(std::string_view name) {
  return cache(std::find(cache_names.begin(), cache_names.end(), name) - cache_names.begin());
}

/// Sizes of an L2 access-policy window beside a number of bytes: none, or what the device can hold.
inline constexpr std::int64_t l2_off = 0, l2_auto = -1;

} // namespace stet::cuda
