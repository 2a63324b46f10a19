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

/// Threads of a block: 32 along x, `per_step_rows` rows.
inline constexpr int per_step_rows = 8;

namespace detail {

/// The cells that one lane needs to compute a piece of V cells: all rows of a stage, with their margins along
/// x.
template <class S, int Stage, class Real> struct lane_window {
  static constexpr int V = piece_cells<Real>;
  static constexpr auto rows = rows_of(step_program<S>::value, Stage);
  static constexpr int count = rows.count > 0 ? rows.count : 1, margin = rows.margin();
  Real value[count][V + 2 * margin]; // cell x0 + i at [margin + i]

  /// Loads row R; `x0` is the lane's first cell. Every lane of the warp takes part. Cells outside [0, pitch)
  /// are not read: their places hold an arbitrary value.
  template <int R> __device__ __forceinline__ void load(const Real* line, index x0, index pitch) {
    constexpr row r = rows.items[R];
    const int lane = threadIdx.x;
    Real own[V];
    if (x0 < pitch)
      load_piece(line + x0, own);
    else
#pragma unroll
      for (int i = 0; i < V; ++i) own[i] = Real(0);
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

/// Cell `I` of a lane's piece as evaluate() sees it.
template <class S, int Stage, class Real, int I> struct window_cell {
  const lane_window<S, Stage, Real>& window;
  const grid<S, Real>& g;
  index z, y, x0;
  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int r = lane_window<S, Stage, Real>::rows.find(F, Dz, Dy);
    return window.value[r][lane_window<S, Stage, Real>::margin + I + Dx];
  }
  template <int P> __device__ __forceinline__ Real param() const { return g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    return static_cast<Real>(Axis == 0 ? z : Axis == 1 ? y : x0 + I);
  }
  __device__ __forceinline__ Real step() const { return g.step_number; }
};

} // namespace detail

/// The blocks that cover a grid: numbered along x, then y, then z, since gridDim.y and .z end at 65535.
struct block_count {
  unsigned x, y, z;
  template <class Real> static constexpr block_count covering(const std::array<index, 3>& extents) {
    const index width = 32 * piece_cells<Real>;
    return {static_cast<unsigned>((extents[2] + width - 1) / width),
            static_cast<unsigned>((extents[1] + per_step_rows - 1) / per_step_rows),
            static_cast<unsigned>(extents[0])};
  }
  constexpr index total() const { return index(x) * y * z; }
};

/// Updates all cells of one stage from `g.state` to `g.next`, and carries the rim over.
/// Launch: `blocks.total()` blocks of (32, per_step_rows) threads.
template <class S, int Stage, class Real>
__global__ void __launch_bounds__(32 * per_step_rows)
    per_step_kernel(const __grid_constant__ grid<S, Real> g, const __grid_constant__ stage_regions regions,
                    block_count blocks) {
  using program = step_program<S>;
  using window_type = detail::lane_window<S, Stage, Real>;
  constexpr int V = piece_cells<Real>;
  constexpr int begin = program::value.first[Stage], count = program::value.first[Stage + 1] - begin;

  const unsigned line = blockIdx.x / blocks.x;
  const index x0 = (index(blockIdx.x % blocks.x) * 32 + threadIdx.x) * V;
  const index y = index(line % blocks.y) * per_step_rows + threadIdx.y, z = line / blocks.y;
  if (y >= g.extents[1]) return; // whole warps

  const cell_range &inner = regions.interior, &active = regions.active;
  const bool row_is_inner = z >= inner.lo[0] && z < inner.hi[0] && y >= inner.lo[1] && y < inner.hi[1];
  const bool row_is_active = z >= active.lo[0] && z < active.hi[0] && y >= active.lo[1] && y < active.hi[1];

  Real result[count][V];
  if (row_is_inner) {
    // Also for cells at the ends of the row, where the window holds arbitrary values: replaced below.
    window_type window;
    unrolled<window_type::rows.count>([&](auto i) {
      constexpr row r = window_type::rows.items[i]; // constexpr: or the device would read host memory
      window.template load<i()>(g.state[r.field] + g.at(z + r.dz, y + r.dy, 0), x0, g.pitch);
    });
    unrolled<count * V>([&](auto i) {
      constexpr target t = program::value.targets[begin + i / V];
      result[i / V][i % V] =
          evaluate<program, t.root, Real>(detail::window_cell<S, Stage, Real, i % V>{window, g, z, y, x0});
    });
  }
  if (x0 >= g.extents[2]) return;

  if (!row_is_active) {
    unrolled<count>([&](auto k) {
      constexpr target t = program::value.targets[begin + k];
      load_piece(g.state[t.field] + g.at(z, y, x0), result[k]);
    });
  } else if (!row_is_inner || x0 < inner.lo[2] || x0 + V > inner.hi[2]) {
    // Folded accesses at faces, the old value in the rim.
#pragma unroll 1
    for (int c = 0; c < V && x0 + c < g.extents[2]; ++c) {
      const index x = x0 + c;
      if (row_is_inner && x >= inner.lo[2] && x < inner.hi[2]) continue;
      const bool updates = x >= active.lo[2] && x < active.hi[2];
      unrolled<count>([&](auto k) {
        constexpr target t = program::value.targets[begin + k];
        const Real value = updates ? evaluate<program, t.root, Real>(cell<S, Real, true>{g, z, y, x})
                                   : g.state[t.field][g.at(z, y, x)];
#pragma unroll
        for (int slot = 0; slot < V; ++slot)
          if (slot == c) result[k][slot] = value;
      });
    }
  }
  unrolled<count>([&](auto k) {
    constexpr target t = program::value.targets[begin + k];
    store_piece(g.next[t.field] + g.at(z, y, x0), result[k]);
  });
}

} // namespace stet::cuda
