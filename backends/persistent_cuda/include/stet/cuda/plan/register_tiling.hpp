#pragma once
#include <algorithm>
#include <array>
#include <stet/boundary.hpp>
#include <stet/cuda/plan/tiling.hpp>
#include <string>
#include <vector>

/// How a plane is divided among blocks whose cells are in registers. Host only but for constexpr functions.
namespace stet::cuda {

/// Warps of a block of resident, one below the other; 256 threads leave 255 registers for each.
inline constexpr int strip_warps = 8;

/// Lanes at most that a block takes from one beside it, on either side.
inline constexpr int most_beside = 8;

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
  int stride = 0; ///< from tile to tile but the last; 0: evenly spread, which takes divisions

  STET_INLINE constexpr int owned() const { // periodic: by each tile but the last
    return stride > 0 ? stride : (n + count * unit - 1) / (count * unit) * unit;
  }
  /// The first cell that a tile holds.
  STET_INLINE constexpr int begin(int tile) const {
    if (periodic) return tile * owned() - ring;
    if (count == 1) return lo;
    if (stride > 0) return lo + (tile < count - 1 ? tile * stride : hi - held - lo);
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
  /// Whether no other tile lies before, or behind.
  STET_INLINE constexpr bool is_first(int tile) const { return tile == 0 && !periodic; }
  STET_INLINE constexpr bool is_last(int tile) const { return tile == count - 1 && !periodic; }
  /// Tile numbers beyond the ends, where the axis is periodic.
  STET_INLINE constexpr int wrapped(int tile) const {
    return tile < 0 ? tile + count : tile >= count ? tile - count : tile;
  }
  /// How many cells before `tile` its neighbour on a side (−1, 0, 1) begins.
  STET_INLINE constexpr int distance(int tile, int side) const {
    const int next = tile + side;
    return begin(tile) - begin(wrapped(next)) + (next < 0 ? n : next >= count ? -n : 0);
  }
  /// Whether no cell is in rings of both tiles beside its owner.
  constexpr bool parted() const {
    for (int i = 0; i < count; ++i)
      if (shared_begin(i) > shared_end(i)) return false;
    return true;
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

/// Tiles of a plane, or of a volume whose planes are the rows. A block holds 32 lanes' cells by its warps'
/// strips of rows.
struct register_tiling {
  axis_tiling y; ///< along the strips: y, in rank 3 z
  axis_tiling x;
  axis_tiling side;  ///< in rank 3 along y
  int row_cells = 0; ///< of a block, of one field
  int depth = 2;     ///< steps between exchanges, even where sweeps alternate; or of a pass
  int registers = 0; ///< rows of a strip in registers
  int in_shared = 0; ///< rows of a strip in shared memory
  int in_memory = 0; ///< rows of a strip that stream at every step; they come first
  STET_INLINE constexpr int blocks() const { return y.count * side.count * x.count; }
  STET_INLINE constexpr int number(int tile_y, int tile_side, int tile_x) const {
    return (tile_y * side.count + tile_side) * x.count + tile_x;
  }
  constexpr int rows() const { return registers + in_shared + in_memory; } ///< of a strip
  /// Cells of all fields that blocks show each other at an exchange.
  STET_INLINE constexpr index exchange_cells(int fields) const {
    return index(blocks()) * fields * y.held * row_cells;
  }
  /// Cells of all fields in rows that stream.
  STET_INLINE constexpr index streamed_cells(int fields) const {
    return index(blocks()) * strip_warps * fields * in_memory * row_cells;
  }
};

struct register_tiling_choice {
  register_tiling tiles;
  double seconds_per_step = 0;
  std::string refusal;          ///< empty when `tiles` can be used
  bool from_l2 = false;         ///< rows in memory come from L2
  double streaming_seconds = 0; ///< of a step, that their way takes
};

/// The axis along which strips run, row after row: in rank 3 rows are planes.
template <class S> inline constexpr int strip_axis = rank_of<S> == 3 ? 0 : 1;

/// Cells of a lane along x: in double two pieces, so that shuffles and rings do not dominate.
inline constexpr int lane_width = 4;

/// What a lane holds of a row, and how the lanes of a warp lie in it.
///
///     rank 2    |lane 0|lane 1| ... |lane 31|     4 cells each
///
///     rank 3    |lane 0 | lane 1| ... |lane 7 |   4 cells by `height` each
///               |lane 8 | lane 9| ... |lane 15|
///               ...
template <class S, class Real> struct lane_patch {
  static constexpr int width = lane_width;
  static constexpr int height =
      rank_of<S> == 3 ? std::max(1, (sizeof(Real) == 4 ? 5 : 2) / field_count<S>) : 1;
  static constexpr int cells = width * height;
  static constexpr int lanes_x = rank_of<S> == 3 ? 8 : 32, lanes_y = 32 / lanes_x;
};

namespace detail {

/// What of a stencil shapes a strip.
template <class S> struct strip_reach {
  static constexpr int axis = strip_axis<S>;
  static constexpr int up_of(int field) { return reach_into(step_program<S>::value, 0, field).low[axis]; }
  static constexpr int down_of(int field) { return reach_into(step_program<S>::value, 0, field).high[axis]; }
  static constexpr reach all = reach_of(step_program<S>::value, 0, field_count<S>);
  static constexpr int up = all.low[axis], down = all.high[axis]; ///< rows above and below
  static constexpr auto rows = rows_of(step_program<S>::value, 0);
  static constexpr bool in_own_row(const row& r) { return (axis == 0 ? r.dz : r.dy) == 0; }
  static constexpr int margin(int field, bool own) {
    int m = 0;
    for (int i = 0; i < rows.count; ++i)
      if (rows.items[i].field == field && in_own_row(rows.items[i]) == own) {
        m = rows.items[i].low > m ? rows.items[i].low : m;
        m = rows.items[i].high > m ? rows.items[i].high : m;
      }
    return m;
  }
  /// Cells of a field that are needed beside a piece in the row itself, and in the others.
  static constexpr int centre(int field) { return margin(field, true); }
  static constexpr int beside(int field) { return margin(field, false); }
  /// In rank 3, cells along y that are needed beside a lane's.
  static constexpr int lateral(int field) {
    const reach r = reach_into(step_program<S>::value, 0, field);
    return axis == 1 ? 0 : r.low[1] > r.high[1] ? r.low[1] : r.high[1];
  }
  /// Whether every access lies on one of the axes.
  static constexpr bool star = [] {
    for (int i = 0; i < rows.count; ++i) {
      const row& r = rows.items[i];
      if ((r.dz != 0) + (r.dy != 0) + (r.low > 0 || r.high > 0) > 1) return false;
    }
    return true;
  }();
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
  static constexpr bool alternate = axis == 1 && sizeof(Real) == 4 && early == 0 &&
                                    flops(step_program<S>::value, 0) <= 9;
  static constexpr int widest = all.low[2] > all.high[2] ? all.low[2] : all.high[2];
};

/// Where in shared memory the ends of a block's strips begin that belong to a field, in rows; and their
/// number.
template <class S, int Warps = strip_warps> constexpr int strip_ends_at(int field) {
  int rows = 0;
  for (int f = 0; f < field; ++f)
    rows += (Warps + 1) * (strip_reach<S>::up_of(f) + strip_reach<S>::down_of(f));
  return rows;
}
template <class S, int Warps = strip_warps> constexpr int strip_ends() {
  return strip_ends_at<S, Warps>(field_count<S>);
}

/// In rank 3: the cells beside a strip, which other blocks own. Of each field that is read along x or y: for
/// all rows those at low x, then those at high x, at low y, at high y.
template <class S, class Real> struct strip_frame {
  using around = strip_reach<S>;
  using patch = lane_patch<S, Real>;
  /// A side along x of a row: [distance − 1][row of a lane's][lane along y].
  static constexpr int beside(int field) {
    return rank_of<S> == 3 ? around::centre(field) * patch::height * patch::lanes_y : 0;
  }
  /// A side along y of a row: [distance − 1][x].
  static constexpr int beyond(int field) { return around::lateral(field) * patch::lanes_x * patch::width; }
  static constexpr int at(int field) {
    int cells = 0;
    for (int f = 0; f < field; ++f) cells += 2 * beside(f) + 2 * beyond(f);
    return cells;
  }
  static constexpr int cells = at(field_count<S>); ///< per row
};

} // namespace detail

/// Whether strips can hold a stencil at all: of one stage, in rank 2, or a star in rank 3 that reaches no
/// further than the next lane.
template <class S, class Real> constexpr bool strips_hold() {
  if constexpr (stage_count<S> == 1 && rank_of<S> == 3) {
    for (int f = 0; f < field_count<S>; ++f)
      if (detail::strip_reach<S>::centre(f) > lane_patch<S, Real>::width ||
          detail::strip_reach<S>::lateral(f) > lane_patch<S, Real>::height)
        return false;
    return detail::strip_reach<S>::star;
  }
  return stage_count<S> == 1 && rank_of<S> == 2;
}
template <class S, class Real> inline constexpr bool has_strips = strips_hold<S, Real>();

/// Strips of one stencil. All zero: there are none.
struct strip_shape {
  std::array<int, 2> registers{}; ///< rows in registers for which there are kernels
  int streaming = 0;              ///< the same, where other rows are in memory
  int temporal = 0;               ///< of the kernel of temporal, whose blocks have
  int warps = 0;                  ///< so many warps
  int rank = 0;
  int cells = 0;             ///< of a lane in a row
  int width = 0, height = 0; ///< of a block's row in cells along x and, in rank 3, y
  bool alternate = true;     ///< depths are even
  int row_instructions = 0;  ///< of a sweep, about
  int fields = 0, row_bytes = 0;
  int window = 0;      ///< rows in shared memory, and in memory, are multiples of it
  int behind = 0;      ///< slots behind them, for copies of rows in registers
  int ahead = 0;       ///< slots through which rows in memory come
  int ends = 0;        ///< rows that the ends of all strips take
  int frame_bytes = 0; ///< beside a row

  /// The first of the kernels with so many rows in registers.
  constexpr int first_with(int rows) const {
    int i = 0;
    while (registers[std::size_t(i)] != rows) ++i;
    return i;
  }
  STET_INLINE constexpr int frames_ahead() const { return 2 * ahead; }
  /// Rows that the slots of a strip take.
  STET_INLINE constexpr int slots(int in_memory, int in_shared) const {
    return fields * ((in_memory + in_shared > 0 ? in_shared + behind : 0) + (in_memory > 0 ? ahead : 0));
  }
  /// Of the blocks of temporal, whose strips are in registers, and on their way in shared memory.
  constexpr std::int64_t temporal_bytes() const {
    return std::int64_t(ends / (strip_warps + 1) * (warps + 1) + warps * fields * temporal) * row_bytes;
  }
  constexpr std::int64_t shared_bytes(const register_tiling& t) const {
    return std::int64_t(ends + strip_warps * slots(t.in_memory, t.in_shared)) * row_bytes +
           std::int64_t(strip_warps) * (t.rows() - t.in_memory + (t.in_memory > 0 ? frames_ahead() : 0)) *
               frame_bytes;
  }
};

template <class S, class Real> constexpr strip_shape strip_shape_of() {
  strip_shape s;
  if constexpr (has_strips<S, Real>) {
    using around = detail::strip_reach<S>;
    using patch = lane_patch<S, Real>;
    constexpr int cells = patch::cells, words = int(sizeof(Real)) / 4;
    s.rank = rank_of<S>;
    s.cells = cells;
    s.width = patch::lanes_x * patch::width;
    s.height = patch::lanes_y * patch::height;
    s.alternate = around::template alternate<Real>;
    s.fields = field_count<S>;
    s.window = around::window;
    s.behind = around::down + around::early;
    s.ends = detail::strip_ends<S>();
    s.row_bytes = 32 * cells * int(sizeof(Real));
    // So many KB are under way: what a multiprocessor takes from L2, or memory, in the time that a load
    // takes.
    const int under_way = s.rank == 3 ? 64 : 32;
    s.ahead = 2;
    while (s.ahead <= s.behind || s.ahead * strip_warps * s.fields * s.row_bytes < under_way * 1024)
      s.ahead *= 2;
    s.frame_bytes = detail::strip_frame<S, Real>::cells * int(sizeof(Real));
    int sides = 0, framed = 0; // of the window, in registers
    for (int f = 0; f < s.fields; ++f) {
      sides += 2 * around::beside(f) * s.window * words;
      framed += 2 * (around::centre(f) * patch::height + around::lateral(f) * patch::width) * words;
    }
    if (s.rank == 3) sides = framed + (around::up + 1) * cells * s.fields * words - 20;
    // What a sweep takes beside its rows, as compiled by nvcc 13.0 without spills.
    const int beside = s.rank == 3  ? (words == 2 ? 108 : 85)
                       : words == 2 ? 84
                                    : (sides > 0 ? 72 : 63) + 16 * (s.fields - 1);
    const int most = (255 - beside - sides) / (cells * words) / s.fields;
    const int least = std::max(around::up, around::down) + around::early;
    s.row_instructions = cells * (flops(step_program<S>::value, 0) + 1) / 2 + 2 * around::widest * words;
    if (s.rank == 3) s.row_instructions += 2 * framed + 2 * cells;
    // Sweeps whose code leaves the instruction cache are slow: rows in shared memory share theirs.
    const int cached = std::max(least, 26 * 1024 / 16 / s.row_instructions - s.window);
    const bool long_code = most * s.row_instructions * 16 > 48 * 1024;
    const int large = long_code ? std::min(most, cached) : most,
              small = s.rank == 3 ? most - 2 : std::min(6, large);
    const int spare = s.rank == 3 || long_code ? 0 : (words == 2 ? 2 : 6) / s.fields; // what streaming takes
    s.registers = {std::max(small, least), std::max(large, least)};
    s.streaming = std::max(large - spare, least);
    // More warps of shorter strips where the code would be long.
    const auto code = [&](int rows) { return 16 * s.row_instructions * (rows + s.window); };
    s.warps = words == 2 || code(most) <= 31 * 1024 ? strip_warps : 12;
    s.temporal = s.warps == strip_warps ? most : (164 - beside - sides) / (cells * words) / s.fields;
    while (s.temporal > least && (code(s.temporal) > 52 * 1024 || s.temporal_bytes() > 226 * 1024))
      --s.temporal;
    s.temporal = std::max(s.temporal, least);
  }
  return s;
}

namespace detail {

/// A tiling with its predicted time, fitted to an H200: a row in shared memory takes as long as 11 more
/// instructions; 80% of the issue slots are used, less when the code of the sweeps exceeds 40 KB; an exchange
/// takes 4.2 µs. Rows in memory get 65% of the bandwidth of L2, or of the memory; their instructions hide
/// behind.
inline register_tiling_choice priced(const register_tiling& t, const stencil_costs& c, const strip_shape& s,
                                     const device_facts& device) {
  register_tiling_choice choice;
  choice.tiles = t;
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  const double instructions =
      s.cells * strip_warps / 4 *
      (arithmetic_slots(c, device) + (s.rank == 3 ? 4.0 : 1.0) * c.fields); // of a row
  const bool twice = s.alternate && t.in_memory == 0;
  const double code = 16.0 * s.row_instructions * (t.registers + s.window) * (twice ? 2 : 1);
  const double used = 0.8 * std::min(1.0, std::sqrt(40960 / code));
  const double row = instructions / used / clock, shared_row = row * (1 + 11.0 / s.row_instructions);
  const double memory_peak = device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12;
  const double streamed = double(t.streamed_cells(1)) * c.value_bytes;
  choice.from_l2 = t.in_memory > 0 && streamed * c.fields <= 0.8 * double(device.l2_bytes);
  choice.streaming_seconds = streamed * (c.fields + c.targets) / 0.65 /
                             (choice.from_l2 ? l2_bytes_per_second(device) * t.blocks() : memory_peak);
  choice.seconds_per_step = row * t.registers + shared_row * t.in_shared +
                            std::max(choice.streaming_seconds, shared_row * t.in_memory) + 0.1e-6 +
                            (t.blocks() == 1 ? 0 : 4.2e-6 / t.depth);
  return choice;
}

} // namespace detail

/// The tiling of least predicted time.
/// \param active_rows first and last + 1 that are updated
/// \param wraps per axis: whether it is periodic
/// \param shared whether strips may go on in shared memory when registers end
/// \param streams whether they go on in memory when that ends: at least `window` rows of each do
/// \param only_depth 0: the best
inline register_tiling_choice
choose_register_tiling(const stencil_costs& c, const strip_shape& s, const std::array<index, 3>& extents,
                       const std::array<index, 2>& active_rows, const std::array<bool, 3>& wraps,
                       const device_facts& device, bool shared, bool streams, int only_depth) {
  register_tiling_choice best;
  const bool alternate = s.alternate && !streams;
  const std::string unfit =
      streams  ? "the grid is smaller than a tile, or has too many columns for one tile per multiprocessor"
      : shared ? "the field does not fit into registers and shared memory, or is smaller than a tile"
               : "the field does not fit into registers, or is smaller than a tile";
  best.refusal = unfit;
  if (*std::max_element(extents.begin(), extents.end()) > (1 << 30)) return best;
  const bool planes = s.rank == 3;
  const int axis = planes ? 0 : 1, unit = lane_width;
  const auto n = [&](int a) { return int(extents[std::size_t(a)]); };
  const int tile_x = planes ? s.width : unit; // periodic rows are so many whole ones
  if (wraps[2] && n(2) % tile_x != 0)
    best.refusal = "a periodic row is not a multiple of " + std::to_string(tile_x) + " cells";
  else if (planes && wraps[1] && n(1) % s.height != 0)
    best.refusal = "a periodic plane is not a multiple of " + std::to_string(s.height) + " rows";
  else if (planes && only_depth > 1)
    best.refusal = "blocks exchange after every step in rank 3: the depth must be 1";
  else if (only_depth % 2 == 1 && alternate)
    best.refusal = "sweeps come in pairs, down and up: the depth must be even";
  else
    best = {};
  if (!best.refusal.empty()) return best;
  best.refusal = unfit;

  const int reach_rows = std::max(c.step.low[std::size_t(axis)], c.step.high[std::size_t(axis)]);
  const int reach_x = std::max(c.step.low[2], c.step.high[2]);
  const std::vector<int> kernels =
      streams ? std::vector<int>{s.streaming} : std::vector<int>(s.registers.begin(), s.registers.end());
  std::vector<int> depths{1, 2, 4, 6, 8, 12, 16};
  if (planes) depths = {1};
  if (only_depth > 0) depths = {only_depth};
  for (const int depth : depths) {
    if (depth % 2 == 1 && alternate) continue;
    register_tiling t;
    t.depth = depth;
    t.row_cells = 32 * s.cells;
    if (planes) {
      const auto whole = [&](int a, int held, int step) {
        const int count = (n(a) + held - 1) / held;
        return axis_tiling{n(a), 0, count * held, held, 0, count, step, wraps[std::size_t(a)]};
      };
      t.x = whole(2, s.width, unit);
      t.side = whole(1, s.height, 1);
    } else {
      t.x = {n(2), 0,       detail::round_up(n(2), unit), s.width, detail::round_up(depth * reach_x, unit), 1,
             unit, wraps[2]};
      while (t.x.count <= device.sm_count && !t.x.covers()) ++t.x.count;
      if (!t.x.parted() || t.x.ring > most_beside * unit) continue;
    }
    const int layer = t.x.count * t.side.count;
    const bool wrap = wraps[std::size_t(axis)];
    const int lo = int(active_rows[0]), hi = int(active_rows[1]), reach = depth * reach_rows;
    // The kernel has some shared memory beside, for what it knows of its exchanges.
    const auto fits = [&] { return s.shared_bytes(t) <= device.shared_per_block_optin - 1024; };
    for (int count = 1; count * layer <= device.sm_count; ++count)
      for (const int registers : kernels) {
        const auto covers = [&] {
          const int held = strip_warps * t.rows();
          t.y = {n(axis), lo, hi, held, reach, count, 1, wrap};
          if (!t.y.covers()) return false;
          // Strips show their ends ahead of an exchange: rings must not reach beyond the first and the last.
          if (planes && (count > 1 || wrap) && t.rows() < 2 * reach_rows) return false;
          if (planes && count == 1 && !wrap) t.y.hi = lo + held; // rows behind `hi` keep their values
          return count > 1 || wrap || planes || held == hi - lo;
        };
        t.registers = registers;
        for (t.in_shared = 0;; t.in_shared += s.window) {
          t.in_memory = streams ? s.window : 0;
          bool covered = covers();
          while (streams && !covered && t.y.held < n(axis) + 2 * reach) {
            t.in_memory += s.window;
            covered = covers();
          }
          if (!fits()) break;
          if (covered) {
            const auto choice = detail::priced(t, c, s, device);
            if (!best.refusal.empty() || choice.seconds_per_step < best.seconds_per_step) best = choice;
          }
          if (!shared || (covered && t.in_memory <= s.window)) break;
        }
      }
  }
  return best;
}

namespace detail {

/// Issue slots that a warp takes for a row of temporal: with double the arithmetic's, which has fewer units.
inline double temporal_row(const stencil_costs& c, const strip_shape& s, const device_facts& device) {
  const double moves = s.cells * c.value_bytes / 4.0 * c.fields;
  return std::max(s.row_instructions + moves, s.cells * arithmetic_slots(c, device));
}

} // namespace detail

/// The tiling of least predicted time for passes of several steps (temporal), in rank 2: tiles of all columns
/// and rows, however many, which the blocks take one after the other.
/// \param steps of the run
inline register_tiling_choice choose_temporal_tiling(const stencil_costs& c, const strip_shape& s,
                                                     const std::array<index, 3>& extents,
                                                     const std::array<index, 2>& active_rows,
                                                     const std::array<bool, 3>& wraps, index steps,
                                                     const device_facts& device, int only_depth) {
  register_tiling_choice best;
  best.refusal = "no tiles with rings that end in the next one cover the grid";
  constexpr int unit = lane_width;
  if (s.temporal_bytes() > device.shared_per_block_optin - 1024) // the kernel has some beside
    best.refusal = "a block of the device has too little shared memory for the next tile";
  else if (wraps[2] && extents[2] % unit != 0)
    best.refusal = "a periodic row is not a multiple of " + std::to_string(unit) + " cells";
  else if (*std::max_element(extents.begin(), extents.end()) < (1 << 30)) {
    const int ny = int(extents[1]), nx = int(extents[2]);
    const int reach_y = std::max(c.step.low[1], c.step.high[1]),
              reach_x = std::max(c.step.low[2], c.step.high[2]);
    const double memory = device.hbm_bytes_per_s > 0 ? device.hbm_bytes_per_s : 1e12;
    for (int depth = only_depth > 0 ? only_depth : 1; depth <= (only_depth > 0 ? only_depth : 16); ++depth) {
      if (only_depth == 0 && depth > std::max<index>(1, steps)) break;
      register_tiling t;
      t.depth = depth;
      t.row_cells = 32 * s.cells;
      t.registers = s.temporal;
      t.x = {nx,   0,       detail::round_up(nx, unit), s.width, detail::round_up(depth * reach_x, unit), 1,
             unit, wraps[2]};
      t.y = {ny,      int(active_rows[0]), int(active_rows[1]), s.warps * t.registers, depth * reach_y, 1, 1,
             wraps[1]};
      const auto cover = [](axis_tiling& axis) { // with the fewest tiles
        const int own = axis.held - 2 * axis.ring, n = axis.hi - axis.lo;
        if (!axis.periodic && axis.held >= n) return axis.covers(); // one
        if (own <= 0) return false;
        const int least = axis.periodic ? (axis.n + own - 1) / own : (n - 2 * axis.ring + own - 1) / own;
        for (axis.count = std::max(1, least); axis.count <= least + 8; ++axis.count) {
          axis.stride = 0;
          axis.stride =
              axis.periodic ? axis.owned()
              : axis.count == 1
                  ? n
                  : detail::round_up((n - axis.held + axis.count - 2) / (axis.count - 1), axis.unit);
          if (axis.covers()) return true;
        }
        return false;
      };
      if (!cover(t.x) || !cover(t.y)) continue;
      if (t.y.count == 1 && !wraps[1] && t.y.held != t.y.hi - t.y.lo) continue; // rims would be updated
      if (index(t.x.count) * t.y.count > (1 << 24)) continue;
      // Of a pass, fitted to an H200: the shares of the issue slots that steps take, and bytes per second
      // that a multiprocessor moves when it turns from tile to tile, which hides behind nothing. All together
      // get 75% of the memory's bandwidth.
      const bool wide = c.value_bytes == 8;
      const double used = wide ? 0.75 : 0.85, turning = wide ? 33e9 : 50e9;
      const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
      const double held = double(t.y.held) * t.x.held * c.value_bytes;
      const double step =
          0.15e-6 + s.warps * t.registers * detail::temporal_row(c, s, device) / (4 * used * clock);
      const double rounds = std::ceil(double(t.blocks()) / device.sm_count);
      const double turn = held * (c.fields + c.targets) / turning;
      const double streaming =
          (t.blocks() * held * c.fields + double(nx) * ny * c.value_bytes * c.targets) / (0.75 * memory);
      const double pass = std::max(rounds * (turn + depth * step), streaming) + 5e-6;
      register_tiling_choice choice;
      choice.tiles = t;
      const double passes = std::ceil(double(std::max<index>(1, steps)) / depth);
      choice.seconds_per_step = pass * passes / double(std::max<index>(1, steps));
      choice.streaming_seconds = streaming / depth;
      if (!best.refusal.empty() || choice.seconds_per_step < best.seconds_per_step) best = choice;
    }
  }
  return best;
}

} // namespace stet::cuda
