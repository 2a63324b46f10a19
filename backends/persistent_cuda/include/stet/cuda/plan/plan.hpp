#pragma once
#include <optional>
#include <stet/cuda/plan/policy.hpp>
#include <stet/cuda/plan/register_tiling.hpp>
#include <stet/cuda/plan/tiling.hpp>
#include <stet/error.hpp>
#include <stet/grid.hpp>
#include <vector>

/// The choice of a strategy. Host only, no CUDA: can be made and tested on any machine.
namespace stet::cuda {

/// Everything about a run that the choice depends on.
struct problem {
  stencil_costs costs;
  std::array<index, 3> extents{1, 1, 1};
  /// Per axis: 1 it wraps, 0 it does not, −1 fields that are read along it differ.
  std::array<int, 3> wraps{0, 0, 0};
  bool folds = false;   ///< accesses cross faces that are neither fixed nor periodic
  bool mirrors = false; ///< the same, or the residual's accesses do; `costs` has symmetric reaches then
  bool checks = false;  ///< a residual is checked on the way
  bool same_every_step = true; ///< the stencil does not read stet::step_index
  strip_shape strips;          ///< of the register kernel; rows = 0: there is none for the stencil
  index steps = 1;
};

/// The problem that a stencil poses under boundaries.
template <class S, class Real>
problem problem_of(const std::array<index, 3>& extents, const conditions<S, Real>& given, index steps,
                   bool checks) {
  constexpr auto& program = step_program<S>::value;
  problem p;
  p.costs = stencil_costs_of<S, Real>();
  p.extents = extents;
  p.checks = checks;
  p.steps = steps;
  p.same_every_step = !reads_step(program);
  p.strips = strip_shape_of<S, Real>();
  for (int axis = 0; axis < 3; ++axis) {
    bool any = false, all = true;
    for (int f = 0; f < field_count<S>; ++f) {
      reach r = reach_into(program, -1, f);
      if constexpr (stet::detail::has_residual<S>)
        r = merge(r, reach_into(residual_program<S>::value, -1, f));
      if (r.low[axis] == 0 && r.high[axis] == 0) continue;
      const bool wraps = given.boundaries.kind[f][2 * axis] == boundary_kind::periodic;
      any = any || wraps;
      all = all && wraps;
    }
    p.wraps[axis] = any ? (all ? 1 : -1) : 0;
  }
  for (int s = 0; s < stage_count<S>; ++s)
    p.folds = p.folds || folds(regions_of(program, s, extents, given.boundaries), p.wraps);
  p.mirrors = p.folds;
  if constexpr (stet::detail::has_residual<S>)
    p.mirrors =
        p.mirrors || folds(regions_of(residual_program<S>::value, 0, extents, given.boundaries), p.wraps);
  if (p.mirrors) {
    p.costs.step = symmetric(p.costs.step);
    p.costs.stage = symmetric(p.costs.stage);
  }
  return p;
}

/// What the user asks for.
struct request {
  cuda::strategy strategy = cuda::strategy::automatic;
  cuda::cache cache = cuda::cache::both;
};

/// One way to run, with its predicted time or the reason why it cannot.
struct alternative {
  cuda::strategy how;
  cuda::cache where = cuda::cache::both; ///< of resident and resident_partial
  double seconds_per_step = 0;
  std::string limit{};   ///< the resource that takes the time
  std::string refusal{}; ///< empty when it can
};

/// The chosen way, and the others.
struct plan {
  alternative chosen;
  tiling tiles;           ///< of resident or resident_partial in shared memory
  register_tiling strips; ///< of resident in registers
  /// Shares of the cells by the level that holds them between two steps.
  double in_registers = 0, in_shared = 0, in_l2 = 0, in_memory = 0;
  std::vector<alternative> others;
};

/// Steps in one CUDA graph: even, so that each field is back in the buffer where it was.
inline constexpr index graph_steps = 32;

namespace detail {

/// Bytes per second from memory. Measured on an H200: 75% of the peak in rank 1 and 2, 57% in rank 3.
inline double memory_bandwidth(const problem& p, const device_facts& device) {
  return (p.costs.rank == 3 ? 0.57 : 0.75) * (device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12);
}

/// Cells of rows as warps take them, 32 pieces at a time: short rows leave lanes idle.
inline double lanes_of(const problem& p, double cells) {
  const double width = 32.0 * p.costs.piece, nx = double(p.extents[2]);
  return cells / nx * std::ceil(nx / width) * width;
}

inline alternative launches(const problem& p, const device_facts& device, bool graph) {
  alternative a{graph ? strategy::per_step_graph : strategy::per_step};
  if (graph && !p.same_every_step)
    a.refusal = "the stencil reads stet::step_index, which a replayed launch cannot follow";
  // Measured on an H200: 4 µs and 2.5 µs from launch to launch.
  const double latency = (graph ? 2.5e-6 : 4e-6) * p.costs.stages;
  const double cells = double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]);
  const double traffic = lanes_of(p, cells) * p.costs.bytes / memory_bandwidth(p, device);
  a.seconds_per_step = latency + traffic;
  a.limit = traffic > latency ? "memory bandwidth" : "launch latency";
  return a;
}

} // namespace detail

/// Chooses the way of least predicted time among those that can hold the problem.
/// \throws stet::error when `asked` forces one that cannot: the reason is in the message
inline plan make_plan(const problem& p, const request& asked, const device_facts& device) {
  constexpr std::int64_t static_shared = resident_threads * sizeof(double) + 16; // of the kernels
  std::vector<alternative> all{detail::launches(p, device, false), detail::launches(p, device, true)};
  plan result;

  const std::string none = !device.cooperative_launch ? "the device has no cooperative launch"
                           : *std::min_element(p.wraps.begin(), p.wraps.end()) < 0
                               ? "some fields are periodic along an axis and others are not"
                               : "";
  const std::array<bool, 3> wraps{p.wraps[0] > 0, p.wraps[1] > 0, p.wraps[2] > 0};
  alternative registers{strategy::resident, cache::registers};
  registers.refusal = !none.empty()                  ? none
                      : asked.cache == cache::shared ? "the cache levels are limited to shared memory"
                      : p.strips.rows == 0 ? "registers hold stencils of rank 2 with one field and one stage"
                      : p.checks           ? "registers hold no run that checks a residual"
                      : p.folds            ? "registers hold fixed and periodic faces only"
                                           : "";
  if (registers.refusal.empty()) {
    auto rows = p.strips.options(device.shared_per_block_optin);
    if (asked.cache == cache::registers) rows[1] = rows[2] = 0;
    const auto choice = choose_register_tiling(p.costs, rows, p.extents, wraps[1], wraps[2], device);
    registers.refusal = choice.refusal;
    registers.seconds_per_step = choice.seconds_per_step;
    registers.limit = "instructions and exchanges";
    result.strips = choice.tiles;
  }
  alternative shared{strategy::resident, cache::shared};
  shared.refusal = !none.empty()                     ? none
                   : asked.cache == cache::registers ? "the cache levels are limited to registers"
                                                     : "";
  if (shared.refusal.empty()) {
    const auto choice = choose_tiling(p.costs, p.extents, wraps, p.folds, device,
                                      device.shared_per_block_optin - static_shared);
    shared.refusal = choice.refusal;
    shared.seconds_per_step = choice.seconds_per_step;
    shared.limit = "shared memory and exchanges";
    result.tiles = choice.tiles;
  }
  alternative part{strategy::resident_partial, cache::shared};
  part.refusal = !none.empty()                     ? none
                 : asked.cache == cache::registers ? "the part that stays is held in shared memory"
                                                   : "";
  tiling part_tiles;
  double streamed = 0; // share of the cells
  bool streamed_from_l2 = false;
  if (part.refusal.empty()) {
    const auto choice = choose_partial_tiling(p.costs, p.extents, wraps, p.folds, device,
                                              device.shared_per_block_optin - static_shared);
    part.refusal = choice.refusal;
    part_tiles = choice.tiles;
    const std::size_t axis = std::size_t(3 - p.costs.rank);
    streamed = 1 - double(part_tiles.cells[axis]) / double(p.extents[axis]);
    const double cells = streamed * double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]);
    streamed_from_l2 =
        cells * p.costs.value_bytes * (p.costs.fields + p.costs.targets) <= 0.8 * double(device.l2_bytes);
    // An estimate: half as many warps as launches have on a multiprocessor get less out of memory.
    const double traffic = detail::lanes_of(p, cells) * p.costs.bytes /
                           (streamed_from_l2 ? l2_bytes_per_second(device) * part_tiles.blocks()
                                             : 0.8 * detail::memory_bandwidth(p, device));
    part.seconds_per_step = choice.seconds_per_step + traffic;
    part.limit = traffic < choice.seconds_per_step ? "shared memory and exchanges"
                 : streamed_from_l2                ? "L2 bandwidth"
                                                   : "memory bandwidth";
  }
  all.push_back(registers);
  all.push_back(shared);
  all.push_back(part);

  const alternative* best = nullptr;
  std::string reason;
  for (const alternative& a : all) {
    const bool wanted = asked.strategy == strategy::automatic
                            // a launch of its own or a capture does not pay for a few steps
                            ? !(a.how >= strategy::resident && p.steps < 2) &&
                                  !(a.how == strategy::per_step_graph && p.steps < 2 * graph_steps)
                            : a.how == asked.strategy;
    if (!wanted) continue;
    if (!a.refusal.empty()) {
      if (a.how != strategy::resident || a.where == asked.cache || asked.cache == cache::both)
        reason = a.refusal;
      continue;
    }
    if (!best || a.seconds_per_step < best->seconds_per_step) best = &a;
  }
  if (!best)
    throw stet::error("strategy " + std::string(name_of(asked.strategy)), reason,
                      "use per_step, or leave the choice to the plan");
  result.chosen = *best;
  for (const alternative& a : all)
    if (&a != best) result.others.push_back(a);
  if (best->how == strategy::resident_partial) {
    result.tiles = part_tiles;
    result.in_shared = 1 - streamed;
    (streamed_from_l2 ? result.in_l2 : result.in_memory) = streamed;
  } else if (best->how != strategy::resident) {
    const double bytes = double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]) * p.costs.bytes;
    (bytes <= double(device.l2_bytes) ? result.in_l2 : result.in_memory) = 1;
  } else if (best->where == cache::shared) {
    result.in_shared = 1;
  } else {
    result.in_registers = double(p.strips.rows) / result.strips.rows;
    result.in_shared = 1 - result.in_registers;
  }
  return result;
}

} // namespace stet::cuda
