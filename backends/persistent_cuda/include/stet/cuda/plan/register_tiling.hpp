#pragma once
#include <algorithm>
#include <array>
#include <stet/boundary.hpp>
#include <stet/cuda/plan/tiling.hpp>
#include <string>
#include <vector>

/// How a plane is divided among blocks whose cells are in registers. Host only but for constexpr functions.
namespace stet::cuda {

/// Warps of a block, one below the other; 256 threads leave 255 registers for each.
inline constexpr int strip_warps = 8;

/// Tiles along one axis. Each holds `held` cells: those that it owns, and rings that its neighbours own.
///
///     tile 0   |-----owned-----|-ring-|
///     tile 1            |-ring-|---owned---|-ring-|
///     tile 2                        |-ring-|-----owned-----|
///
/// Beyond faces that are not periodic there are no rings: the first tile starts at `lo`, the last ends at
/// `hi`.
struct axis_tiling {
  int n = 0;          ///< cells of the grid
  int lo = 0, hi = 0; ///< what the tiles cover
  int held = 0, ring = 0, count = 1;
  int unit = 1; ///< positions are multiples of it
  bool periodic = false;

  STET_INLINE constexpr int owned() const { // periodic: by each tile but the last
    return (n + count * unit - 1) / (count * unit) * unit;
  }
  /// The first cell that a tile holds.
  STET_INLINE constexpr int begin(int tile) const {
    if (periodic) return tile * owned() - ring;
    if (count == 1) return lo;
    if (tile == count - 1) return hi - held;
    return lo + int(index(hi - held - lo) * tile / (count - 1)) / unit * unit;
  }
  /// The first cell that a tile owns, and the first that the next one does.
  STET_INLINE constexpr int own_begin(int tile) const {
    return tile == 0 ? 0 : tile == count ? n : begin(tile) + ring;
  }
  /// Cells before this one, or from `shared_end` on, are in rings of other tiles.
  STET_INLINE constexpr int shared_begin(int tile) const {
    if (tile > 0) return begin(tile - 1) + held;
    return periodic ? begin(count - 1) + held - n : 0;
  }
  STET_INLINE constexpr int shared_end(int tile) const {
    if (tile < count - 1) return begin(tile + 1);
    return periodic ? n - ring : n;
  }
  /// Tile numbers beyond the ends, where the axis is periodic.
  STET_INLINE constexpr int wrapped(int tile) const {
    return tile < 0 ? tile + count : tile >= count ? tile - count : tile;
  }
  /// How many cells before `tile` its neighbour on a side (−1, 0, 1) begins.
  STET_INLINE constexpr int distance(int tile, int side) const {
    const int next = tile + side;
    return begin(tile) - begin(wrapped(next)) + (next < 0 ? n : next >= count ? -n : 0);
  }
  /// Whether every cell is owned by a tile that keeps it right for as long as rings last.
  /// Rings reach no further than the next tile.
  constexpr bool covers() const {
    if (periodic)
      return owned() + 2 * ring <= held && (count - 1) * owned() + ring <= n && held - ring <= n &&
             begin(count - 1) + held <= 2 * n &&
             (count == 1 || (held <= 2 * owned() + ring && begin(count - 1) + held <= n + owned()));
    if (count == 1) return held >= hi - lo;
    if (hi - lo < held) return false;
    for (int i = 1; i < count; ++i) {
      if (begin(i) - begin(i - 1) > held - 2 * ring || begin(i) - begin(i - 1) < ring) return false;
      if (i > 1 && (begin(i - 2) + held > own_begin(i) || begin(i) < own_begin(i - 1))) return false;
    }
    return true;
  }
};

/// Tiles of a plane. A block holds 32 lanes' cells by strip_warps strips of rows.
struct register_tiling {
  axis_tiling y, x;
  int depth = 2;     ///< steps between exchanges; even where sweeps alternate
  int registers = 0; ///< rows of a strip in registers
  int in_shared = 0; ///< rows of a strip in shared memory
  int in_memory = 0; ///< rows of a strip that stream at every step; they come first
  STET_INLINE constexpr int blocks() const { return y.count * x.count; }
  constexpr int rows() const { return registers + in_shared + in_memory; } ///< of a strip
  /// Cells of all fields that blocks show each other at an exchange.
  STET_INLINE constexpr index exchange_cells(int fields) const {
    return index(blocks()) * fields * y.held * x.held;
  }
  /// Cells of all fields in rows that stream.
  STET_INLINE constexpr index streamed_cells(int fields) const {
    return index(blocks()) * strip_warps * fields * in_memory * x.held;
  }
};

struct register_tiling_choice {
  register_tiling tiles;
  double seconds_per_step = 0;
  std::string refusal;          ///< empty when `tiles` can be used
  bool from_l2 = false;         ///< rows in memory come from L2
  double streaming_seconds = 0; ///< of a step, that their way takes
};

namespace detail {

/// What of a stencil shapes a strip.
template <class S> struct strip_reach {
  static constexpr int up_of(int field) { return reach_into(step_program<S>::value, 0, field).low[1]; }
  static constexpr int down_of(int field) { return reach_into(step_program<S>::value, 0, field).high[1]; }
  static constexpr reach all = reach_of(step_program<S>::value, 0, field_count<S>);
  static constexpr int up = all.low[1], down = all.high[1]; ///< rows above and below
  static constexpr auto rows = rows_of(step_program<S>::value, 0);
  static constexpr int margin(int field, bool own) {
    int m = 0;
    for (int i = 0; i < rows.count; ++i)
      if (rows.items[i].field == field && (rows.items[i].dy == 0) == own) {
        m = rows.items[i].low > m ? rows.items[i].low : m;
        m = rows.items[i].high > m ? rows.items[i].high : m;
      }
    return m;
  }
  /// Cells of a field that are needed beside a piece in the row itself, and in the others.
  static constexpr int centre(int field) { return margin(field, true); }
  static constexpr int beside(int field) { return margin(field, false); }
  /// Rows before its first use at which a row enters a sweep's window: shuffles take a while.
  static constexpr int early = [] {
    for (int f = 0; f < field_count<S>; ++f)
      if (beside(f) > 0) return 1;
    return 0;
  }();
  static constexpr int window = up + down + 1 + early;
  /// Whether sweeps down and up alternate, which saves a move per cell, or all go down, which halves the code
  /// and, in double, leaves more registers for cells.
  template <class Real>
  static constexpr bool alternate = sizeof(Real) == 4 && early == 0 && flops(step_program<S>::value, 0) <= 17;
  static constexpr int widest = all.low[2] > all.high[2] ? all.low[2] : all.high[2];
};

/// Where in shared memory the ends of a block's strips begin that belong to a field, in rows; and their
/// number.
template <class S> constexpr int strip_ends_at(int field) {
  int rows = 0;
  for (int f = 0; f < field; ++f)
    rows += (strip_warps + 1) * (strip_reach<S>::up_of(f) + strip_reach<S>::down_of(f));
  return rows;
}
template <class S> constexpr int strip_ends() { return strip_ends_at<S>(field_count<S>); }

} // namespace detail

/// Whether strips can hold a stencil at all.
template <class S> inline constexpr bool has_strips = rank_of<S> == 2 && stage_count<S> == 1;

/// Strips of one stencil. All zero: there are none.
struct strip_shape {
  std::array<int, 3> registers{}; ///< rows in registers for which there are kernels
  int cells = 0;                  ///< of a lane in a row
  bool alternate = true;          ///< depths are even
  int row_instructions = 0;       ///< of a sweep, about
  int fields = 0, row_bytes = 0;
  int window = 0; ///< rows in shared memory, and in memory, are multiples of it
  int behind = 0; ///< slots behind them, for copies of rows in registers
  int ahead = 0;  ///< slots through which rows in memory come
  int ends = 0;   ///< rows that the ends of all strips take

  /// The first of the kernels with so many rows in registers.
  constexpr int first_with(int rows) const {
    int i = 0;
    while (registers[std::size_t(i)] != rows) ++i;
    return i;
  }
  /// Rows that the slots of a strip take.
  STET_INLINE constexpr int slots(int in_memory, int in_shared) const {
    return fields * ((in_memory + in_shared > 0 ? in_shared + behind : 0) + (in_memory > 0 ? ahead : 0));
  }
  constexpr std::int64_t shared_bytes(int in_memory, int in_shared) const {
    return std::int64_t(ends + strip_warps * slots(in_memory, in_shared)) * row_bytes;
  }
};

template <class S, class Real> constexpr strip_shape strip_shape_of() {
  strip_shape s;
  if constexpr (has_strips<S>) {
    using around = detail::strip_reach<S>;
    // Two pieces for double, so that shuffles and rings do not dominate.
    constexpr int cells = 4, words = int(sizeof(Real)) / 4;
    s.cells = cells;
    s.alternate = around::template alternate<Real>;
    s.fields = field_count<S>;
    s.window = around::window;
    s.behind = around::down + around::early;
    s.ends = detail::strip_ends<S>();
    s.row_bytes = 32 * cells * int(sizeof(Real));
    // 32 KB are under way: what a multiprocessor takes from L2 in the time that a load takes.
    s.ahead = 2;
    while (s.ahead <= around::up + around::early ||
           s.ahead * strip_warps * s.fields * s.row_bytes < 32 * 1024)
      s.ahead *= 2;
    int sides = 0; // of the window, in registers
    for (int f = 0; f < s.fields; ++f) sides += 2 * around::beside(f) * s.window * words;
    // Beside its rows a sweep of a 5-point star takes 85 registers, 108 in double.
    const int most = (255 - (words == 2 ? 108 : 85) - sides) / (cells * words) / s.fields;
    const int least = std::max(around::up, around::down) + around::early;
    // The instruction cache: 32 KB hold this many rows of a sweep.
    s.row_instructions = cells * (flops(step_program<S>::value, 0) + 1) / 2 + 2 * around::widest * words;
    const int cached = 32 * 1024 / 16 / s.row_instructions - s.window;
    s.registers = {std::min(6, most), std::min(most / 2, std::max(cached, most / 3)), most};
    for (int& r : s.registers) r = std::max(r, least);
  }
  return s;
}

/// The tiling of least predicted time.
/// \param active_rows first and last + 1 that are updated
/// \param shared whether strips may go on in shared memory when registers end
/// \param streams whether they go on in memory when that ends: at least `window` rows of each do
/// \param only_depth 0: the best
inline register_tiling_choice choose_register_tiling(const stencil_costs& c, const strip_shape& s,
                                                     const std::array<index, 3>& extents,
                                                     const std::array<index, 2>& active_rows, bool periodic_y,
                                                     bool periodic_x, const device_facts& device, bool shared,
                                                     bool streams, int only_depth) {
  register_tiling_choice best;
  best.refusal =
      streams  ? "the grid is smaller than a tile, or has too many columns for one tile per multiprocessor"
      : shared ? "the field does not fit into registers and shared memory, or is smaller than a tile"
               : "the field does not fit into registers, or is smaller than a tile";
  if (extents[1] > (1 << 30) || extents[2] > (1 << 30)) return best;
  if (periodic_x && extents[2] % s.cells != 0) {
    best.refusal = "a periodic row is not a multiple of " + std::to_string(s.cells) + " cells";
    return best;
  }
  const int reach_y = std::max(c.step.low[1], c.step.high[1]);
  const int reach_x = std::max(c.step.low[2], c.step.high[2]);
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  if (only_depth % 2 == 1 && s.alternate) {
    best.refusal = "sweeps come in pairs, down and up: the depth must be even";
    return best;
  }
  const std::vector<int> depths =
      only_depth > 0 ? std::vector{only_depth} : std::vector{1, 2, 4, 6, 8, 12, 16};
  for (const int depth : depths) {
    if (depth % 2 == 1 && s.alternate) continue;
    axis_tiling x{int(extents[2]),
                  0,
                  detail::round_up(int(extents[2]), s.cells),
                  32 * s.cells,
                  detail::round_up(depth * reach_x, s.cells),
                  1,
                  s.cells,
                  periodic_x};
    while (x.count <= device.sm_count && !x.covers()) ++x.count;
    for (int cy = 1; cy * x.count <= device.sm_count; ++cy)
      for (const int registers : s.registers) {
        register_tiling t{{}, x, depth, registers, 0, streams ? s.window : 0};
        // The kernel has some shared memory beside, for what it knows of its exchanges.
        const auto fits = [&](int in_shared) {
          return s.shared_bytes(t.in_memory, in_shared) <= device.shared_per_block_optin - 1024;
        };
        const auto covers = [&] {
          t.y = {int(extents[1]),
                 int(active_rows[0]),
                 int(active_rows[1]),
                 strip_warps * t.rows(),
                 depth * reach_y,
                 cy,
                 1,
                 periodic_y};
          return t.y.covers() && (cy > 1 || periodic_y || t.y.held == active_rows[1] - active_rows[0]);
        };
        if (!fits(0)) continue;
        while (!covers())
          if (shared && fits(t.in_shared + s.window))
            t.in_shared += s.window;
          else if (streams && t.y.held < extents[1] + 2 * t.y.ring)
            t.in_memory += s.window;
          else
            break;
        if (!covers()) continue;
        // Fitted to an H200: a row in shared memory takes as long as 11 more instructions; 80% of the issue
        // slots are used, less when the code of the sweeps exceeds 40 KB; an exchange takes 4.2 µs.
        // An estimate: the instructions of rows in memory hide behind their way.
        const double shared_row = 1 + 11.0 / s.row_instructions, rows = registers + shared_row * t.in_shared;
        const double instructions =
            s.cells * strip_warps / 4 * (arithmetic_slots(c, device) + 1.0 * c.fields); // of a row
        const double code = 16.0 * s.row_instructions * (registers + s.window) * (s.alternate ? 2 : 1);
        const double used = 0.8 * std::min(1.0, std::sqrt(40960 / code));
        const double row_seconds = instructions / used / clock;
        const double streamed = double(t.streamed_cells(1)) * c.value_bytes;
        const bool from_l2 = streamed * c.fields <= 0.8 * double(device.l2_bytes);
        const double streaming = streamed * (c.fields + c.targets) /
                                 (from_l2 ? l2_bytes_per_second(device) * t.blocks()
                                          : 0.8 * memory_bytes_per_second(c.rank, device));
        const double seconds = rows * row_seconds +
                               std::max(streaming, shared_row * t.in_memory * row_seconds) + 0.1e-6 +
                               (t.blocks() == 1 ? 0 : 4.2e-6 / depth);
        if (best.refusal.empty() && seconds >= best.seconds_per_step) continue;
        best = {t, seconds, "", streams && from_l2, streaming};
      }
  }
  return best;
}

} // namespace stet::cuda
