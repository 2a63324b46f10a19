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

  /// Loads row R; `x0` is the lane's first cell. Every lane of the warp takes part. Cells outside [0, pitch)
  /// are not read: their places hold an arbitrary value.
  template <int R> __device__ __forceinline__ void load(const Real* line, index x0, index pitch) {
    constexpr row r = rows.items[R];
    const int lane = threadIdx.x;
    Real own[V];
#pragma unroll
    for (int i = 0; i < V; ++i) own[i] = Real(0);
    if (x0 < pitch) load_piece(line + x0, own);
#pragma unroll
    for (int i = 0; i < V; ++i) value[R][margin + i] = own[i];
#pragma unroll
    for (int k = 1; k <= r.low; ++k) { // cell x0 - k lives `lanes` lanes to the left
      const int lanes = (k + V - 1) / V;
      Real v = __shfl_up_sync(0xffffffffu, own[lanes * V - k], lanes);
      if (lane < lanes && x0 - k >= 0 && x0 - k < pitch) v = line[x0 - k];
      value[R][margin - k] = v;
    }
#pragma unroll
    for (int k = 0; k < r.high; ++k) { // cell x0 + V + k
      const int lanes = k / V + 1;
      Real v = __shfl_down_sync(0xffffffffu, own[k % V], lanes);
      if (lane >= 32 - lanes && x0 + V + k < pitch) v = line[x0 + V + k];
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

/// Updates all cells of one stage from `g.state` to `g.next`, and carries the rim over.
/// Launch: `blocks.total()` blocks of (32, per_step_warps) threads.
template <class S, int Stage, class Real>
__global__ void __launch_bounds__(32 * per_step_warps)
    per_step_kernel(const __grid_constant__ grid<S, Real> g, const __grid_constant__ stage_regions regions,
                    block_count blocks) {
  using program = step_program<S>;
  constexpr int V = piece_cells<Real>, Rows = per_step_unit<S, Stage, Real>();
  using window_type = detail::lane_window<S, Stage, Real, Rows>;
  constexpr int begin = program::value.first[Stage], count = program::value.first[Stage + 1] - begin;

  const unsigned line = blockIdx.x / blocks.x;
  const index x0 = (index(blockIdx.x % blocks.x) * 32 + threadIdx.x) * V;
  const index y = (index(line % blocks.y) * per_step_warps + threadIdx.y) * Rows, z = line / blocks.y;
  if (y >= g.extents[1]) return; // whole warps

  // Everything first as if it were far from faces; rows outside the grid are not read, and what depends on
  // them is replaced below.
  Real result[count][Rows][V];
  {
    window_type window;
    unrolled<window_type::rows.count>([&](auto i) {
      constexpr row r = window_type::rows.items[i]; // constexpr: or the device would read host memory
      const bool there = z + r.dz >= 0 && z + r.dz < g.extents[0] && y + r.dy >= 0 && y + r.dy < g.extents[1];
      window.template load<i()>(g.state[r.field] + g.at(z + r.dz, y + r.dy, 0), x0, there ? g.pitch : 0);
    });
    unrolled<count * Rows * V>([&](auto i) {
      constexpr int k = i / (Rows * V), r = i / V % Rows;
      constexpr target t = program::value.targets[begin + k];
      result[k][r][i % V] = evaluate<program, t.root, Real>(
          detail::lane_cell<S, Stage, Real, Rows, r, i % V>{window, g, z, y, x0});
    });
  }
  if (x0 >= g.extents[2]) return;

  const cell_range &inner = regions.interior, &active = regions.active;
  const bool all_inner = z >= inner.lo[0] && z < inner.hi[0] && y >= inner.lo[1] && y + Rows <= inner.hi[1] &&
                         x0 >= inner.lo[2] && x0 + V <= inner.hi[2];
  if (!all_inner) {
    const bool plane_active = z >= active.lo[0] && z < active.hi[0];
    const bool plane_inner = z >= inner.lo[0] && z < inner.hi[0];
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
    if (!(active == inner)) {
#pragma unroll 1
      for (int c = 0; c < Rows * V; ++c) { // accesses that cross a face
        const index cy = y + c / V, cx = x0 + c % V;
        const bool is_active = plane_active && cy >= active.lo[1] && cy < active.hi[1] &&
                               cx >= active.lo[2] && cx < active.hi[2];
        const bool is_inner =
            plane_inner && cy >= inner.lo[1] && cy < inner.hi[1] && cx >= inner.lo[2] && cx < inner.hi[2];
        if (!is_active || is_inner) continue;
        unrolled<count>([&](auto k) {
          constexpr target t = program::value.targets[begin + k];
          const Real value = evaluate<program, t.root, Real>(cell<S, Real, true>{g, z, cy, cx});
#pragma unroll
          for (int slot = 0; slot < Rows * V; ++slot)
            if (slot == c) result[k][slot / V][slot % V] = value;
        });
      }
    }
  }
  unrolled<count * Rows>([&](auto i) {
    constexpr target t = program::value.targets[begin + i / Rows];
    if (y + i % Rows < g.extents[1])
      store_piece(g.next[t.field] + g.at(z, y + i % Rows, x0), result[i / Rows][i % Rows]);
  });
}

} // namespace stet::cuda
