#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stet/analysis.hpp>
#include <stet/boundary.hpp>
#include <stet/cuda/device/sweep.hpp>
#include <stet/cuda/runtime/device_facts.hpp>
#include <stet/unrolled.hpp>
#include <string>
#include <vector>

/// How the strategies in shared memory divide a grid among blocks. Host only, no CUDA: can be tested on any
/// machine.
///
///     +-----------------------------+
///     | ring   depth * step reach   |   held: the ring and the tile, what a block keeps in shared memory
///     |     +-----------------+     |   tile: the cells that it owns
///     |     |      tile       |     |   Every step leaves less of the ring right, by its reach;
///     |     +-----------------+     |   after `depth` steps the blocks exchange it anew.
///     +-----------------------------+   It ends at faces that are not periodic.
///
/// resident: a tile per block. temporal: more; after `depth` steps a block writes its tile and loads the
/// next.
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
  int unit = 0;   ///< cells along the slide axis that a thread updates at once; of the stage with the fewest
};

constexpr reach sum(reach a, const reach& b) {
  for (std::size_t i = 0; i < 3; ++i) a.low[i] += b.low[i], a.high[i] += b.high[i];
  return a;
}
/// The same to both sides: beyond a mirror, what lies above is read below.
constexpr reach symmetric(reach r) {
  for (std::size_t i = 0; i < 3; ++i) r.low[i] = r.high[i] = std::max(r.low[i], r.high[i]);
  return r;
}

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
    c.step = sum(c.step, r);
    c.stage = merge(c.stage, r);
    c.flops += flops(program, s);
    c.writes += writes(program, s);
  }
  c.unit = 4;
  unrolled<stage_count<S>>(
      [&](auto stage) { c.unit = std::min(c.unit, detail::resident_unit<S, stage(), Real>()); });
  if constexpr (stet::detail::has_residual<S>)
    c.stage = merge(c.stage, reach_of(residual_program<S>::value, -1, field_count<S>));
  return c;
}

/// Issue slots per cell and step that arithmetic takes: half of the operations are fused into others, and
/// double has fewer units.
inline double arithmetic_slots(const stencil_costs& c, const device_facts& device) {
  return c.flops * 0.55 * (c.value_bytes == 8 ? std::max(1, device.single_to_double_ratio) : 1);
}

/// Tiles of a grid, or of its first cells along its slowest axis; all arrays are (z, y, x).
struct tiling {
  std::array<int, 3> cells{1, 1, 1}; ///< in tiles
  std::array<int, 3> count{1, 1, 1}; ///< tiles along each axis
  std::array<int, 3> size{1, 1, 1};  ///< cells of a tile; the last ones of an axis may have fewer
  std::array<int, 3> ring_low{}, ring_high{};
  std::array<int, 3> held{1, 1, 1}; ///< size and rings; x is a multiple of a piece
  int depth = 1;                    ///< steps between exchanges, or of a pass; 0: exchanges after every stage
  int slide_axis = 0;               ///< updates sweep along it, each moving an array by `slide`
  int slide = 0;                    ///< spare cells of an array
  int guard = 0;                    ///< cells before an array that may be read, never used
  int array_cells = 0;              ///< of one field, spare and guards included
  int exchanged = 0;                ///< at most, pieces of a field that a block publishes and fetches
  int face_cells = 0; ///< at most, cells of a block whose accesses cross a face: computed ahead of the others
  int most_blocks = std::numeric_limits<int>::max(); ///< of temporal: the tiles are dealt to so many
  int overlaps = 0; ///< of temporal: numbers of tiles that overlap differ by at most so much
  constexpr std::int64_t tiles() const { return std::int64_t(count[0]) * count[1] * count[2]; }
  int blocks() const { return int(std::min<std::int64_t>(tiles(), most_blocks)); }
  std::int64_t shared_bytes(const stencil_costs& c) const {
    return (std::int64_t(array_cells) * c.fields + std::int64_t(face_cells) * c.targets) * c.value_bytes;
  }
};

/// A tiling with its predicted time, or the reason why there is none.
struct tiling_choice {
  tiling tiles;
  double seconds_per_step = 0;
  std::string refusal;          ///< empty when `tiles` can be used
  double streaming_seconds = 0; ///< of temporal: of these, for loading and storing tiles
  bool from_l2 = false;         ///< of temporal: both copies of the fields fit there
};

inline constexpr int resident_threads = 512;

namespace detail {

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

/// How threads share the cells of a sweep: `cross` threads side by side, `units` of them along the slide
/// axis.
struct sweep {
  int cross, units;
  int bands() const { return (units + resident_threads / cross - 1) / (resident_threads / cross); }
};
/// \param steps whole steps that the ring must last for after the sweep
inline sweep sweep_of(const tiling& t, const stencil_costs& c, int steps) {
  const auto swept = [&](std::size_t a) {
    const int unit = a == 2 ? c.piece : 1;
    const int low = round_up(std::max(0, steps) * c.step.low[a], unit);
    const int high = round_up(std::max(0, steps) * c.step.high[a], unit);
    return round_up(t.size[a], unit) + std::min(t.ring_low[a], low) + std::min(t.ring_high[a], high);
  };
  const int pieces = swept(2) / c.piece;
  if (c.rank == 1) return {1, pieces};
  const int along = swept(std::size_t(3 - c.rank));
  return {c.rank == 2 ? pieces : swept(1) * pieces, (along + c.unit - 1) / c.unit};
}

/// Completes a tiling of which cells, count, size and depth are set. False when it cannot be used.
inline bool complete(tiling& t, const stencil_costs& c, const std::array<index, 3>& extents,
                     const std::array<bool, 3>& periodic, bool folds, std::int64_t shared_limit) {
  for (std::size_t a = 0; a < 3; ++a) {
    const bool open = t.count[a] > 1 || periodic[a] || t.cells[a] < extents[a];
    const int unit = a == 2 ? c.piece : 1;
    t.ring_low[a] = open ? round_up(std::max(t.depth * c.step.low[a], c.stage.low[a]), unit) : 0;
    t.ring_high[a] = open ? round_up(std::max(t.depth * c.step.high[a], c.stage.high[a]), unit) : 0;
    if (t.size[a] > t.cells[a] + unit) return false;
    t.held[a] = round_up(t.size[a], unit) + t.ring_low[a] + t.ring_high[a];
  }
  const std::int64_t plane = std::int64_t(t.held[1]) * t.held[2];
  const std::size_t slide_axis = std::size_t(3 - c.rank);
  const auto cells_of = [&](std::size_t a, int n) { // n rows or planes of an array
    return n * (a == 0 ? plane : a == 1 ? std::int64_t(t.held[2]) : 1);
  };
  const int along = std::max(c.stage.low[slide_axis], c.stage.high[slide_axis]);
  t.slide_axis = int(slide_axis);
  // Units at the ends of rows and planes also read, and do not use, what lies beyond: by so much more an
  // array moves, as what is read must not be written meanwhile.
  t.slide = int(cells_of(slide_axis, slide_axis == 2 ? round_up(along, c.piece) : along));
  if (c.rank > 1) t.slide += round_up(std::max(c.stage.low[2], c.stage.high[2]), c.piece);
  if (c.rank > 2) t.slide += int(cells_of(1, std::max(c.stage.low[1], c.stage.high[1])));
  // Read, never used: what lies beyond an axis without rings, a piece beyond an end of a row, and what units
  // of up to 4 cells read that hang over the end of the slide axis.
  std::int64_t before = round_up(std::max(c.stage.low[2], c.stage.high[2]), c.piece), after = before;
  for (std::size_t a = 0; a < 2; ++a) {
    before += cells_of(a, std::max(0, c.stage.low[a] - t.ring_low[a]));
    after += cells_of(a, std::max(0, c.stage.high[a] - t.ring_high[a]));
  }
  const bool always_alike = c.stages == 1 && t.depth <= 1; // sweeps cover the tile and no more
  const int over = always_alike ? round_up(t.size[slide_axis], c.unit) - t.size[slide_axis] : 3;
  if (c.rank > 1) after += cells_of(slide_axis, over);
  const std::int64_t cells = before + plane * t.held[0] + t.slide + after;
  std::int64_t inner = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const bool both = t.held[a] >= extents[a]; // one tile may touch both faces
    const int faces = periodic[a] ? 0
                      : both      ? c.stage.low[a] + c.stage.high[a]
                                  : std::max(c.stage.low[a], c.stage.high[a]);
    inner *= std::max(0, t.held[a] - faces);
  }
  if (cells * c.fields * c.value_bytes > shared_limit) return false;
  t.guard = int(before);
  t.array_cells = int(cells);
  t.face_cells = folds ? int(plane * t.held[0] - inner) : 0;
  if (t.shared_bytes(c) > shared_limit) return false;

  int unread = 1; // pieces that no other block reads; a last piece of a row may be read in part
  for (std::size_t a = 0; a < 3; ++a) {
    const int n = t.size[a] - t.ring_low[a] - t.ring_high[a];
    unread *= std::max(0, a == 2 ? n / c.piece - 1 : n);
  }
  t.exchanged = t.held[0] * t.held[1] * (t.held[2] / c.piece + 1) - unread;
  return sweep_of(t, c, c.stages == 1 ? t.depth - 1 : t.depth).cross <= resident_threads;
}

} // namespace detail

/// Bytes per second that a multiprocessor moves from and to L2.
inline double l2_bytes_per_second(const device_facts& device) {
  return 24 * (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
}

/// Bytes per second that launches move from and to memory. Measured on an H200: 75% of the peak in rank 1 and
/// 2, 57% in rank 3.
inline double memory_bytes_per_second(int rank, const device_facts& device) {
  return (rank == 3 ? 0.57 : 0.75) * (device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12);
}

namespace detail {

/// Estimated seconds of a step's sweeps when the ring must last for `steps` more: a third of the issue slots,
/// and two block barriers per band.
inline double sweep_seconds(const tiling& t, const stencil_costs& c, int steps, const device_facts& device) {
  constexpr double band_seconds = 0.1e-6;
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  const double unit_seconds =
      (arithmetic_slots(c, device) + 10 * c.writes) * c.unit * c.piece / (clock * 4 * 32 * 0.34);
  return sweep_of(t, c, steps).bands() * (resident_threads * unit_seconds + c.stages * band_seconds);
}

} // namespace detail

/// The tiling of least predicted time, one tile per multiprocessor.
/// \param part the first cells along the slowest axis that go into tiles
/// \param depths to choose from
/// \param folds whether accesses may cross a face that is neither fixed nor periodic
/// \param shared_limit bytes of shared memory that one block may use
inline tiling_choice choose_tiling(const stencil_costs& c, const std::array<index, 3>& extents, index part,
                                   std::initializer_list<int> depths, const std::array<bool, 3>& periodic,
                                   bool folds, const device_facts& device, std::int64_t shared_limit) {
  tiling_choice best;
  best.refusal = "the fields do not fit into the shared memory of " + std::to_string(device.sm_count) +
                 " multiprocessors";
  std::array<index, 3> n = extents;
  n[std::size_t(3 - c.rank)] = part;
  constexpr index longest = 1 << 30;
  if (n[0] > longest || n[1] > longest || n[2] > longest) return best;
  const double total = double(n[0]) * double(n[1]) * double(n[2]);
  if (total * c.fields * c.value_bytes > double(shared_limit) * device.sm_count) return best;
  // An estimate: an exchange costs a grid barrier and the way of its pieces to L2 and back.
  constexpr double exchange_seconds = 2e-6;
  for (int depth : depths)
    for (int cz = 1; cz <= (c.rank == 3 ? device.sm_count : 1) && cz <= n[0]; ++cz)
      for (int cy = 1; cy * cz <= device.sm_count && cy <= n[1]; ++cy) {
        const int cx_limit = device.sm_count / (cz * cy);
        for (int cx = 1; cx <= cx_limit; ++cx) {
          tiling t;
          t.depth = depth;
          t.size = {int((n[0] + cz - 1) / cz), int((n[1] + cy - 1) / cy),
                    detail::round_up(int((n[2] + cx - 1) / cx), c.piece)};
          for (std::size_t a = 0; a < 3; ++a) {
            t.cells[a] = int(n[a]);
            t.count[a] = int((n[a] + t.size[a] - 1) / t.size[a]);
          }
          if (!detail::complete(t, c, extents, periodic, folds, shared_limit)) continue;
          const bool alone = t.blocks() == 1 && part == extents[std::size_t(3 - c.rank)];
          const double exchange =
              alone ? 0 : exchange_seconds + 16.0 * t.exchanged * c.targets / l2_bytes_per_second(device);
          const double exchanges = depth == 0 ? c.stages : 1.0 / depth;
          const double seconds = detail::sweep_seconds(t, c, (depth - 1) / 2, device) + exchanges * exchange;
          if (best.refusal.empty() && seconds >= best.seconds_per_step) continue;
          best = {t, seconds, ""};
        }
      }
  return best;
}

/// The same for the whole grid.
inline tiling_choice choose_tiling(const stencil_costs& c, const std::array<index, 3>& extents,
                                   const std::array<bool, 3>& periodic, bool folds,
                                   const device_facts& device, std::int64_t shared_limit,
                                   int only_depth = 0) {
  const index all = extents[std::size_t(3 - c.rank)];
  return only_depth > 0
             ? choose_tiling(c, extents, all, {only_depth}, periodic, folds, device, shared_limit)
             : choose_tiling(c, extents, all, {1, 2, 4, 8, 16}, periodic, folds, device, shared_limit);
}

/// As much of the grid along its slowest axis as fits, but at most three quarters: the rest streams.
inline tiling_choice choose_partial_tiling(const stencil_costs& c, const std::array<index, 3>& extents,
                                           const std::array<bool, 3>& periodic, bool folds,
                                           const device_facts& device, std::int64_t shared_limit) {
  const index n = extents[std::size_t(3 - c.rank)], unit = c.rank == 1 ? c.piece : 1;
  const auto tiles = [&](index units) {
    return choose_tiling(c, extents, units * unit, {0}, periodic, folds, device, shared_limit);
  };
  tiling_choice best;
  if (n <= unit) {
    best.refusal = c.rank == 1 ? "the grid is a single piece of 16 bytes: there is nothing to split"
                               : "the grid has one cell along its slowest axis: there is nothing to split";
    return best;
  }
  best.refusal = "not even one row or plane of the fields fits into shared memory";
  index fits = 0, too_many = std::max<index>(1, (n - (n + 3) / 4) / unit) + 1;
  for (index units = too_many - 1; units > fits; units = (fits + too_many) / 2) {
    const auto choice = tiles(units);
    if (choice.refusal.empty())
      best = choice, fits = units;
    else
      too_many = units;
  }
  return best;
}

namespace detail {

/// Sizes of tiles along an axis of n cells: about 4 to 1024, all tiles of about the same size, and n.
inline std::vector<int> tile_sizes(index n, int unit) {
  std::vector<int> sizes{int(n)};
  for (const int about : {1024, 768, 512, 384, 256, 192, 128, 96, 64, 48, 32, 16, 8, 4}) {
    const index count = (n + about - 1) / about;
    const int size = round_up(int((n + count - 1) / count), unit);
    if (size < sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

/// Tiles of temporal of a size, the last ones of an axis cut off. None when they do not fit.
inline std::optional<tiling> divide(const std::array<int, 3>& size, int depth, const stencil_costs& c,
                                    const std::array<index, 3>& n, const std::array<bool, 3>& periodic,
                                    bool folds, const device_facts& device, std::int64_t shared_limit) {
  tiling t;
  t.depth = depth;
  t.most_blocks = std::max(1, device.sm_count);
  double cells = 1, tiles = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    t.cells[a] = int(n[a]);
    t.size[a] = round_up(size[a], a == 2 ? c.piece : 1);
    t.count[a] = int((n[a] + t.size[a] - 1) / t.size[a]);
    cells *= t.size[a];
    tiles *= t.count[a];
  }
  constexpr double most_tiles = 1e9; // kernels count them in 32 bits
  if (cells * c.fields * c.value_bytes > double(shared_limit) || tiles > most_tiles ||
      !complete(t, c, n, periodic, folds, shared_limit))
    return std::nullopt;
  t.exchanged = 0;
  // A ring may reach beyond the next tile; on a periodic axis it comes back on the other side.
  bool everything = false;
  for (std::size_t a = 0; a < 3; ++a) {
    if (t.count[a] == 1) continue;
    everything = everything || periodic[a];
    const int ring = std::max(t.ring_low[a], t.ring_high[a]);
    const std::int64_t next = std::min(t.count[a] - 1, (ring + t.size[a] - 1) / t.size[a]);
    const std::int64_t stride = a == 2 ? 1 : a == 1 ? t.count[2] : std::int64_t(t.count[1]) * t.count[2];
    t.overlaps = int(std::min<std::int64_t>(t.tiles(), t.overlaps + next * stride));
  }
  if (everything) t.overlaps = int(t.tiles());
  return t;
}

} // namespace detail

/// Tiles of temporal: as many as it takes, dealt to one block per multiprocessor. Of the sizes that are
/// looked at, along the slowest axis as many cells as fit or as the blocks' last round leaves, those of least
/// predicted time.
/// \param steps of the run: passes are not longer
/// \param only_depth steps of a pass; 0: from 1 to 16
inline tiling_choice choose_temporal_tiling(const stencil_costs& c, const std::array<index, 3>& n,
                                            const std::array<bool, 3>& periodic, bool folds,
                                            const device_facts& device, std::int64_t shared_limit,
                                            index steps, int only_depth = 0) {
  tiling_choice best;
  constexpr index longest = std::numeric_limits<int>::max() - (1 << 18); // rings may go on beyond it
  if (n[0] > longest || n[1] > longest || n[2] > longest) {
    best.refusal = "an axis has more than 2^31 - 2^18 cells";
    return best;
  }
  best.refusal = only_depth > 1 ? "a tile with its ring for " + std::to_string(only_depth) +
                                      " steps does not fit into shared memory"
                                : "not even a tile of a few cells with its ring fits into shared memory";
  const std::size_t slowest = std::size_t(3 - c.rank);
  const double memory = memory_bytes_per_second(c.rank, device), l2 = l2_bytes_per_second(device);
  best.from_l2 = double(n[0]) * double(n[1]) * double(n[2]) * c.value_bytes * (c.fields + c.targets) <=
                 0.8 * double(device.l2_bytes);
  const auto take = [&](const std::optional<tiling>& t) {
    if (!t) return;
    const double held = double(t->held[0]) * t->held[1] * t->held[2] * c.value_bytes;
    const double owned = double(t->size[0]) * t->size[1] * t->size[2] * c.value_bytes;
    // Estimates: rings come from L2; a tile costs a trip to memory, and one more to show that it is written.
    constexpr double trips_seconds = 3e-6;
    const double share = best.from_l2 ? l2 : std::min(l2, memory / t->blocks());
    const double streaming =
        trips_seconds + std::max(held / l2, owned / share) * c.fields + owned / share * c.targets;
    const double sweeps = t->depth * detail::sweep_seconds(*t, c, (t->depth - 1) / 2, device);
    const double rounds = double((t->tiles() + t->blocks() - 1) / t->blocks());
    const double seconds = rounds * (streaming + sweeps) / t->depth;
    if (best.refusal.empty() && seconds >= best.seconds_per_step) return;
    best.tiles = *t;
    best.seconds_per_step = seconds;
    best.streaming_seconds = rounds * streaming / t->depth;
    best.refusal.clear();
  };
  const std::vector<int> one{1}, along_x = c.rank > 1 ? detail::tile_sizes(n[2], c.piece) : one,
                                 along_y = c.rank > 2 ? detail::tile_sizes(n[1], 1) : one;
  const int unit = c.rank == 1 ? c.piece : 1;
  for (int depth : {1, 2, 3, 4, 6, 8, 12, 16}) {
    if (depth > (only_depth > 0 ? 1 : std::max<index>(1, steps))) break;
    if (only_depth > 0) depth = only_depth;
    for (const int y : along_y)
      for (const int x : along_x) {
        std::array<int, 3> size{1, y, x};
        const auto divided = [&](index along) {
          size[slowest] = int(along);
          return detail::divide(size, depth, c, n, periodic, folds, device, shared_limit);
        };
        // As many cells as fit along the slowest axis: shared memory grows by the same for each.
        index most = n[slowest];
        auto large = divided(most);
        if (!large && (large = divided(unit)))
          if (const auto twice = divided(2 * unit)) {
            const std::int64_t first = large->shared_bytes(c), each = twice->shared_bytes(c) - first;
            most = std::min(most, unit * (1 + (shared_limit - first) / std::max<std::int64_t>(1, each)));
            for (large = divided(most); !large; large = divided(most))
              most -= std::max<index>(unit, most / 16);
          }
        if (!large) continue;
        take(large);
        // Smaller ones that the blocks' last round leaves time for.
        const index count = large->count[slowest], beside = large->tiles() / count;
        const index rounds = (large->tiles() + large->most_blocks - 1) / large->most_blocks;
        const index more = std::min(n[slowest], rounds * large->most_blocks / beside);
        for (const index along : {more, (count + more) / 2})
          if (along > count) take(divided((n[slowest] + along - 1) / along));
      }
  }
  return best;
}

} // namespace stet::cuda
