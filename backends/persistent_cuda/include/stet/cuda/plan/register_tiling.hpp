#pragma once
#include <algorithm>
#include <array>
#include <stet/boundary.hpp>
#include <stet/cuda/plan/tiling.hpp>

/// How the resident strategy divides a plane among blocks whose cells are in registers. Host only, no CUDA.
namespace stet::cuda {

/// Warps of a block, one below the other; 512 threads leave 128 registers for each.
inline constexpr int register_warps = 16;

/// Tiles of a plane. A block holds 32 pieces by register_warps · rows rows: what it owns, and rings around.
struct register_tiling {
  int count_x = 1, count_y = 1;
  int owned_x = 0, owned_y = 0; ///< from tile to tile
  int ring_x = 0, ring_y = 0;   ///< depth steps' reach; x a multiple of a piece
  int depth = 1;                ///< steps between exchanges
  int rows = 0;                 ///< of a warp
  int blocks() const { return count_x * count_y; }
};

struct register_tiling_choice {
  register_tiling tiles;
  double seconds_per_step = 0;
  std::string refusal; ///< empty when `tiles` can be used
};

/// Shared memory of a block: `in_shared` rows per warp, and the ends of the strips twice.
constexpr std::int64_t register_shared_bytes(int in_shared, int ends) {
  return std::int64_t(register_warps) * 512 * (in_shared + 2 * ends);
}

namespace detail {

/// What of a stencil shapes the kernel.
template <class S> struct strip_reach {
  static constexpr reach all = reach_of(step_program<S>::value, 0, field_count<S>);
  static constexpr int up = all.low[1], down = all.high[1]; ///< rows above and below
  static constexpr auto rows = rows_of(step_program<S>::value, 0);
  /// Cells that are needed beside a piece in the centre row, and in the others.
  static constexpr int centre = [] {
    const int i = rows.find(0, 0, 0);
    return i < 0 ? 0 : (rows.items[i].low > rows.items[i].high ? rows.items[i].low : rows.items[i].high);
  }();
  static constexpr int beside = [] {
    int m = 0;
    for (int i = 0; i < rows.count; ++i)
      if (rows.items[i].dy != 0) {
        m = rows.items[i].low > m ? rows.items[i].low : m;
        m = rows.items[i].high > m ? rows.items[i].high : m;
      }
    return m;
  }();
};

} // namespace detail

/// Whether the register kernel can run a stencil at all.
template <class S>
inline constexpr bool has_register_tiles =
    rank_of<S> == 2 && field_count<S> == 1 && stage_count<S> == 1 && assigned_count<S> == 1;

/// Strips of the register kernel for one stencil.
struct strip_shape {
  int rows = 0;         ///< that registers hold; 0: there is no such kernel
  int up = 0, down = 0; ///< rows that the stencil reads above and below

  /// The numbers of rows for which there are kernels, 0 where a block may not use that much shared memory. 20
  /// rows hold 2048², 39 rows 3072² of a 5-point star in float.
  constexpr std::array<int, 3> options(std::int64_t shared_limit) const {
    std::array<int, 3> all{rows, 20, 39};
    for (int& r : all)
      if (rows == 0 || r < rows || r < up || r < down ||
          register_shared_bytes(r - rows, up + down) > shared_limit)
        r = 0;
    return all;
  }
};

/// Rows that registers hold beside the window: 15 for a 5-point star in float; 16 spill.
template <class S, class Real> constexpr strip_shape strip_shape_of() {
  if constexpr (has_register_tiles<S>) {
    using around = detail::strip_reach<S>;
    constexpr int V = 16 / int(sizeof(Real));
    constexpr int window = (around::up + around::down + 1) * (V + 2 * around::beside) * int(sizeof(Real)) / 4;
    return {std::max(4, (72 - window) / 4), around::up, around::down};
  } else {
    return {};
  }
}

/// The tiling of least predicted time among strips of the given numbers of rows.
template <std::size_t N>
register_tiling_choice choose_register_tiling(const stencil_costs& c, const std::array<int, N>& rows,
                                              const std::array<index, 3>& extents, bool periodic_y,
                                              bool periodic_x, const device_facts& device) {
  register_tiling_choice best;
  best.refusal = "the field does not fit into registers and shared memory";
  const int reach_y = std::max(c.step.low[1], c.step.high[1]),
            reach_x = std::max(c.step.low[2], c.step.high[2]);
  if (extents[1] > (1 << 30) || extents[2] > (1 << 30)) return best;
  if (periodic_x && extents[2] % c.piece != 0) {
    best.refusal = "a periodic row is not a whole number of 16-byte pieces";
    return best;
  }
  const double clock = (device.clock_ghz > 0 ? device.clock_ghz : 1.5) * 1e9;
  for (int depth : {1, 2, 4, 8, 16})
    for (int r : rows) {
      if (r <= 0) continue;
      register_tiling t;
      t.depth = depth;
      t.rows = r;
      t.ring_y = depth * reach_y;
      t.ring_x = detail::round_up(depth * reach_x, c.piece);
      const int held_x = 32 * c.piece, held_y = register_warps * r;
      t.owned_x = held_x - 2 * t.ring_x;
      t.owned_y = held_y - 2 * t.ring_y;
      if (t.owned_x <= 0 || t.owned_y <= 0) continue;
      const auto count = [](index n, int held, int owned, int ring, bool periodic) -> index {
        if (periodic) return (n + owned - 1) / owned;
        return n <= held ? 1 : (n - 2 * ring + owned - 1) / owned;
      };
      if ((periodic_y && extents[1] < t.ring_y) || (periodic_x && extents[2] < t.ring_x)) continue;
      // Rings beyond a periodic face may wrap once.
      if ((periodic_y && held_y > 2 * extents[1]) || (periodic_x && held_x > 2 * extents[2])) continue;
      const index cx = count(extents[2], held_x, t.owned_x, t.ring_x, periodic_x);
      const index cy = count(extents[1], held_y, t.owned_y, t.ring_y, periodic_y);
      if (cx * cy > device.sm_count) continue;
      t.count_x = int(cx);
      t.count_y = int(cy);
      // Estimates: arithmetic, and about 3 more instructions per cell; a sub-core issues 0.6 per clock.
      const double instructions =
          double(r) * c.piece * register_warps / 4 * (arithmetic_slots(c, device) + 3.4);
      const double seconds = instructions / 0.6 / clock + 0.1e-6 + (t.blocks() == 1 ? 0 : 4.5e-6 / depth);
      if (best.refusal.empty() && seconds >= best.seconds_per_step) continue;
      best = {t, seconds, ""};
    }
  return best;
}

} // namespace stet::cuda
