#pragma once
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/device/vector.cuh>
#include <stet/grid.hpp>
#include <stet/unrolled.hpp>

/// One launch per stage: the baseline, and the strategy that can run everything.
///
/// A warp takes 32 pieces (16 bytes each) of one row. Rows above and below are loaded as pieces, x-neighbours
/// come from the lanes beside by shuffles. Bytes per cell and step: each field read once and written once, if
/// the L2 cache keeps the rows between.
namespace stet::cuda {

/// Warps of a block, one above the other.
inline constexpr int per_step_warps = 8;

/// Rows of cells that a warp updates at once: neighbours share what they read.
template <class S, int Stage, class Real> constexpr int per_step_unit() {
  if (rank_of<S> == 1) return 1;
  constexpr int results = writes(step_program<S>::value, Stage);
  return unit_length<S, Stage, 1>(piece_cells<Real>, results, 80);
}

namespace detail {

/// What one lane needs to compute a unit of `Rows` pieces one above the other: rows with margins along x.
template <class S, int Stage, class Real, int Rows> struct lane_window {
  static constexpr int V = piece_cells<Real>;
  static constexpr auto rows = unit_rows<S, Stage, Rows, 1>();
  static constexpr int count = rows.count > 0 ? rows.count : 1, margin = rows.margin();
  Real value[count][V + 2 * margin]; // cell x0 + i at [margin + i]

  /// Loads row R around the lane's piece, which starts at (z, y, x0). Every lane of the warp takes part.
  ///
  /// Inside: nothing that the warp reads lies beyond a face. Otherwise such cells come from where the
  /// boundary says: y first, then z, as x is folded cell by cell.
  template <int R, bool Inside>
  __device__ __forceinline__ void load(const grid<S, Real>& g, index z, index y, index x0) {
    constexpr row r = rows.items[R];
    const index nx = g.extents[2];
    const auto& kind = g.given.boundaries.kind[r.field];
    const auto& outside = g.given.boundaries.value[r.field];
    index row_z = z + r.dz, row_y = y + r.dy;
    int side_y = -1, side_z = -1;
    if constexpr (!Inside) {
      side_y = fold(row_y, g.extents[1], kind[2], kind[3]);
      side_z = fold(row_z, g.extents[0], kind[0], kind[1]);
    }
    const bool constant = side_y >= 0 || side_z >= 0; // a dirichlet value instead of the row
    const Real value_beyond = side_y >= 0 ? outside[2 + side_y] : side_z >= 0 ? outside[side_z] : Real(0);
    const Real* const line = g.state[r.field] + (constant ? 0 : g.at(row_z, row_y, 0));
    const auto cell_at = [&](index x) {
      if constexpr (Inside) return line[x];
      const int side_x = fold(x, nx, kind[4], kind[5]);
      return side_x >= 0 ? outside[4 + side_x] : constant ? value_beyond : line[x];
    };

    const int lane = threadIdx.x;
    Real own[V];
    if constexpr (Inside) {
      load_piece(line + x0, own);
    } else {
#pragma unroll
      for (int i = 0; i < V; ++i) own[i] = value_beyond;
      if (!constant && x0 < nx) load_piece(line + x0, own);
      if (x0 < nx && x0 + V > nx)
#pragma unroll
        for (int i = 1; i < V; ++i)
          if (x0 + i >= nx) own[i] = cell_at(x0 + i);
    }
#pragma unroll
    for (int i = 0; i < V; ++i) value[R][margin + i] = own[i];
#pragma unroll
    for (int k = 1; k <= r.low; ++k) { // cell x0 - k lives `lanes` lanes to the left
      const int lanes = (k + V - 1) / V;
      Real v = __shfl_up_sync(0xffffffffu, own[lanes * V - k], lanes);
      if (Inside ? lane < lanes : (lane < lanes || x0 - k < 0) && x0 < nx) v = cell_at(x0 - k);
      value[R][margin - k] = v;
    }
#pragma unroll
    for (int k = 0; k < r.high; ++k) { // cell x0 + V + k
      const int lanes = k / V + 1;
      Real v = __shfl_down_sync(0xffffffffu, own[k % V], lanes);
      if (Inside ? lane >= 32 - lanes : (lane >= 32 - lanes || x0 + V + k >= nx) && x0 < nx)
        v = cell_at(x0 + V + k);
      value[R][margin + V + k] = v;
    }
  }
};

/// Cell I of piece Row of a lane's unit as evaluate() sees it.
template <class S, int Stage, class Real, int Rows, int Row, int I> struct lane_cell {
  using window_type = lane_window<S, Stage, Real, Rows>;
  const window_type& window;
  const grid<S, Real>& g;
  index z, y, x0; // of the unit's first cell
  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int r = window_type::rows.find(F, Dz, Dy + Row);
    return window.value[r][window_type::margin + I + Dx];
  }
  template <int P> __device__ __forceinline__ Real param() const { return g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    return static_cast<Real>(Axis == 0 ? z : Axis == 1 ? y + Row : x0 + I);
  }
  __device__ __forceinline__ Real step() const { return g.step_number; }
};

} // namespace detail

/// The blocks that cover a grid: numbered along x, then y, then z, since gridDim.y and .z end at 65535.
struct block_count {
  unsigned x, y, z;
  /// \param unit rows of a warp
  template <class Real> static constexpr block_count covering(const std::array<index, 3>& extents, int unit) {
    const index width = 32 * piece_cells<Real>, height = index(per_step_warps) * unit;
    return {static_cast<unsigned>((extents[2] + width - 1) / width),
            static_cast<unsigned>((extents[1] + height - 1) / height), static_cast<unsigned>(extents[0])};
  }
  constexpr index total() const { return index(x) * y * z; }
};

/// Updates the `active` cells of one stage from `g.state` to `g.next`, and carries the rim over.
/// Launch: `blocks.total()` blocks of (32, per_step_warps) threads.
template <class S, int Stage, class Real>
__global__ void __launch_bounds__(32 * per_step_warps, 4)
    per_step_kernel(const __grid_constant__ grid<S, Real> g, const __grid_constant__ cell_range active,
                    block_count blocks) {
  using program = step_program<S>;
  constexpr int V = piece_cells<Real>, Rows = per_step_unit<S, Stage, Real>();
  using window_type = detail::lane_window<S, Stage, Real, Rows>;
  constexpr int begin = program::value.first[Stage], count = program::value.first[Stage + 1] - begin;

  const unsigned line = blockIdx.x / blocks.x;
  const index x0 = (index(blockIdx.x % blocks.x) * 32 + threadIdx.x) * V;
  const index y = (index(line % blocks.y) * per_step_warps + threadIdx.y) * Rows, z = line / blocks.y;
  if (y >= g.extents[1]) return; // whole warps

  Real result[count][Rows][V];
  {
    window_type window;
    constexpr reach around = reach_of(program::value, Stage, field_count<S>);
    const index warp_x = x0 - index(threadIdx.x) * V;
    const bool inside = z >= around.low[0] && z + around.high[0] < g.extents[0] && y >= around.low[1] &&
                        y + Rows + around.high[1] <= g.extents[1] && warp_x >= around.low[2] &&
                        warp_x + 32 * V + around.high[2] <= g.extents[2];
    if (inside)
      unrolled<window_type::rows.count>([&](auto i) { window.template load<i(), true>(g, z, y, x0); });
    else
      unrolled<window_type::rows.count>([&](auto i) { window.template load<i(), false>(g, z, y, x0); });
    unrolled<count * Rows * V>([&](auto i) {
      constexpr int k = i / (Rows * V), r = i / V % Rows;
      constexpr target t =
          program::value.targets[begin + k]; // constexpr: or the device would read host memory
      result[k][r][i % V] = evaluate<program, t.root, Real>(
          detail::lane_cell<S, Stage, Real, Rows, r, i % V>{window, g, z, y, x0});
    });
  }
  if (x0 >= g.extents[2]) return;

  const bool plane_active = z >= active.lo[0] && z < active.hi[0];
  if (!plane_active || y < active.lo[1] || y + Rows > active.hi[1] || x0 < active.lo[2] ||
      x0 + V > active.hi[2]) {
    unrolled<count * Rows>([&](auto i) { // the rim keeps its values
      constexpr int k = i / Rows, r = i % Rows;
      constexpr target t = program::value.targets[begin + k];
      if (y + r >= g.extents[1]) return;
      Real old[V];
      load_piece(g.state[t.field] + g.at(z, y + r, x0), old);
      const bool row_active = plane_active && y + r >= active.lo[1] && y + r < active.hi[1];
#pragma unroll
      for (int c = 0; c < V; ++c)
        if (!row_active || x0 + c < active.lo[2] || x0 + c >= active.hi[2]) result[k][r][c] = old[c];
    });
  }
  unrolled<count * Rows>([&](auto i) {
    constexpr target t = program::value.targets[begin + i / Rows];
    if (y + i % Rows < g.extents[1])
      store_piece(g.next[t.field] + g.at(z, y + i % Rows, x0), result[i / Rows][i % Rows]);
  });
}

} // namespace stet::cuda
