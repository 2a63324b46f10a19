#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/plan/register_tiling.hpp>
#include <string>

/// How the strategy temporal divides a grid of rank 3, whose planes stream along z with several time levels
/// under way. Host only but for constexpr functions.
namespace stet::cuda {

/// How the kernel of one stencil and precision is made. depth = 0: there is none.
///
///     strip 0   row 0           |piece of lane 0|piece of lane 1| ... |piece of the last lane|
///               ...
///               row height − 1
///     strip 1   row 0
///     ...
struct plane_shape {
  int depth = 0; ///< levels: steps of a pass at most
  int warps = 0;
  int lanes = 32;     ///< of a strip: a warp has one, or several one below the other
  int height = 0;     ///< rows of a strip in a plane
  int piece = 0;      ///< cells of a lane in a row
  int ahead = 0;      ///< planes under way from memory
  bool turns = false; ///< the loop over planes is unrolled so that no plane changes its registers
  int row_bytes = 0, shared_rows = 0; ///< of a block's shared memory
  reach around;                       ///< of a step
  double instructions = 0;            ///< per cell and level, about
  double cost = 0;                    ///< of a cell and step, in instructions
  constexpr int width() const { return lanes * piece; }
  constexpr int strips() const { return warps * (32 / lanes); }
  constexpr int rows() const { return strips() * height; }
  constexpr int threads() const { return 32 * warps; }
  constexpr std::int64_t shared_bytes() const { return std::int64_t(shared_rows) * row_bytes; }
  /// Iterations beside one per plane that a block owns: until the last level has caught up.
  constexpr int warm_up() const { return (depth - 1) * (around.low[0] + around.high[0] + 1); }
};

/// The tiles of a pass: columns of planes, cut along z.
struct plane_tiling {
  axis_tiling y, x;
  int cuts = 1;  ///< pieces along z
  int depth = 1; ///< steps of a pass, at most
  int blocks = 1;
  int overlap = 0; ///< tiles overlap no others but those whose numbers differ by so much
  STET_INLINE constexpr int tiles() const { return cuts * y.count * x.count; }
  STET_INLINE constexpr int rounds() const { return (tiles() + blocks - 1) / blocks; } ///< of a pass
  /// The first plane of a piece, and of the next one.
  STET_INLINE constexpr int own_begin(int cut, int planes) const { return int(index(planes) * cut / cuts); }
};

struct plane_tiling_choice {
  plane_tiling tiles;
  double seconds_per_step = 0;
  double memory_seconds = 0; ///< of a step, that memory takes
  std::string refusal;       ///< empty when `tiles` can be used
};

namespace detail {

/// Planes of a field that a step reads, seen from the updated cell: rows dy and cells dx of them.
struct read_plane {
  int field = 0, dz = 0, above = 0, below = 0;
};

template <int Capacity> struct plane_list {
  std::array<read_plane, std::size_t(Capacity)> items{};
  int count = 0;
  constexpr int find(int field, int dz) const {
    for (int i = 0; i < count; ++i)
      if (items[std::size_t(i)].field == field && items[std::size_t(i)].dz == dz) return i;
    return -1;
  }
};

/// What of a stencil shapes a stream of planes.
template <class S> struct plane_reach {
  static constexpr int fields = field_count<S>, assigned = assigned_count<S>;
  static constexpr auto rows = rows_of(step_program<S>::value, 0);
  static constexpr reach all = reach_of(step_program<S>::value, 0, fields);
  static constexpr reach of(int field) { return reach_into(step_program<S>::value, 0, field); }
  static constexpr int up = all.low[0], down = all.high[0];
  static constexpr int skew = down + 1;        ///< planes between a level and the next
  static constexpr int window = up + down + 1; ///< planes of a level that the next may read
  /// Fields that are read, or keep values at the rim.
  static constexpr bool held(int field) {
    return field < assigned || reads_field(step_program<S>::value, 0, field);
  }

  /// All that are read, and those of the cell itself: the rim keeps its values.
  static constexpr auto planes = [] {
    plane_list<rows.count + assigned> l;
    for (int f = 0; f < assigned; ++f) l.items[std::size_t(l.count++)] = {f, 0, 0, 0};
    for (int i = 0; i < rows.count; ++i) {
      const row& r = rows.items[std::size_t(i)];
      int at = l.find(r.field, r.dz);
      if (at < 0) l.items[std::size_t(at = l.count++)] = {r.field, r.dz, 0, 0};
      read_plane& p = l.items[std::size_t(at)];
      p.above = std::max(p.above, -r.dy);
      p.below = std::max(p.below, r.dy);
    }
    return l;
  }();
  static constexpr int margin = rows.margin(), above = all.low[1], below = all.high[1];

  /// Whether row `at` of a plane is read by a strip of `height` rows, and how many cells beside its own.
  struct row_need {
    bool read = false;
    int low = 0, high = 0;
  };
  static constexpr row_need need(int plane, int at, int height) {
    row_need n;
    const read_plane p = planes.items[std::size_t(plane)];
    for (int i = 0; i < rows.count; ++i) {
      const row& r = rows.items[std::size_t(i)];
      if (r.field != p.field || r.dz != p.dz || at - r.dy < 0 || at - r.dy >= height) continue;
      n.read = true;
      n.low = std::max(n.low, r.low);
      n.high = std::max(n.high, r.high);
    }
    return n;
  }

  /// Planes in which assigned fields are read along y: from the first to the last.
  static constexpr int lateral(bool last) {
    int first_dz = 1 << 20, last_dz = -(1 << 20);
    for (int i = 0; i < planes.count; ++i) {
      const read_plane p = planes.items[std::size_t(i)];
      if (p.field >= assigned || p.above + p.below == 0) continue;
      first_dz = std::min(first_dz, p.dz);
      last_dz = std::max(last_dz, p.dz);
    }
    return last ? last_dz : first_dz;
  }
  /// Rows at the edges of a strip that those above and below read, of all assigned fields before `field`.
  static constexpr int edge_rows(int field) {
    int n = 0;
    for (int f = 0; f < std::min(field, assigned); ++f) n += of(f).low[1] + of(f).high[1];
    return n;
  }
  static constexpr bool has_edges = edge_rows(assigned) > 0;
  /// Edges are shown so many iterations after they have been computed: just in time.
  static constexpr int edges_late = has_edges ? skew - 1 - lateral(true) : 0;
  static constexpr int edge_slots = has_edges ? lateral(true) - lateral(false) + 2 : 0;

  /// Planes of a field in its ring; coefficients stay until the last level has read them.
  static constexpr int ring_planes(int field, int depth, int ahead) {
    if (!held(field)) return 0;
    const reach r = of(field);
    return r.low[0] + r.high[0] + 1 + ahead + (field < assigned ? 0 : skew * (depth - 1));
  }
  static constexpr int ring_planes_before(int field, int depth, int ahead) {
    int n = 0;
    for (int f = 0; f < field; ++f) n += ring_planes(f, depth, ahead);
    return n;
  }
  /// The first strip reads beyond its rows, too, and the last one: what it finds there nobody looks at.
  static constexpr int shared_rows(int depth, int strips, int height, int ahead) {
    return above + ring_planes_before(fields, depth, ahead) * strips * height +
           (depth - 1) * edge_slots * strips * edge_rows(assigned) + std::max(below, edge_rows(assigned));
  }

  /// Pieces per row of the planes that stay in registers from iteration to iteration, of a level.
  static constexpr int live_planes() {
    int n = 0;
    for (int f = 0; f < assigned; ++f) n += skew + of(f).low[0];
    return n;
  }
};

template <class S, class Real> constexpr int plane_registers(int depth, int height) {
  using around = plane_reach<S>;
  constexpr int words = int(sizeof(Real)) / 4;
  int working = 0;
  for (int i = 0; i < around::rows.count; ++i) {
    const row& r = around::rows.items[std::size_t(i)];
    working += 4 + (r.low + r.high) * words;
  }
  // As compiled by nvcc 13.0 without spills.
  const int beside = 40 + 12 * (around::fields - 1);
  return (depth - 1) * around::live_planes() * height * 4 + working + beside;
}

/// Shared memory of a block on the devices that kernels are made for, and registers of a thread.
inline constexpr std::int64_t plane_shared_limit = 227 * 1024;
constexpr int plane_register_limit(int warps) { return std::min(255, 65536 / (32 * warps) / 8 * 8); }

} // namespace detail

/// Whether planes can stream for a stencil at all: rank 3, one stage.
template <class S> inline constexpr bool streams_planes = rank_of<S> == 3 && stage_count<S> == 1;

/// The shape for so many levels, of those that registers and shared memory hold.
template <class S, class Real> constexpr plane_shape plane_shape_with(int depth) {
  plane_shape best;
  if constexpr (streams_planes<S>) {
    using around = detail::plane_reach<S>;
    constexpr int words = int(sizeof(Real)) / 4;
    const int piece = 4 / words;
    // Tiles of 64 columns in either precision: of those that are as good for large grids, these leave less
    // over in the common sizes.
    constexpr int lanes = words == 1 ? 16 : 32, row_bytes = lanes * 16;
    const double arithmetic = (flops(step_program<S>::value, 0) + around::assigned) * 0.5 * words;
    // 12 warps of 4 rows are what a probe found best in rank 3.
    for (const int warps : {12, 8, 16})
      for (const int height : {4, 3, 2, 6, 1}) {
        if (around::above > height || around::below > height) continue;
        if (detail::plane_registers<S, Real>(depth, height) > detail::plane_register_limit(warps)) continue;
        int ahead = 3;
        const auto bytes = [&] {
          return std::int64_t(around::shared_rows(depth, warps * 32 / lanes, height, ahead)) * row_bytes;
        };
        while (ahead > 1 && bytes() > detail::plane_shared_limit) --ahead;
        if (bytes() > detail::plane_shared_limit) continue;
        const int rows = warps * 32 / lanes * height,
                  right_rows = rows - depth * (around::above + around::below);
        const int ring = (depth * std::max(around::all.low[2], around::all.high[2]) + piece - 1) / piece;
        const int right_pieces = lanes - 2 * ring;
        if (right_rows <= 0 || right_pieces <= 0) continue;
        const double share = double(right_rows) / rows * right_pieces / lanes;
        const double instructions = arithmetic + 4.0 * around::assigned + 6.0 / height;
        // A byte takes as long as 6 instructions.
        const double memory = 6.0 * int(sizeof(Real)) * (around::fields + around::assigned) / depth;
        // Few warps, or a single plane under way, hide less of what they wait for.
        const double cost =
            std::max(instructions / share * (warps < 12 ? 1.25 : 1.0), memory) * (ahead < 2 ? 1.1 : 1.0);
        if (best.depth > 0 && cost >= best.cost) continue;
        best.cost = cost;
        best.depth = depth;
        best.warps = warps;
        best.lanes = lanes;
        best.height = height;
        best.piece = piece;
        best.ahead = ahead;
        best.row_bytes = row_bytes;
        best.shared_rows = around::shared_rows(depth, warps * 32 / lanes, height, ahead);
        best.around = around::all;
        best.instructions = instructions;
        // Moves, or code that leaves the instruction cache.
        const double body = instructions * depth * height * piece;
        const double moves = (depth - 1) * around::live_planes() * height * 4;
        best.turns = moves > 0.04 * body && body * around::window * 16 <= 48 * 1024;
      }
  }
  return best;
}

/// The shape for which there is a kernel.
template <class S, class Real> constexpr plane_shape plane_shape_of() {
  plane_shape best;
  for (int depth = 1; depth <= 4; ++depth) {
    const plane_shape s = plane_shape_with<S, Real>(depth);
    if (s.depth > 0 && (best.depth == 0 || s.cost < best.cost)) best = s;
  }
  return best;
}

/// Its levels; 0: there is none.
template <class S, class Real> inline constexpr int plane_depth = plane_shape_of<S, Real>().depth;

namespace detail {

/// As few tiles along an axis as cover it; count = 0 when none do.
inline axis_tiling tiles_along(int n, int held, int ring, int unit, bool periodic) {
  axis_tiling t{n, 0, round_up(n, unit), held, ring, 1, unit, periodic};
  const int owned = held - 2 * ring;
  if (owned < unit) return t.count = 0, t;
  const auto covers = [&] {
    if (periodic) return t.owned() <= owned && (t.count - 1) * t.owned() < n;
    if (t.count == 1) return t.hi <= held;
    if (t.hi <= held) return false;
    for (int i = 1; i < t.count; ++i) {
      const int apart = t.begin(i) - t.begin(i - 1);
      if (apart < unit || apart > owned) return false;
    }
    return true;
  };
  const int least = std::max(1, (n - (periodic ? 0 : 2 * ring)) / owned);
  for (t.count = least; t.count < least + 4; ++t.count)
    if (covers()) return t;
  return t.count = 0, t;
}
/// How far apart tiles are, in tiles, of which one holds cells that the other owns; along an axis that does
/// not wrap.
inline int apart(const axis_tiling& t) {
  int most = 0;
  for (int i = 0; i < t.count; ++i) {
    while (i + most + 1 < t.count && t.own_begin(i + most + 1) < t.begin(i) + t.held) ++most;
    while (i - most - 1 >= 0 && t.own_begin(i - most) > t.begin(i)) ++most;
  }
  return most;
}

} // namespace detail

/// The tiling of least predicted time.
/// \param wraps per axis: whether it is periodic
/// \param steps of the run: its last pass may take fewer than the others
/// \param only_depth 0: the best
inline plane_tiling_choice choose_plane_tiling(const stencil_costs& c, const plane_shape& s,
                                               const std::array<index, 3>& extents,
                                               const std::array<bool, 3>& wraps, index steps,
                                               const device_facts& device, int only_depth) {
  plane_tiling_choice best;
  const index row = detail::round_up(int(std::min<index>(extents[2], 1 << 30)), 128 / c.value_bytes);
  if (s.depth == 0)
    best.refusal = "planes stream for stencils of one stage whose reach a block's planes hold";
  else if (s.shared_bytes() > device.shared_per_block_optin)
    best.refusal = "a block needs " + std::to_string(s.shared_bytes()) +
                   " bytes of shared memory, the device has " + std::to_string(device.shared_per_block_optin);
  else if (only_depth > s.depth)
    best.refusal = "at most " + std::to_string(s.depth) + " steps of the stencil are under way in a pass";
  else if (std::max({extents[0], extents[1], extents[2]}) > (1 << 30) || row * extents[1] >= index(1) << 31)
    best.refusal = "a plane has 2^31 cells or more";
  else if (wraps[2] && extents[2] % s.piece != 0)
    best.refusal = "a periodic row is not a multiple of " + std::to_string(s.piece) + " cells";
  if (!best.refusal.empty()) return best;

  const int nz = int(extents[0]);
  plane_tiling t;
  t.depth = only_depth > 0 ? only_depth : s.depth;
  const auto ring = [&](std::size_t axis) {
    return s.depth * std::max(s.around.low[axis], s.around.high[axis]);
  };
  t.y = detail::tiles_along(int(extents[1]), s.rows(), ring(1), 1, wraps[1]);
  t.x =
      detail::tiles_along(int(extents[2]), s.width(), detail::round_up(ring(2), s.piece), s.piece, wraps[2]);
  best.refusal = "rings of the tiles leave no cells to own";
  if (t.y.count == 0 || t.x.count == 0) return best;

  const bool wrapped = wraps[0] || wraps[1] || wraps[2];
  const int apart_y = wrapped ? 0 : detail::apart(t.y), apart_x = wrapped ? 0 : detail::apart(t.x);
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  const double slots =
      s.instructions +
      (c.value_bytes == 8 ? std::max(0, device.single_to_double_ratio - 2) * 0.55 * c.flops : 0.0);
  // An estimate: 60% of the issue slots.
  const double iteration = double(s.rows()) * s.width() * s.depth * slots / (128 * 0.6 * clock);
  const double peak = device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12;
  const double read = double(t.y.count) * s.rows() * t.x.count * s.width() * nz,
               cells = double(nz) * double(extents[1]) * double(extents[2]);
  // Most of what tiles read twice comes from L2.
  const double memory = c.value_bytes *
                        (c.fields * (cells + 0.3 * std::max(0.0, read - cells)) + c.targets * cells) /
                        (0.8 * peak);
  const double passes =
      double((std::max<index>(1, steps) + t.depth - 1) / t.depth) / double(std::max<index>(1, steps));
  for (t.cuts = 1; t.cuts <= std::min(nz, 64); ++t.cuts) {
    if (t.cuts > 1 && nz / t.cuts < std::max(1, ring(0))) break;
    t.blocks = std::min(device.sm_count, t.tiles());
    t.overlap = wrapped ? t.tiles() : ((t.cuts > 1 ? t.y.count : 0) + apart_y) * t.x.count + apart_x;
    const int longest = (nz + t.cuts - 1) / t.cuts + s.warm_up();
    const double pass = std::max(t.rounds() * (longest * iteration + 3e-6), memory) + 2e-6;
    if (!best.refusal.empty() || pass * passes < best.seconds_per_step) {
      best.tiles = t;
      best.refusal.clear();
      best.seconds_per_step = pass * passes;
      best.memory_seconds = memory * passes;
    }
  }
  return best;
}

} // namespace stet::cuda
