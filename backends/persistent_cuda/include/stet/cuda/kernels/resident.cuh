#pragma once
#include <cooperative_groups.h>
#include <stet/backend.hpp>
#include <stet/cuda/device/sweep.hpp>
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/kernels/per_step.cuh>
#include <stet/cuda/kernels/reduce.cuh>
#include <stet/cuda/plan/tiling.hpp>
#include <stet/unrolled.hpp>

/// The whole time loop in one cooperative launch; every block keeps its tile of all fields in shared memory.
/// After PERKS (Zhang et al., ICS 2023), with a ring deep enough for several steps between exchanges.
///
/// Updates are in place: a stage sweeps along the slide axis, reads the arrays at one place and writes them
/// `slide` cells further back, so that no cell is overwritten before its neighbours have read it:
///
///     slots       0 1 2 3 4 5 6 7 8 ...            slide = 1, sweeping up
///     old state   . a b c d e f g h
///     new state   A B C . . . . . .                A is written when a, b and what is before a are read
///
/// The next stage sweeps down and writes back. Bytes per cell between first load and last store: none from
/// memory but the rings.
///
/// Partial: the tiles cover the grid's first cells along its slowest axis only. The blocks update the rest in
/// memory, stage by stage, as per_step does, and exchange after every stage.
namespace stet::cuda {

/// What the kernel tells.
template <class S> struct resident_result {
  index steps;
  double residual; ///< at the last check
  bool converged;
  bool swapped[field_count<S>]; ///< fields whose state is in `next` now
};

/// Cells [lo, hi) along (z, y, x).
struct cell_box {
  int lo[3], hi[3];
};

/// A piece that a block publishes or fetches: where it is in an array, at place 0, and in a field.
struct alignas(8) exchanged_piece {
  int held;
  unsigned piece;
};

/// What the kernel is told; by value.
template <class S, class Real> struct resident_arguments {
  static constexpr int stages = stage_count<S>;
  grid<S, Real> g; ///< `state` holds the fields
  tiling t;
  bool periodic[3];        ///< the axis wraps: the ring goes on beyond its faces
  cell_box active[stages]; ///< cells that a stage updates; without end along axes that wrap
  cell_box inner[stages];  ///< of these, cells none of whose accesses leaves the grid
  bool folds[stages];      ///< some cells are active, but not inner
  reach step;              ///< of a whole step
  reach later[stages];     ///< of the stages behind
  row_ends<S> ends;
  index first_step, steps;
  index check_every; ///< 0: no checks
  double tolerance;
  cell_box reduced;       ///< cells over which the residual is taken
  exchanged_piece* lists; ///< `t.exchanged` per block
  double* partial;        ///< one per block
  resident_result<S>* result;
};

namespace detail {

/// A block's view of its arrays in shared memory. Cells have the coordinates of the grid; in rings beyond
/// periodic faces these run on below 0 and above n.
template <class S, class Real> struct held_tile {
  const resident_arguments<S, Real>& a;
  Real* arrays;
  int origin[3];              ///< the arrays' first cell: where the ring would begin were there no faces
  int lo[3], hi[3];           ///< cells held
  int tile_lo[3], tile_hi[3]; ///< cells owned
  int plane, pitch;
  int place[field_count<S>]; ///< cells that an array lies further on: 0 or the slide

  __device__ __forceinline__ int at(int z, int y, int x) const {
    return a.t.guard + (z - origin[0]) * plane + (y - origin[1]) * pitch + (x - origin[2]);
  }
  __device__ __forceinline__ Real* array(int f) const { return arrays + f * a.t.array_cells; }
  /// The grid's own coordinate of one in a ring.
  __device__ __forceinline__ int wrapped(int axis, int i) const {
    const int n = int(a.g.extents[axis]);
    if (!a.periodic[axis] || (i >= 0 && i < n)) return i;
    return (i % n + n) % n;
  }
};

/// A held cell as evaluate() sees it, folding accesses at faces that are not periodic.
template <class S, class Real> struct held_cell {
  const held_tile<S, Real>& tile;
  Real step_number;
  int z, y, x;
  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    index i[3] = {z + Dz, y + Dy, x + Dx};
    for (int axis = 2; axis >= 0; --axis) {
      if (tile.a.periodic[axis]) continue;
      const auto& kind = tile.a.g.given.boundaries.kind[F];
      const int side = fold(i[axis], tile.a.g.extents[axis], kind[2 * axis], kind[2 * axis + 1]);
      if (side >= 0) return tile.a.g.given.boundaries.value[F][2 * axis + side];
    }
    return tile.array(F)[tile.at(int(i[0]), int(i[1]), int(i[2])) + tile.place[F]];
  }
  template <int P> __device__ __forceinline__ Real param() const { return tile.a.g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    return static_cast<Real>(tile.wrapped(Axis, Axis == 0 ? z : Axis == 1 ? y : x));
  }
  __device__ __forceinline__ Real step() const { return step_number; }
};

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
      return tile.array(r.field) + at + tile.place[r.field] + r.dz * tile.plane + r.dy * tile.pitch;
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

/// Held cells that must be right after a stage: the tile, and of the ring what the rest of the time until the
/// next exchange reads.
template <class S, int Stage, bool Partial, class Real>
__device__ __forceinline__ cell_box needed_after(const held_tile<S, Real>& tile, int since) {
  const auto& a = tile.a;
  cell_box box;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const int steps = a.t.depth - 1 - since;
    const int low = Partial ? 0 : steps * a.step.low[axis] + a.later[Stage].low[axis];
    const int high = Partial ? 0 : steps * a.step.high[axis] + a.later[Stage].high[axis];
    box.lo[axis] = ::max(tile.lo[axis], tile.tile_lo[axis] - low);
    box.hi[axis] = ::min(tile.hi[axis], tile.tile_hi[axis] + high);
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

  const int x_lo = tile.lo[2] + (needed.lo[2] - tile.lo[2]) / V * V;
  const int pieces = (needed.hi[2] - x_lo + V - 1) / V, rows = needed.hi[1] - needed.lo[1];
  const int cross = rank == 3 ? rows * pieces : rank == 2 ? pieces : 1;
  const int along = rank == 3 ? needed.hi[0] - needed.lo[0] : rank == 2 ? rows : pieces;
  const int line = rank == 3 ? tile.plane : tile.pitch; // from cell to cell of a unit
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

/// Calls f(z, y, x of a piece) for the pieces of a box whose first x is a multiple of a piece.
template <int V, class F>
__device__ __forceinline__ void for_pieces(const int (&lo)[3], const int (&hi)[3], F&& f) {
  if (hi[0] <= lo[0] || hi[1] <= lo[1] || hi[2] <= lo[2]) return;
  const int pieces = (hi[2] - lo[2] + V - 1) / V, rows = hi[1] - lo[1];
#pragma unroll 1 // once per run, or rarely
  for (int i = threadIdx.x; i < pieces * rows * (hi[0] - lo[0]); i += resident_threads)
    f(lo[0] + i / pieces / rows, lo[1] + i / pieces % rows, lo[2] + i % pieces * V);
}

/// Calls for_pieces for `whole` minus `inner`, which lies inside it.
template <int V, class F>
__device__ __forceinline__ void for_pieces_around(const int (&whole_lo)[3], const int (&whole_hi)[3],
                                                  const int (&inner_lo)[3], const int (&inner_hi)[3], F&& f) {
  int lo[3] = {whole_lo[0], whole_lo[1], whole_lo[2]}, hi[3] = {whole_hi[0], whole_hi[1], whole_hi[2]};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const int end = hi[axis];
    hi[axis] = inner_lo[axis];
    for_pieces<V>(lo, hi, f);
    lo[axis] = inner_hi[axis];
    hi[axis] = end;
    for_pieces<V>(lo, hi, f);
    lo[axis] = inner_lo[axis];
    hi[axis] = inner_hi[axis];
  }
}

/// Reads a piece of field F from memory that other blocks write during the launch.
template <class S, class Real>
__device__ __forceinline__ void fetch_piece(const held_tile<S, Real>& tile, int f, const Real* from, int z,
                                            int y, int x) {
  constexpr int V = piece_cells<Real>;
  const auto& g = tile.a.g;
  Real* to = tile.array(f) + tile.at(z, y, x) + tile.place[f];
  const Real* line = from + g.at(tile.wrapped(0, z), tile.wrapped(1, y), 0);
  const int wx = tile.wrapped(2, x);
  if (wx % V == 0 && wx + V <= g.extents[2]) {
    const auto v = __ldcg(reinterpret_cast<const piece_type<Real>*>(line + wx));
    *reinterpret_cast<piece_type<Real>*>(to) = v;
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int cell = tile.wrapped(2, x + i);
      if (cell < g.extents[2]) to[i] = __ldcg(line + cell);
    }
  }
}
/// Writes the owned part of a piece to memory.
template <class S, class Real>
__device__ __forceinline__ void publish_piece(const held_tile<S, Real>& tile, int f, Real* to, int z, int y,
                                              int x) {
  constexpr int V = piece_cells<Real>;
  Real v[V];
  load_piece(tile.array(f) + tile.at(z, y, x) + tile.place[f], v);
  store_piece(to + tile.a.g.at(z, y, x), v); // rows are padded: cells beyond the last are nobody's
}

/// What a block exchanges with the others, in every field alike.
struct exchange_lists {
  exchanged_piece* published; ///< pieces of the tile that others read
  exchanged_piece* fetched;   ///< pieces of the ring that are pieces of a field, too
  exchanged_piece* apart;     ///< the others, for fetch_piece
  int published_count, fetched_count, apart_count;
};

template <class S, class Real> __device__ exchange_lists list_pieces(const held_tile<S, Real>& tile) {
  constexpr int V = piece_cells<Real>;
  const auto& a = tile.a;
  int inner_lo[3], inner_hi[3]; // of the tile: cells that nobody else reads
  for (int axis = 0; axis < 3; ++axis) {
    inner_lo[axis] = ::min(tile.tile_lo[axis] + a.t.ring_high[axis], tile.tile_hi[axis]);
    inner_hi[axis] = ::max(tile.tile_hi[axis] - a.t.ring_low[axis], inner_lo[axis]);
  }
  inner_lo[2] = ::min((inner_lo[2] + V - 1) / V * V, (tile.tile_hi[2] + V - 1) / V * V);
  inner_hi[2] = ::max(inner_hi[2] / V * V, inner_lo[2]);
  int owned_hi[3] = {tile.tile_hi[0], tile.tile_hi[1], (tile.tile_hi[2] + V - 1) / V * V};

  __shared__ int counts[3];
  if (threadIdx.x < 3) counts[threadIdx.x] = 0;
  __syncthreads();
  exchange_lists lists;
  lists.published = a.lists + index(blockIdx.x) * a.t.exchanged;
  for_pieces_around<V>(tile.tile_lo, owned_hi, inner_lo, inner_hi, [&](int z, int y, int x) {
    lists.published[atomicAdd(counts, 1)] = {tile.at(z, y, x), unsigned(a.g.at(z, y, x) / V)};
  });
  __syncthreads();
  lists.published_count = counts[0];
  lists.fetched = lists.published + lists.published_count;
  exchanged_piece* const end = lists.published + a.t.exchanged;
  // Where the axis wraps, the last piece may hold owned cells and, behind them, cells of the ring.
  if (a.periodic[2]) owned_hi[2] = tile.tile_hi[2] / V * V;
  for_pieces_around<V>(tile.lo, tile.hi, tile.tile_lo, owned_hi, [&](int z, int y, int x) {
    const int wx = tile.wrapped(2, x);
    const index piece = a.g.at(tile.wrapped(0, z), tile.wrapped(1, y), wx) / V;
    if (wx % V == 0 && (!a.periodic[2] || wx + V <= a.g.extents[2]) && piece <= index(~0u))
      lists.fetched[atomicAdd(counts + 1, 1)] = {tile.at(z, y, x), unsigned(piece)};
    else
      *(end - 1 - atomicAdd(counts + 2, 1)) = {tile.at(z, y, x), 0};
  });
  __syncthreads();
  lists.fetched_count = counts[1];
  lists.apart_count = counts[2];
  lists.apart = end - lists.apart_count;
  return lists;
}

/// `Count` pieces of a list for each thread of the block.
template <int Count> struct piece_batch {
  exchanged_piece items[Count];
  bool there[Count];
  __device__ __forceinline__ void load(const exchanged_piece* list, int count, int first) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int at = first + i * resident_threads;
      there[i] = at < count;
      items[i] = there[i] ? list[at] : exchanged_piece{0, 0};
    }
  }
};

/// The K-th field that is exchanged after a stage, or (−1) after whole steps, and whether it has changed.
template <class S> constexpr int exchanged_count(int stage) {
  return stage < 0 ? assigned_count<S> : moved_count<S>(stage);
}
template <class S> constexpr int exchanged_field(int stage, int k) {
  return stage < 0 ? k : moved_target<S>(stage, k).field;
}
template <class S> constexpr bool has_changed(int stage, int k) {
  return stage < 0 || moved_target<S>(stage, k).root >= 0;
}

/// Fresh rings, after a stage or (−1) after whole steps: each block publishes what it has changed and others
/// read. From then on `now` is the buffers with these fields.
template <class S, int Stage, class Real>
__device__ void exchange(const held_tile<S, Real>& tile, buffers<S, Real>& now, const exchange_lists& lists,
                         cooperative_groups::grid_group& all) {
  constexpr int V = piece_cells<Real>;
  constexpr int fields = exchanged_count<S>(Stage);
  constexpr int together = fields > 6 ? 1 : 6 / fields; // pieces of each field in flight

  piece_batch<together> batch;
  for (int i = threadIdx.x; i < lists.published_count; i += together * resident_threads) {
    batch.load(lists.published, lists.published_count, i);
    Real v[fields][together][V];
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if constexpr (has_changed<S>(Stage, k))
        load_piece(tile.array(f) + batch.items[j].held + tile.place[f], v[k][j]);
    });
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if constexpr (has_changed<S>(Stage, k))
        if (batch.there[j]) store_piece(now.template next<f>() + index(batch.items[j].piece) * V, v[k][j]);
    });
  }
  unrolled<fields>([&](auto k) {
    constexpr int f = exchanged_field<S>(Stage, k);
    if constexpr (has_changed<S>(Stage, k)) now.swapped[f] = !now.swapped[f];
  });
  batch.load(lists.fetched, lists.fetched_count, threadIdx.x); // before the barrier: one trip to memory less
  all.sync();
  for (int i = threadIdx.x; i < lists.fetched_count;) {
    Real v[fields][together][V];
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      load_piece_if(batch.there[j], now.template state<f>() + index(batch.items[j].piece) * V, v[k][j]);
    });
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if (batch.there[j]) store_piece_shared(tile.array(f) + batch.items[j].held + tile.place[f], v[k][j]);
    });
    i += together * resident_threads;
    batch.load(lists.fetched, lists.fetched_count, i);
  }
  for (int i = threadIdx.x; i < lists.apart_count; i += resident_threads) {
    const int at = lists.apart[i].held - tile.a.t.guard;
    unrolled<fields>([&](auto k) {
      constexpr int f = exchanged_field<S>(Stage, k);
      fetch_piece(tile, f, now.template state<f>(), tile.origin[0] + at / tile.plane,
                  tile.origin[1] + at % tile.plane / tile.pitch, tile.origin[2] + at % tile.pitch);
    });
  }
  __syncthreads();
}

/// The block's share of a stage on the cells that are not in tiles, from memory to memory.
template <class S, int Stage, class Real>
__device__ void stream_stage(const resident_arguments<S, Real>& a, const buffers<S, Real>& now) {
  constexpr int Rows = per_step_unit<S, Stage, Real>(), axis = slide_axis<S>, warps = resident_threads / 32;
  constexpr int size[3] = {1, Rows, 32 * piece_cells<Real>}; // of a unit
  const int z0 = axis == 0 ? a.t.cells[0] : 0, y0 = axis == 1 ? a.t.cells[1] : 0;
  const int x0 = axis == 2 ? a.t.cells[2] : 0;
  const int nz = int(a.g.extents[0]) - z0, ny = (int(a.g.extents[1]) - y0 + size[1] - 1) / size[1];
  const int nx = (int(a.g.extents[2]) - x0 + size[2] - 1) / size[2];
  // The warps of a block take units one above the other: neighbours find each other's rows in L1. Every other
  // time the block goes backwards, beginning with what L2 still holds.
  const index units = index(nz) * ny * nx;
  const int begin = int(units * blockIdx.x / gridDim.x), end = int(units * (blockIdx.x + 1) / gridDim.x);
  constexpr target written = step_program<S>::value.targets[step_program<S>::value.first[Stage]];
  const bool backwards = now.swapped[written.field];
  for (int i = int(threadIdx.x) / 32; i < end - begin; i += warps) {
    const int u = backwards ? end - 1 - i : begin + i, strip = u / ny;
    update_unit<S, Stage, Real>(now, a.active[Stage], a.ends, z0 + strip / nx, y0 + u % ny * size[1],
                                x0 + strip % nx * size[2] + int(threadIdx.x) % 32 * piece_cells<Real>);
  }
}

/// The cells of a box, one after another for each thread: f(z, y, x).
template <class F>
__device__ __forceinline__ void for_cells(const cell_box& box, index first, index stride, F&& f) {
  const index nx = ::max(0, box.hi[2] - box.lo[2]), ny = ::max(0, box.hi[1] - box.lo[1]);
  const index cells = nx * ny * ::max(0, box.hi[0] - box.lo[0]);
  for (index i = first; i < cells; i += stride)
    f(box.lo[0] + int(i / nx / ny), box.lo[1] + int(i / nx % ny), box.lo[2] + int(i % nx));
}

/// A block's share of the residual.
template <class S, bool Partial, class Real>
__device__ double residual_share(const held_tile<S, Real>& tile, const buffers<S, Real>& now) {
  using reduced = residual_program<S>;
  constexpr int root = reduced::value.targets[0].root, axis = slide_axis<S>;
  const auto& a = tile.a;
  accumulator sum(reduced::kind);
  const auto take = [&](double v) { sum.take(reduced::kind == reduction_kind::norm2 ? v * v : v); };
  cell_box own = a.reduced, rest = a.reduced;
  for (int i = 0; i < 3; ++i) {
    own.lo[i] = ::max(a.reduced.lo[i], tile.tile_lo[i]);
    own.hi[i] = ::min(a.reduced.hi[i], tile.tile_hi[i]);
    rest.lo[i] = ::max(a.reduced.lo[i], i == axis ? a.t.cells[i] : 0);
    rest.hi[i] = ::min(a.reduced.hi[i], int(a.g.extents[i]));
  }
  for_cells(own, threadIdx.x, resident_threads, [&](int z, int y, int x) {
    take(evaluate<reduced, root, Real>(held_cell<S, Real>{tile, now.step_number, z, y, x}));
  });
  if constexpr (Partial) {
    grid<S, Real> g = a.g;
    g.step_number = now.step_number;
    unrolled<field_count<S>>([&](auto f) { g.state[f] = now.template state<f()>(); });
    for_cells(rest, index(blockIdx.x) * resident_threads + threadIdx.x, index(gridDim.x) * resident_threads,
              [&](int z, int y, int x) {
                take(evaluate<reduced, root, Real>(cell<S, Real, true>{g, z, y, x}));
              });
  }
  return combine_block<resident_threads>(sum);
}

} // namespace detail

/// Launch: cooperative, one block of `resident_threads` threads per tile, `t.shared_bytes()` of dynamic
/// shared memory.
/// \tparam Partial the tiles cover a part of the grid
template <class S, class Real, bool Partial>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_arguments<S, Real> a) {
  constexpr int V = piece_cells<Real>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto all = cooperative_groups::this_grid();

  detail::held_tile<S, Real> tile{a, reinterpret_cast<Real*>(shared_bytes)};
  const int number[3] = {int(blockIdx.x) / a.t.count[2] / a.t.count[1],
                         int(blockIdx.x) / a.t.count[2] % a.t.count[1], int(blockIdx.x) % a.t.count[2]};
  for (int axis = 0; axis < 3; ++axis) {
    tile.tile_lo[axis] = number[axis] * a.t.size[axis];
    tile.tile_hi[axis] = ::min(a.t.cells[axis], tile.tile_lo[axis] + a.t.size[axis]);
    tile.lo[axis] = tile.origin[axis] = tile.tile_lo[axis] - a.t.ring_low[axis];
    tile.hi[axis] = tile.tile_hi[axis] + a.t.ring_high[axis];
    if (!a.periodic[axis]) {
      tile.lo[axis] = ::max(tile.lo[axis], 0);
      tile.hi[axis] = ::min(tile.hi[axis], int(a.g.extents[axis]));
    }
  }
  tile.pitch = a.t.held[2];
  tile.plane = a.t.held[1] * a.t.held[2];
  buffers<S, Real> now{a.g, Real(0)};
  unrolled<field_count<S>>([&](auto f) {
    tile.place[f] = 0;
    detail::for_pieces<V>(tile.lo, tile.hi,
                          [&](int z, int y, int x) { detail::fetch_piece(tile, f, a.g.state[f], z, y, x); });
  });
  const bool alone = !Partial && gridDim.x == 1 && !a.periodic[0] && !a.periodic[1] && !a.periodic[2];
  detail::exchange_lists lists{};
  if (!alone) lists = detail::list_pieces(tile);
  __syncthreads();

  index done = 0;
  int since = 0; // steps since the rings were fresh
  bool converged = false;
  double residual = 0;
  const auto refresh = [&] {
    if (!Partial && !alone) detail::exchange<S, -1>(tile, now, lists, all);
    since = 0;
  };
  while (done < a.steps) {
    if (since == a.t.depth) refresh();
    now.step_number = static_cast<Real>(a.first_step + done);
    unrolled<stage_count<S>>([&](auto stage) {
      const auto sweep = [&] {
        detail::resident_stage<S, stage(), Real>(tile, now.step_number,
                                                 detail::needed_after<S, stage(), Partial>(tile, since));
      };
      if constexpr (Partial) {
#pragma unroll 1
        for (unsigned turn = 0; turn < 2; ++turn) // half of the blocks stream while the others sweep
          if ((turn + blockIdx.x) % 2 == 0)
            detail::stream_stage<S, stage()>(a, now);
          else
            sweep();
        detail::exchange<S, stage()>(tile, now, lists, all);
      } else {
        sweep();
      }
    });
    ++done;
    ++since;
    if constexpr (stet::detail::has_residual<S>) {
      if (a.check_every == 0 || done % a.check_every != 0) continue;
      refresh();
      now.step_number = static_cast<Real>(a.first_step + done);
      const double mine = detail::residual_share<S, Partial>(tile, now);
      if (threadIdx.x == 0) a.partial[blockIdx.x] = mine;
      all.sync();
      constexpr auto kind = residual_program<S>::kind;
      accumulator total(kind); // every block adds up alike, so all decide alike
      for (unsigned b = 0; b < gridDim.x; ++b) total.take(__ldcg(a.partial + b));
      residual = kind == reduction_kind::norm2 ? ::sqrt(total.value) : total.value;
      converged = residual <= a.tolerance;
      all.sync(); // before `partial` is written again
      if (converged) break;
    }
  }
  all.sync(); // before tiles are written: others may still read rings from there
  const int owned_hi[3] = {tile.tile_hi[0], tile.tile_hi[1], (tile.tile_hi[2] + V - 1) / V * V};
  unrolled<assigned_count<S>>([&](auto f) {
    Real* const to = const_cast<Real*>(now.template state<f()>());
    detail::for_pieces<V>(tile.tile_lo, owned_hi,
                          [&](int z, int y, int x) { detail::publish_piece(tile, f, to, z, y, x); });
  });
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *a.result = {done, residual, converged};
    unrolled<field_count<S>>([&](auto f) { a.result->swapped[f] = now.swapped[f]; });
  }
}

} // namespace stet::cuda
