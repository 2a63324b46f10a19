#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stet/analysis.hpp>
#include <stet/boundary.hpp>
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/runtime/device_facts.hpp>
#include <string>

/// How the resident strategy divides a grid among blocks. Host only, no CUDA: can be tested on any machine.
///
///     +-----------------------------+   held: what a block keeps in shared memory
///     | ring   depth * step reach   |   tile: the cells that it owns
///     |     +-----------------+     |   Every step shrinks the part of the ring that is right by the reach
///     of |     |      tile       |     |   the step; after `depth` steps the blocks exchange it anew. |
///     +-----------------+     |   The ring ends at faces that are not periodic.
///     +-----------------------------+
namespace stet::cuda {

/// What of a stencil decides about tiles. Made at compile time by `stencil_costs_of`.
struct stencil_costs {
  int rank = 0;
  int fields = 0;      ///< arrays held on the chip
  int targets = 0;     ///< fields that a stage may move
  int value_bytes = 0; ///< of one value
  int piece = 0;       ///< cells in 16 bytes
  reach step;          ///< sum of the stages' reaches: the ring needed per step
  reach stage;         ///< the largest reach of a stage or of the residual
  int flops = 0;       ///< per cell and step
  int bytes = 0;       ///< per cell and step when the fields stream from memory
  int stages = 0;
  int writes = 0; ///< right-hand sides of all stages
};

template <class S, class Real> constexpr stencil_costs stencil_costs_of() {
  constexpr auto& program = step_program<S>::value;
  stencil_costs c;
  c.rank = rank_of<S>;
  c.fields = field_count<S>;
  c.targets = assigned_count<S>;
  c.stages = stage_count<S>;
  c.bytes = bytes(program, field_count<S>, sizeof(Real));
  c.value_bytes = sizeof(Real);
  c.piece = 16 / int(sizeof(Real));
  for (int s = 0; s < program.stage_count; ++s) {
    const reach r = reach_of(program, s, field_count<S>);
    for (int a = 0; a < 3; ++a) {
      c.step.low[a] += r.low[a];
      c.step.high[a] += r.high[a];
    }
    c.stage = merge(c.stage, r);
    c.flops += flops(program, s);
    c.writes += writes(program, s);
  }
  if constexpr (stet::detail::has_residual<S>)
    c.stage = merge(c.stage, reach_of(residual_program<S>::value, -1, field_count<S>));
  return c;
}

/// Issue slots per cell and step that arithmetic takes: half of the operations are fused into others, and
/// double has fewer units.
inline double arithmetic_slots(const stencil_costs& c, const device_facts& device) {
  return c.flops * 0.55 * (c.value_bytes == 8 ? std::max(1, device.single_to_double_ratio) : 1);
}

/// Tiles of a grid; all arrays are (z, y, x).
struct tiling {
  std::array<int, 3> count{1, 1, 1}; ///< tiles along each axis
  std::array<int, 3> size{1, 1, 1};  ///< cells of a tile; the last ones of an axis may have fewer
  std::array<int, 3> ring_low{}, ring_high{};
  std::array<int, 3> held{1, 1, 1}; ///< size and rings; x is a multiple of a piece
  int depth = 1;                    ///< steps between exchanges
  int slide_axis = 0;               ///< updates sweep along it, each moving an array by `slide`
  int slide = 0;                    ///< spare cells along slide_axis
  int guard = 0;                    ///< cells before and after an array that may be read, never used
  int array_cells = 0;              ///< of one field, spare and guards included
  int face_cells = 0; ///< at most, cells of a block whose accesses cross a face: computed ahead of the others
  int blocks() const { return count[0] * count[1] * count[2]; }
  std::int64_t shared_bytes(const stencil_costs& c) const {
    return (std::int64_t(array_cells) * c.fields + std::int64_t(face_cells) * c.targets) * c.value_bytes;
  }
};

/// A tiling with its predicted time, or the reason why there is none.
struct tiling_choice {
  tiling tiles;
  double seconds_per_step = 0;
  std::string refusal; ///< empty when `tiles` can be used
};

inline constexpr int resident_threads = 512;

namespace detail {

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// Completes a tiling of which count, size and depth are set. False when it cannot be used.
inline bool complete(tiling& t, const stencil_costs& c, const std::array<index, 3>& extents,
                     const std::array<bool, 3>& periodic, bool folds, std::int64_t shared_limit) {
  for (int a = 0; a < 3; ++a) {
    const bool open = t.count[a] > 1 || periodic[a];
    const int unit = a == 2 ? c.piece : 1;
    t.ring_low[a] = open ? round_up(std::max(t.depth * c.step.low[a], c.stage.low[a]), unit) : 0;
    t.ring_high[a] = open ? round_up(std::max(t.depth * c.step.high[a], c.stage.high[a]), unit) : 0;
    if (t.size[a] > extents[a] + unit) return false;
    t.held[a] = round_up(t.size[a], unit) + t.ring_low[a] + t.ring_high[a];
  }
  const std::int64_t plane = std::int64_t(t.held[1]) * t.held[2];
  const int x_reach = round_up(std::max(c.stage.low[2], c.stage.high[2]), c.piece);
  t.slide_axis = 3 - c.rank;
  const int along = std::max(c.stage.low[t.slide_axis], c.stage.high[t.slide_axis]);
  t.slide = t.slide_axis == 2 ? round_up(along, c.piece) : along;
  const std::int64_t slide_cells = t.slide * (t.slide_axis == 0 ? plane : t.slide_axis == 1 ? t.held[2] : 1);
  const std::int64_t guard = std::max(c.stage.low[0], c.stage.high[0]) * plane +
                             std::int64_t(std::max(c.stage.low[1], c.stage.high[1])) * t.held[2] + x_reach;
  // Units of up to 4 cells along the slide axis may hang over its end.
  const std::int64_t over = 4 * (t.slide_axis == 0 ? plane : t.slide_axis == 1 ? t.held[2] : c.piece);
  const std::int64_t cells = plane * t.held[0] + slide_cells + 2 * guard + over;
  std::int64_t inner = 1;
  for (int a = 0; a < 3; ++a) {
    const int faces = periodic[a]      ? 0
                      : t.count[a] > 1 ? std::max(c.stage.low[a], c.stage.high[a])
                                       : c.stage.low[a] + c.stage.high[a];
    inner *= std::max(0, t.held[a] - faces);
  }
  if (cells * c.fields * c.value_bytes > shared_limit) return false;
  t.guard = int(guard);
  t.array_cells = int(cells);
  t.face_cells = folds ? int(plane * t.held[0] - inner) : 0;
  if (t.shared_bytes(c) > shared_limit) return false;
  const int cross = t.slide_axis == 2 ? 1 : (t.slide_axis == 1 ? 1 : t.held[1]) * (t.held[2] / c.piece);
  return cross <= resident_threads;
}

} // namespace detail

/// The tiling of least predicted time, one tile per multiprocessor.
/// \param folds whether accesses may cross a face that is neither fixed nor periodic
/// \param shared_limit bytes of shared memory that one block may use
inline tiling_choice choose_tiling(const stencil_costs& c, const std::array<index, 3>& extents,
                                   const std::array<bool, 3>& periodic, bool folds,
                                   const device_facts& device, std::int64_t shared_limit) {
  tiling_choice best;
  best.refusal = "the fields do not fit into the shared memory of " + std::to_string(device.sm_count) +
                 " multiprocessors";
  constexpr index longest = 1 << 30;
  if (extents[0] > longest || extents[1] > longest || extents[2] > longest) return best;
  const index total = extents[0] * extents[1] * extents[2];
  if (double(total) * c.fields * c.value_bytes > double(shared_limit) * device.sm_count) return best;
  // Fitted to an H200: an exchange costs a grid barrier and two trips to L2; a third of the issue slots are
  // used in rank 1 and 2, half as many in rank 3.
  constexpr double exchange_seconds = 3e-6, barrier_seconds = 0.4e-6;
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  const double cells_per_second =
      clock * 4 * 32 * (c.rank == 3 ? 0.175 : 0.34) / (arithmetic_slots(c, device) + 10 * c.writes);
  for (int depth : {1, 2, 4, 8, 16})
    for (int cz = 1; cz <= (c.rank == 3 ? device.sm_count : 1) && cz <= extents[0]; ++cz)
      for (int cy = 1; cy * cz <= device.sm_count && cy <= extents[1]; ++cy) {
        const int cx_limit = device.sm_count / (cz * cy);
        for (int cx = 1; cx <= cx_limit; ++cx) {
          tiling t;
          t.depth = depth;
          t.size = {int((extents[0] + cz - 1) / cz), int((extents[1] + cy - 1) / cy),
                    detail::round_up(int((extents[2] + cx - 1) / cx), c.piece)};
          for (int a = 0; a < 3; ++a) t.count[a] = int((extents[a] + t.size[a] - 1) / t.size[a]);
          if (!detail::complete(t, c, extents, periodic, folds, shared_limit)) continue;
          const double held = double(t.held[0]) * t.held[1] * t.held[2];
          const bool alone = t.blocks() == 1;
          const double seconds =
              held / cells_per_second + barrier_seconds + (alone ? 0 : exchange_seconds / depth);
          if (best.refusal.empty() && seconds >= best.seconds_per_step) continue;
          best = {t, seconds, ""};
        }
      }
  return best;
}

} // namespace stet::cuda
