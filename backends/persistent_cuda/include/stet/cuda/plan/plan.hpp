#pragma once
#include <optional>
#include <stet/cuda/plan/l2_choice.hpp>
#include <stet/cuda/plan/plane_tiling.hpp>
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
  strip_shape strips;          ///< of the register kernel; cells = 0: there is none for the stencil
  plane_shape planes;          ///< of the kernel that streams planes; depth = 0: there is none
  std::array<index, 2> active_rows{0, 1}; ///< first and last + 1 that are updated, of stage 0
  index steps = 1;
  int busiest = 0;     ///< the field that most stages read and write: an L2 window lies over it
  std::string field{}; ///< its name
};

/// The field that most stages read and write; the first of equals.
template <class S> constexpr int busiest_field() {
  constexpr auto& program = step_program<S>::value;
  int best = 0, most = -1;
  for (int f = 0; f < field_count<S>; ++f) {
    int uses = 0;
    for (int s = 0; s < program.stage_count; ++s)
      uses += reads_field(program, s, f) + writes_field(program, s, f);
    if (uses > most) most = uses, best = f;
  }
  return best;
}

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
  p.planes = plane_shape_of<S, Real>();
  const auto active = regions_of(program, 0, extents, given.boundaries).active;
  p.active_rows = {active.lo[strip_axis<S>], active.hi[strip_axis<S>]};
  p.busiest = busiest_field<S>();
  p.field = field_name<S>(p.busiest);
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
    p.costs.step = {}; // each stage's, as kernels look at them one by one
    for (int s = 0; s < stage_count<S>; ++s)
      p.costs.step = sum(p.costs.step, symmetric(reach_of(program, s, field_count<S>)));
    p.costs.stage = symmetric(p.costs.stage);
  }
  return p;
}

/// What the user asks for.
struct request {
  cuda::strategy strategy = cuda::strategy::automatic;
  cuda::cache cache = cuda::cache::both;
  /// Steps between exchanges, but for resident_partial in shared memory; of a pass of temporal; 0: the plan
  /// chooses
  int depth = 0;
  std::int64_t l2_window = l2_off; ///< l2_off, l2_auto or bytes
  std::optional<double> l2_hit_ratio{};
};

/// One way to run, with its predicted time or the reason why it cannot.
struct alternative {
  cuda::strategy how;
  cuda::cache where = cuda::cache::both; ///< of strategies with a loop
  double seconds_per_step = 0;
  std::string limit{};   ///< the resource that takes the time
  std::string refusal{}; ///< empty when it can
  std::string aside{};   ///< why it was not considered although it can; empty when it was
};

/// The chosen way, and the others.
struct plan {
  alternative chosen;
  tiling tiles;           ///< of a strategy with a loop in shared memory
  register_tiling strips; ///< of one in registers
  plane_tiling planes;    ///< of temporal in registers in rank 3
  /// Shares of the cells by the level that holds them between two steps.
  double in_registers = 0, in_shared = 0, in_l2 = 0, in_memory = 0;
  std::vector<alternative> others;
  l2_policy window;  ///< without its base, over one copy of `busiest` or, where there are, over the rows of
                     ///< strips that stream; bytes = 0: none
  int busiest = 0;   ///< number of the field
  std::string field; ///< its name
  std::array<index, 3> extents{1, 1, 1};
  std::string device; ///< its name

  double cells() const { return double(extents[0]) * double(extents[1]) * double(extents[2]); }
};

/// Steps in one CUDA graph: even, so that each field is back in the buffer where it was.
inline constexpr index graph_steps = 32;

namespace detail {

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
  const double traffic = lanes_of(p, cells) * p.costs.bytes / memory_bytes_per_second(p.costs.rank, device);
  a.seconds_per_step = latency + traffic;
  a.limit = traffic > latency ? "memory bandwidth" : "launch latency";
  return a;
}

/// A way to run with what it needs, and the shares of the cells by the level that holds them between two
/// steps.
struct candidate {
  alternative way;
  tiling tiles{};
  register_tiling strips{};
  plane_tiling planes{};
  double in_registers = 0, in_shared = 0, in_l2 = 0, in_memory = 0;
};

inline double cells_of(const problem& p) {
  return double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]);
}
inline std::array<bool, 3> wraps_of(const problem& p) {
  return {p.wraps[0] > 0, p.wraps[1] > 0, p.wraps[2] > 0};
}
/// Dynamic shared memory that a block of the kernels in shared memory may have, beside a block's sum and what
/// it knows of its tile.
inline std::int64_t dynamic_shared(const device_facts& device) {
  return device.shared_per_block_optin - std::int64_t(resident_threads * sizeof(double)) - 256;
}
/// Why no kernel with a time loop can keep fields on a cache level; empty when one can.
inline std::string no_loop(cache where, const problem& p, const request& asked, const device_facts& device) {
  if (!device.cooperative_launch) return "the device has no cooperative launch";
  if (*std::min_element(p.wraps.begin(), p.wraps.end()) < 0)
    return "some fields are periodic along an axis and others are not";
  if (asked.cache == cache::both || asked.cache == where) return "";
  return where == cache::shared ? "the cache levels are limited to registers"
                                : "the cache levels are limited to shared memory";
}

inline candidate per_launch(const problem& p, const device_facts& device, bool graph) {
  candidate c{launches(p, device, graph)};
  (cells_of(p) * p.costs.bytes <= double(device.l2_bytes) ? c.in_l2 : c.in_memory) = 1;
  return c;
}

/// Why registers cannot hold the fields; empty when they can.
inline std::string no_registers(strategy how, const problem& p, const request& asked,
                                const device_facts& device) {
  const std::string none = no_loop(cache::registers, p, asked, device);
  return !none.empty()                  ? none
         : p.strips.cells == 0          ? "registers hold stencils of one stage, in rank 2 or stars in rank 3"
         : p.checks && is_resident(how) ? "registers hold no run that checks a residual"
         : p.folds                      ? "registers hold fixed and periodic faces only"
                                        : "";
}

/// resident or resident_partial, where rows of each strip are in memory.
inline candidate strips_of(strategy how, const problem& p, const request& asked, const device_facts& device) {
  candidate c{{how, cache::registers}};
  c.way.refusal = no_registers(how, p, asked, device);
  if (!c.way.refusal.empty()) return c;
  const auto choice =
      choose_register_tiling(p.costs, p.strips, p.extents, p.active_rows, wraps_of(p), device,
                             asked.cache == cache::both, how == strategy::resident_partial, asked.depth);
  c.way.refusal = choice.refusal;
  c.way.seconds_per_step = choice.seconds_per_step;
  c.way.limit = 2 * choice.streaming_seconds < choice.seconds_per_step ? "instructions and exchanges"
                : choice.from_l2                                       ? "L2 bandwidth"
                                                                       : "memory bandwidth";
  c.strips = choice.tiles;
  const double rows = std::max(1, c.strips.rows());
  c.in_registers = c.strips.registers / rows;
  c.in_shared = c.strips.in_shared / rows;
  (choice.from_l2 ? c.in_l2 : c.in_memory) = c.strips.in_memory / rows;
  return c;
}
inline candidate in_registers(const problem& p, const request& asked, const device_facts& device) {
  return strips_of(strategy::resident, p, asked, device);
}
inline candidate partly_in_registers(const problem& p, const request& asked, const device_facts& device) {
  return strips_of(strategy::resident_partial, p, asked, device);
}

inline candidate in_shared_memory(const problem& p, const request& asked, const device_facts& device) {
  candidate c{{strategy::resident, cache::shared}};
  c.way.refusal = no_loop(cache::shared, p, asked, device);
  if (!c.way.refusal.empty()) return c;
  const auto choice =
      choose_tiling(p.costs, p.extents, wraps_of(p), p.folds, device, dynamic_shared(device), asked.depth);
  c.way.refusal = choice.refusal;
  c.way.seconds_per_step = choice.seconds_per_step;
  c.way.limit = "shared memory and exchanges";
  c.tiles = choice.tiles;
  c.in_shared = 1;
  return c;
}

inline candidate partly_in_shared_memory(const problem& p, const request& asked, const device_facts& device) {
  candidate c{{strategy::resident_partial, cache::shared}};
  c.way.refusal = no_loop(cache::shared, p, asked, device);
  if (!c.way.refusal.empty()) return c;
  const auto choice =
      choose_partial_tiling(p.costs, p.extents, wraps_of(p), p.folds, device, dynamic_shared(device));
  c.way.refusal = choice.refusal;
  c.tiles = choice.tiles;
  const std::size_t axis = std::size_t(3 - p.costs.rank);
  c.in_shared = double(c.tiles.cells[axis]) / double(p.extents[axis]);
  const double cells = (1 - c.in_shared) * cells_of(p);
  const bool from_l2 =
      cells * p.costs.value_bytes * (p.costs.fields + p.costs.targets) <= 0.8 * double(device.l2_bytes);
  (from_l2 ? c.in_l2 : c.in_memory) = 1 - c.in_shared;
  // An estimate: half as many warps as launches have on a multiprocessor get less out of memory.
  const double traffic = lanes_of(p, cells) * p.costs.bytes /
                         (from_l2 ? l2_bytes_per_second(device) * c.tiles.blocks()
                                  : 0.8 * memory_bytes_per_second(p.costs.rank, device));
  c.way.seconds_per_step = choice.seconds_per_step + traffic;
  c.way.limit = traffic < choice.seconds_per_step ? "shared memory and exchanges"
                : from_l2                         ? "L2 bandwidth"
                                                  : "memory bandwidth";
  return c;
}

/// Planes that stream along z, several steps per pass.
inline candidate temporal_in_planes(const problem& p, const request& asked, const device_facts& device) {
  candidate c{{strategy::temporal, cache::registers}};
  c.way.refusal = no_loop(cache::registers, p, asked, device);
  if (c.way.refusal.empty() && p.folds) c.way.refusal = "planes stream between fixed and periodic faces only";
  if (!c.way.refusal.empty()) return c;
  const auto choice =
      choose_plane_tiling(p.costs, p.planes, p.extents, wraps_of(p), p.steps, device, asked.depth);
  c.way.refusal = choice.refusal;
  c.way.seconds_per_step = choice.seconds_per_step;
  c.way.limit = choice.memory_seconds < 0.9 * choice.seconds_per_step ? "instructions" : "memory bandwidth";
  c.planes = choice.tiles;
  (cells_of(p) * p.costs.bytes <= double(device.l2_bytes) ? c.in_l2 : c.in_memory) = 1;
  return c;
}
/// Tiles in registers that take several steps per pass.
inline candidate temporal_in_registers(const problem& p, const request& asked, const device_facts& device) {
  if (p.costs.rank == 3) return temporal_in_planes(p, asked, device);
  candidate c{{strategy::temporal, cache::registers}};
  c.way.refusal = no_registers(strategy::temporal, p, asked, device);
  if (!c.way.refusal.empty()) return c;
  const auto choice = choose_temporal_tiling(p.costs, p.strips, p.extents, p.active_rows, wraps_of(p),
                                             p.steps, device, asked.depth);
  c.way.refusal = choice.refusal;
  c.way.seconds_per_step = choice.seconds_per_step;
  c.way.limit =
      choice.streaming_seconds < choice.seconds_per_step * 0.9 ? "instructions" : "memory bandwidth";
  c.strips = choice.tiles;
  (cells_of(p) * p.costs.bytes <= double(device.l2_bytes) ? c.in_l2 : c.in_memory) = 1;
  return c;
}
/// The same in shared memory.
inline candidate temporal_in_shared(const problem& p, const request& asked, const device_facts& device) {
  candidate c{{strategy::temporal, cache::shared}};
  c.way.refusal = no_loop(cache::shared, p, asked, device);
  if (!c.way.refusal.empty()) return c;
  const auto choice = choose_temporal_tiling(p.costs, p.extents, wraps_of(p), p.folds, device,
                                             dynamic_shared(device), p.steps, asked.depth);
  c.way.refusal = choice.refusal;
  c.way.seconds_per_step = choice.seconds_per_step;
  c.way.limit = 2 * choice.streaming_seconds < choice.seconds_per_step ? "shared memory and barriers"
                : choice.from_l2                                       ? "L2 bandwidth"
                                                                       : "memory bandwidth";
  c.tiles = choice.tiles;
  (choice.from_l2 ? c.in_l2 : c.in_memory) = 1;
  return c;
}

} // namespace detail

/// Chooses the way of least predicted time among those that can hold the problem.
/// \throws stet::error when `asked` forces one that cannot, a window or a depth that cannot be: the reason is
/// in the message
inline plan make_plan(const problem& p, const request& asked, const device_facts& device) {
  if (asked.depth < 0)
    throw stet::error("depth", std::to_string(asked.depth) + " is negative",
                      "give the steps between exchanges, or of a pass, or 0 to leave them to the plan");
  constexpr int deepest = 1024; // beyond, no ring fits
  if (asked.depth > deepest)
    throw stet::error("depth", std::to_string(asked.depth) + " steps are beyond " + std::to_string(deepest),
                      "give fewer, or 0 to leave them to the plan");
  plan result;
  result.extents = p.extents;
  result.device = device.name;
  result.busiest = p.busiest;
  result.field = p.field;
  const index pitch = row_pitch(p.extents[2], p.costs.value_bytes);
  index windowed = p.extents[0] * p.extents[1] * pitch;
  std::vector<detail::candidate> all{detail::per_launch(p, device, false),
                                     detail::per_launch(p, device, true),
                                     detail::in_registers(p, asked, device),
                                     detail::in_shared_memory(p, asked, device),
                                     detail::partly_in_registers(p, asked, device),
                                     detail::partly_in_shared_memory(p, asked, device),
                                     detail::temporal_in_registers(p, asked, device),
                                     detail::temporal_in_shared(p, asked, device)};
  const detail::candidate* best = nullptr;
  std::string reason;
  for (detail::candidate& c : all) {
    alternative& a = c.way;
    if (asked.strategy != strategy::automatic)
      a.aside = a.how == asked.strategy ? "" : "not asked for";
    else if ((has_loop(a.how) && p.steps < 2) ||
             (a.how == strategy::per_step_graph && p.steps < 2 * graph_steps))
      a.aside = "does not pay for so few steps"; // a launch of its own, or a capture
    if (!a.aside.empty()) continue;
    if (!a.refusal.empty()) {
      if (!has_loop(a.how) || a.where == asked.cache || asked.cache == cache::both) reason = a.refusal;
      continue;
    }
    if (!best || a.seconds_per_step < best->way.seconds_per_step) best = &c;
  }
  if (!best)
    throw stet::error("strategy " + std::string(name_of(asked.strategy)), reason,
                      "use per_step, or leave the choice to the plan");
  result.chosen = best->way;
  result.tiles = best->tiles;
  result.strips = best->strips;
  result.planes = best->planes;
  result.in_registers = best->in_registers;
  result.in_shared = best->in_shared;
  result.in_l2 = best->in_l2;
  result.in_memory = best->in_memory;
  if (result.strips.in_memory > 0) windowed = result.strips.streamed_cells(p.costs.fields);
  result.window =
      choose_l2_window(asked.l2_window, asked.l2_hit_ratio, windowed * p.costs.value_bytes, device);
  for (const detail::candidate& c : all)
    if (&c != best) result.others.push_back(c.way);
  return result;
}

} // namespace stet::cuda
