#pragma once
#include <array>
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
};
inline constexpr std::array<std::string_view, 5> strategy_names{"auto", "per_step", "per_step_graph",
                                                                "resident", "resident_partial"};
constexpr std::string_view name_of(strategy s) { return strategy_names[static_cast<int>(s)]; }

/// Where resident fields may stay.
enum class cache {
  both,      ///< the faster of the two below, registers first and then shared memory included
  registers, ///< registers only
  shared,    ///< shared memory only
};
inline constexpr std::array<std::string_view, 3> cache_names{"both", "registers", "shared"};
constexpr std::string_view name_of(cache c) { return cache_names[static_cast<int>(c)]; }

} // namespace stet::cuda
