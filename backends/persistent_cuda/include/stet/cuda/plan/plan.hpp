#pragma once
#include <optional>
#include <stet/cuda/plan/l2_choice.hpp>
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
  bool folds = false;          ///< accesses cross faces that are neither fixed nor periodic
  bool checks = false;         ///< a residual is checked on the way
  bool same_every_step = true; ///< the stencil does not read stet::step_index
  strip_shape strips;          ///< of the register kernel; cells = 0: there is none for the stencil
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
  const auto active = regions_of(program, 0, extents, given.boundaries).active;
  p.active_rows = {active.lo[1], active.hi[1]};
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
  return p;
}

/// What the user asks for.
struct request {
  cuda::strategy strategy = cuda::strategy::automatic;
  cuda::cache cache = cuda::cache::both;
  std::int64_t l2_window = l2_off; ///< l2_off, l2_auto or bytes
  std::optional<double> l2_hit_ratio{};
};

/// One way to run, with its predicted time or the reason why it cannot.
struct alternative {
  cuda::strategy how;
  cuda::cache where = cuda::cache::both; ///< of resident
  double seconds_per_step = 0;
  std::string limit{};   ///< the resource that takes the time
  std::string refusal{}; ///< empty when it can
  std::string aside{};   ///< why it was not considered although it can; empty when it was
};

/// The chosen way, and the others.
struct plan {
  alternative chosen;
  tiling tiles;           ///< of resident in shared memory
  register_tiling strips; ///< of resident in registers
  /// Shares of the cells by the level that holds them between two steps.
  double in_registers = 0, in_shared = 0, in_l2 = 0, in_memory = 0;
  std::vector<alternative> others;
  l2_policy window;  ///< without its base, over one copy of `busiest`; bytes = 0: none
  int busiest = 0;   ///< number of the field
  std::string field; ///< its name
  std::array<index, 3> extents{1, 1, 1};
  std::string device; ///< its name

  double cells() const { return double(extents[0]) * double(extents[1]) * double(extents[2]); }
};

/// Steps in one CUDA graph: even, so that each field is back in the buffer where it was.
inline constexpr index graph_steps = 32;

namespace detail {

inline alternative launches(const problem& p, const device_facts& device, bool graph) {
  alternative a{graph ? strategy::per_step_graph : strategy::per_step};
  if (graph && !p.same_every_step)
    a.refusal = "the stencil reads stet::step_index, which a replayed launch cannot follow";
  // Measured on an H200: 4 µs and 2.5 µs from launch to launch; 75% of the memory's peak in rank 1 and 2, 57%
  // in rank 3.
  const double latency = (graph ? 2.5e-6 : 4e-6) * p.costs.stages;
  const double bandwidth =
      (p.costs.rank == 3 ? 0.57 : 0.75) * (device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12);
  // Warps take 32 pieces of a row: short rows leave lanes idle.
  const double lanes = std::ceil(double(p.extents[2]) / (32 * p.costs.piece)) * 32 * p.costs.piece;
  const double traffic = double(p.extents[0]) * double(p.extents[1]) * lanes * p.costs.bytes / bandwidth;
  a.seconds_per_step = latency + traffic;
  a.limit = traffic > latency ? "memory bandwidth" : "launch latency";
  return a;
}

} // namespace detail

/// Chooses the way of least predicted time among those that can hold the problem.
/// \throws stet::error when `asked` forces one that cannot, or a window that cannot be: the reason is in the
/// message
inline plan make_plan(const problem& p, const request& asked, const device_facts& device) {
  constexpr std::int64_t static_shared = resident_threads * sizeof(double);
  std::vector<alternative> all{detail::launches(p, device, false), detail::launches(p, device, true)};
  plan result;
  result.extents = p.extents;
  result.device = device.name;
  result.busiest = p.busiest;
  result.field = p.field;
  result.window = choose_l2_window(asked.l2_window, asked.l2_hit_ratio,
                                   p.extents[0] * p.extents[1] *
                                       row_pitch(p.extents[2], p.costs.value_bytes) * p.costs.value_bytes,
                                   device);

  const std::string none = !device.cooperative_launch ? "the device has no cooperative launch"
                           : *std::min_element(p.wraps.begin(), p.wraps.end()) < 0
                               ? "some fields are periodic along an axis and others are not"
                               : "";
  const std::array<bool, 3> wraps{p.wraps[0] > 0, p.wraps[1] > 0, p.wraps[2] > 0};
  alternative registers{strategy::resident, cache::registers};
  registers.refusal = !none.empty()                  ? none
                      : asked.cache == cache::shared ? "the cache levels are limited to shared memory"
                      : p.strips.cells == 0 ? "registers hold stencils of rank 2 with one stage"
                      : p.checks           ? "registers hold no run that checks a residual"
                      : p.folds            ? "registers hold fixed and periodic faces only"
                                           : "";
  if (registers.refusal.empty()) {
    const auto choice = choose_register_tiling(p.costs, p.strips, p.extents, int(p.active_rows[0]),
                                               int(p.active_rows[1]), wraps[1], wraps[2], device,
                                               getenv("DEPTH") ? atoi(getenv("DEPTH")) : 0);
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
  all.push_back(registers);
  all.push_back(shared);

  const alternative* best = nullptr;
  std::string reason;
  for (alternative& a : all) {
    if (asked.strategy != strategy::automatic)
      a.aside = a.how == asked.strategy ? "" : "not asked for";
    else if ((a.how == strategy::resident && p.steps < 2) ||
             (a.how == strategy::per_step_graph && p.steps < 2 * graph_steps))
      a.aside = "does not pay for so few steps"; // a launch of its own, or a capture
    if (!a.aside.empty()) continue;
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
  if (best->how != strategy::resident) {
    const double bytes = double(p.extents[0]) * double(p.extents[1]) * double(p.extents[2]) * p.costs.bytes;
    (bytes <= double(device.l2_bytes) ? result.in_l2 : result.in_memory) = 1;
  } else if (best->where == cache::shared) {
    result.in_shared = 1;
  } else {
    result.in_registers = double(result.strips.registers) / (result.strips.registers + result.strips.in_shared);
    result.in_shared = 1 - result.in_registers;
  }
  return result;
}

} // namespace stet::cuda
