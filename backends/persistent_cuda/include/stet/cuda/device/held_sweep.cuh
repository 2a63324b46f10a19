#pragma once
#include <stet/cuda/device/held_tile.cuh>
#include <stet/cuda/device/sweep.hpp>

/// A stage on a tile in shared memory.
///
/// Updates are in place: a stage sweeps along the slide axis, reads the arrays at one place and writes them
/// `slide` cells further back, so that no cell is overwritten before its neighbours have read it:
///
///     slots       0 1 2 3 4 5 6 7 8 ...            slide = 1, sweeping up
///     old state   . a b c d e f g h
///     new state   A B C . . . . . .                A is written when a, b and what is before a are read
///
/// The next stage sweeps down and writes back.
namespace stet::cuda::detail {

/// The rows around a unit, in registers.
template <class S, int Stage, class Real, int Rows> struct unit_window {
  static constexpr int V = piece_cells<Real>;
  static constexpr auto rows = unit_rows<S, Stage, Rows, row_axis<S>>();
  static constexpr int count = rows.count > 0 ? rows.count : 1;
  static constexpr int before = (rows.margin() + V - 1) / V; // pieces before the unit's own
  Real value[count][2 * before + 1][V];

  /// Every lane of the warp takes part. A single cell beside the unit comes from the lane beside.
  /// \param first, last the lane before, or behind, does not hold the piece there
  __device__ __forceinline__ void load(const held_tile<S, Real>& tile, int at, bool first, bool last) {
    const auto own = [&](row r) {
      return tile.array(r.field) + at + tile.place[r.field] + r.dz * tile.plane() + r.dy * tile.pitch();
    };
    unrolled<rows.count>([&](auto i) {
      constexpr row r = rows.items[i]; // constexpr: or the device would read host memory
      constexpr int low = shuffled<S>(r.low) ? 0 : (r.low + V - 1) / V;
      constexpr int high = shuffled<S>(r.high) ? 0 : (r.high + V - 1) / V;
#pragma unroll
      for (int p = -low; p <= high; ++p) load_piece(own(r) + p * V, value[i][before + p]);
    });
    unrolled<rows.count>([&](auto i) {
      constexpr row r = rows.items[i];
      if constexpr (shuffled<S>(r.low)) {
        Real v = __shfl_up_sync(0xffffffffu, value[i][before][V - 1], 1);
        if (first) v = own(r)[-1];
        value[i][before - 1][V - 1] = v;
      }
      if constexpr (shuffled<S>(r.high)) {
        Real v = __shfl_down_sync(0xffffffffu, value[i][before][0], 1);
        if (last) v = own(r)[V];
        value[i][before + 1][0] = v;
      }
    });
  }
};

/// Cell (Row, I) of a unit as evaluate() sees it.
template <class S, int Stage, class Real, int Rows, int Row, int I> struct unit_cell {
  using window_type = unit_window<S, Stage, Real, Rows>;
  const window_type& window;
  const held_tile<S, Real>& tile;
  Real step_number;
  int z, y, x; // of the unit's first cell
  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int r =
        rank_of<S> == 3 ? window_type::rows.find(F, Dz + Row, Dy) : window_type::rows.find(F, Dz, Dy + Row);
    constexpr int i = window_type::before * window_type::V + I + Dx;
    return window.value[r][i / window_type::V][i % window_type::V];
  }
  template <int P> __device__ __forceinline__ Real param() const { return tile.a.g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    return static_cast<Real>(tile.wrapped(Axis, (Axis == 0   ? z
                                                 : Axis == 1 ? y
                                                             : x + I) +
                                                    (Axis == slide_axis<S> && rank_of<S> > 1 ? Row : 0)));
  }
  __device__ __forceinline__ Real step() const { return step_number; }
};

/// Calls f(number, z, y, x) for the cells of a box whose accesses in a stage cross a face that is not fixed,
/// each by one thread. Returns their count.
template <class S, int Stage, class Real, class F>
__device__ __forceinline__ int for_face_cells(const held_tile<S, Real>& tile, const cell_box& needed, F&& f) {
  const cell_box &active = tile.a.active[Stage], &inner = tile.a.inner[Stage];
  int lo[3], hi[3], inner_lo[3], inner_hi[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    lo[axis] = ::max(active.lo[axis], needed.lo[axis]);
    hi[axis] = ::max(lo[axis], ::min(active.hi[axis], needed.hi[axis]));
    inner_lo[axis] = ::min(hi[axis], ::max(lo[axis], inner.lo[axis]));
    inner_hi[axis] = ::max(inner_lo[axis], ::min(hi[axis], inner.hi[axis]));
  }
  int count = 0;
#pragma unroll 1
  for (int side = 0; side < 6; ++side) { // slabs below and above, along z, then y, then x
    const int axis = side / 2;
    int from[3] = {lo[0], lo[1], lo[2]}, to[3] = {hi[0], hi[1], hi[2]};
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (b < axis) from[b] = inner_lo[b], to[b] = inner_hi[b];
      if (b == axis && side % 2 == 0) to[b] = inner_lo[b];
      if (b == axis && side % 2 == 1) from[b] = inner_hi[b];
    }
    const int nx = to[2] - from[2], ny = to[1] - from[1], cells = nx * ny * (to[0] - from[0]);
    for (int i = threadIdx.x; i < cells; i += resident_threads)
      f(count + i, from[0] + i / nx / ny, from[1] + i / nx % ny, from[2] + i % nx);
    count += cells;
  }
  return count;
}

/// Held cells that must be right after a stage: the tile, and of the ring what the `steps` whole steps read
/// that follow until it is fresh again.
template <class S, int Stage, bool Partial, class Real>
__device__ __forceinline__ cell_box needed_after(const held_tile<S, Real>& tile, int steps) {
  const auto& a = tile.a;
  cell_box box;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const int low = Partial ? 0 : steps * a.step.low[axis] + a.later[Stage].low[axis];
    const int high = Partial ? 0 : steps * a.step.high[axis] + a.later[Stage].high[axis];
    box.lo[axis] = ::max(tile.bounds.lo[axis], tile.bounds.tile_lo[axis] - low);
    box.hi[axis] = ::min(tile.bounds.hi[axis], tile.bounds.tile_hi[axis] + high);
  }
  return box;
}

/// One stage on the `needed` cells. Other held cells of the fields that it moves get arbitrary values.
template <class S, int Stage, class Real>
__device__ void resident_stage(held_tile<S, Real>& tile, Real step_number, const cell_box& needed) {
  using program = step_program<S>;
  constexpr int V = piece_cells<Real>, rank = rank_of<S>;
  constexpr int Rows = resident_unit<S, Stage, Real>();
  constexpr int moved = moved_count<S>(Stage);
  const auto& a = tile.a;
  const auto &active_lo = a.active[Stage].lo, &active_hi = a.active[Stage].hi;

  // Cells at faces that are not rims first, while all old values are there.
  Real* const folded = tile.array(field_count<S>);
  int faces = 0;
  if (a.folds[Stage]) {
    faces = for_face_cells<S, Stage>(tile, needed, [&](int n, int z, int y, int x) {
      unrolled<moved>([&](auto k) {
        constexpr target t = moved_target<S>(Stage, k);
        if constexpr (t.root >= 0)
          folded[n * moved + k] =
              evaluate<program, t.root, Real>(held_cell<S, Real>{tile, step_number, z, y, x});
      });
    });
    __syncthreads();
  }

  const int x_lo = tile.bounds.lo[2] + (needed.lo[2] - tile.bounds.lo[2]) / V * V;
  const int pieces = (needed.hi[2] - x_lo + V - 1) / V, rows = needed.hi[1] - needed.lo[1];
  const int cross = rank == 3 ? rows * pieces : rank == 2 ? pieces : 1;
  const int along = rank == 3 ? needed.hi[0] - needed.lo[0] : rank == 2 ? rows : pieces;
  const int line = rank == 3 ? tile.plane() : tile.pitch(); // from cell to cell of a unit
  const int units = (along + Rows - 1) / Rows, per_band = resident_threads / cross;
  const int my_unit = int(threadIdx.x) / cross, my_cross = int(threadIdx.x) % cross;
  const int my_row = my_cross / pieces, my_piece = my_cross % pieces, lane = threadIdx.x % 32;
  const bool first = lane == 0 || my_piece == 0, last = lane == 31 || my_piece == pieces - 1;

  constexpr int first_moved = moved_target<S>(Stage, 0).field;
  const bool up = tile.place[first_moved] != 0; // towards larger coordinates, writing at place 0
  const int write_place = up ? 0 : a.t.slide;

  for (int band = 0; band < units; band += per_band) {
    const int position = band + my_unit, unit = up ? position : units - 1 - position;
    const bool mine = my_unit < per_band && position < units;
    int z = needed.lo[0], y = needed.lo[1], x = x_lo;
    if (mine) {
      if constexpr (rank == 1) x += unit * V;
      if constexpr (rank == 2) y += unit * Rows, x += my_piece * V;
      if constexpr (rank == 3) z += unit * Rows, y += my_row, x += my_piece * V;
    }
    const int at = tile.at(z, y, x);
    Real result[moved][Rows][V];
    if (__any_sync(0xffffffffu, mine)) { // whole warps, for shuffles
      unit_window<S, Stage, Real, Rows> window;
      window.load(tile, at, first, last);
      unrolled<moved * Rows * V>([&](auto i) {
        constexpr int k = i / (Rows * V), r = i / V % Rows;
        constexpr target t = moved_target<S>(Stage, k);
        if constexpr (t.root >= 0)
          result[k][r][i % V] = evaluate<program, t.root, Real>(
              unit_cell<S, Stage, Real, Rows, r, i % V>{window, tile, step_number, z, y, x});
        else
          result[k][r][i % V] = tile.array(t.field)[at + tile.place[t.field] + r * line + i % V];
      });

      const int z_end = z + (rank == 3 ? Rows : 1), y_end = y + (rank == 2 ? Rows : 1), x_end = x + V;
      const bool all_active = z >= active_lo[0] && z_end <= active_hi[0] && y >= active_lo[1] &&
                              y_end <= active_hi[1] && x >= active_lo[2] && x_end <= active_hi[2];
      if (!all_active) // the rim keeps its values
        unrolled<moved * Rows>([&](auto i) {
          constexpr int k = i / Rows, r = i % Rows, f = moved_target<S>(Stage, k).field;
          const int row_z = z + (rank == 3 ? r : 0), row_y = y + (rank == 2 ? r : 0);
          const bool row_active =
              row_z >= active_lo[0] && row_z < active_hi[0] && row_y >= active_lo[1] && row_y < active_hi[1];
          Real old[V];
          load_piece(tile.array(f) + at + tile.place[f] + r * line, old);
#pragma unroll
          for (int c = 0; c < V; ++c)
            if (!row_active || x + c < active_lo[2] || x + c >= active_hi[2]) result[k][r][c] = old[c];
        });
    }
    __syncthreads();
    if (mine) {
      unrolled<moved * Rows>([&](auto i) {
        constexpr int f = moved_target<S>(Stage, i / Rows).field, r = i % Rows;
        if (rank == 1 || unit * Rows + r < along)
          store_piece_shared(tile.array(f) + at + write_place + r * line, result[i / Rows][r]);
      });
    }
  }
  unrolled<moved>([&](auto k) {
    constexpr int f = moved_target<S>(Stage, k).field;
    tile.place[f] = write_place;
  });
  __syncthreads();
  if (faces > 0) {
    for_face_cells<S, Stage>(tile, needed, [&](int n, int z, int y, int x) {
      unrolled<moved>([&](auto k) {
        constexpr target t = moved_target<S>(Stage, k);
        if constexpr (t.root >= 0)
          tile.array(t.field)[tile.at(z, y, x) + write_place] = folded[n * moved + k];
      });
    });
    __syncthreads();
  }
}

} // namespace stet::cuda::detail
