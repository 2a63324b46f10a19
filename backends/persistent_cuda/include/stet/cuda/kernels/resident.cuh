#pragma once
#include <cooperative_groups.h>
#include <stet/backend.hpp>
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/device/vector.cuh>
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
///     new state   A B C . . . . . .                A is written when a, b (and what is before a) have been
///     read
///
/// The next stage sweeps down and writes back. Bytes per cell between first load and last store: none from
/// memory but the rings.
namespace stet::cuda {

/// What the kernel tells.
struct resident_result {
  index steps;
  double residual; ///< at the last check
  bool converged;
};

/// What the kernel is told; by value.
template <class S, class Real> struct resident_arguments {
  static constexpr int stages = stage_count<S>;
  grid<S, Real> g; ///< `state` holds the fields; on return `next` does
  tiling t;
  bool periodic[3];                               ///< the axis wraps: the ring goes on beyond its faces
  int active_lo[stages][3], active_hi[stages][3]; ///< cells that a stage updates
  int inner_lo[stages][3], inner_hi[stages][3];   ///< of these, cells none of whose accesses leaves the grid
  bool folds[stages];                             ///< some cells are active, but not inner
  index first_step, steps;
  index check_every; ///< 0: no checks
  double tolerance;
  int reduce_lo[3], reduce_hi[3];
  double* partial; ///< one per block
  resident_result* result;
};

namespace detail {

/// Fields that a stage writes anew: its targets. When stages share some targets but not all, every assigned
/// field (those without a right-hand side are carried over), so that fields of one stage always lie at the
/// same place.
template <class S> constexpr bool moves(int stage, int field) {
  constexpr auto& p = step_program<S>::value;
  bool separate = true;
  for (int s = 0; s < p.stage_count; ++s)
    for (int r = 0; r < p.stage_count; ++r) {
      int common = 0;
      for (int f = 0; f < assigned_count<S>; ++f) common += writes_field(p, s, f) && writes_field(p, r, f);
      if (common != 0 && (common != writes(p, s) || common != writes(p, r))) separate = false;
    }
  return field < assigned_count<S> && (!separate || writes_field(p, stage, field));
}
template <class S> constexpr int moved_count(int stage) {
  int n = 0;
  for (int f = 0; f < assigned_count<S>; ++f) n += moves<S>(stage, f);
  return n;
}
/// The number of the K-th field that a stage moves, and the node of its right-hand side (−1: carried over).
template <class S> constexpr target moved_target(int stage, int k) {
  constexpr auto& p = step_program<S>::value;
  for (int f = 0; f < assigned_count<S>; ++f)
    if (moves<S>(stage, f) && k-- == 0) {
      for (int i = p.first[stage]; i < p.first[stage + 1]; ++i)
        if (p.targets[i].field == f) return {f, p.targets[i].root};
      return {f, -1};
    }
  return {-1, -1};
}

/// Axis along which units lie and updates sweep; for rank 1 units are single pieces.
template <class S> inline constexpr int slide_axis = 3 - rank_of<S>;
template <class S> inline constexpr int row_axis = rank_of<S> == 3 ? 0 : 1;
template <class S, int Stage, class Real> constexpr int resident_unit() {
  if (rank_of<S> == 1) return 1;
  return unit_length<S, Stage, row_axis<S>>(piece_cells<Real>, moved_count<S>(Stage), 80);
}

/// A block's view of its arrays in shared memory. Cells have the coordinates of the grid; in rings beyond
/// periodic faces these run on below 0 and above n.
template <class S, class Real> struct held_tile {
  const resident_arguments<S, Real>& a;
  Real* arrays;
  int lo[3], hi[3];           ///< cells held
  int tile_lo[3], tile_hi[3]; ///< cells owned
  int plane, pitch;
  int place[field_count<S>]; ///< cells that an array lies further on: 0 or the slide

  __device__ __forceinline__ int at(int z, int y, int x) const {
    return a.t.guard + (z - lo[0]) * plane + (y - lo[1]) * pitch + (x - lo[2]);
  }
  __device__ __forceinline__ Real* array(int f) const { return arrays + f * a.t.array_cells; }
  __device__ __forceinline__ int slide_cells() const {
    return a.t.slide * (a.t.slide_axis == 0 ? plane : a.t.slide_axis == 1 ? pitch : 1);
  }
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

  __device__ __forceinline__ void load(const held_tile<S, Real>& tile, int at) {
    unrolled<rows.count>([&](auto i) {
      constexpr row r = rows.items[i]; // constexpr: or the device would read host memory
      const Real* own =
          tile.array(r.field) + at + tile.place[r.field] + r.dz * tile.plane + r.dy * tile.pitch;
      constexpr int low = (r.low + V - 1) / V, high = (r.high + V - 1) / V;
#pragma unroll
      for (int p = -low; p <= high; ++p) load_piece(own + p * V, value[i][before + p]);
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

/// Calls f(number, z, y, x) for the held cells whose accesses in a stage cross a face that is not fixed, each
/// by one thread. Returns their count.
template <class S, int Stage, class Real, class F>
__device__ __forceinline__ int for_face_cells(const held_tile<S, Real>& tile, F&& f) {
  constexpr reach around = reach_of(step_program<S>::value, Stage, field_count<S>);
  const auto& a = tile.a;
  int lo[3], hi[3], inner_lo[3], inner_hi[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    // In rings, cells whose neighbours are not held are no longer used.
    const bool low_face = tile.lo[axis] == 0 && !a.periodic[axis];
    const bool high_face = tile.hi[axis] == a.g.extents[axis] && !a.periodic[axis];
    lo[axis] = ::max(a.active_lo[Stage][axis], tile.lo[axis] + (low_face ? 0 : around.low[axis]));
    hi[axis] =
        ::max(lo[axis], ::min(a.active_hi[Stage][axis], tile.hi[axis] - (high_face ? 0 : around.high[axis])));
    inner_lo[axis] = ::min(hi[axis], ::max(lo[axis], a.inner_lo[Stage][axis]));
    inner_hi[axis] = ::max(inner_lo[axis], ::min(hi[axis], a.inner_hi[Stage][axis]));
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

/// One stage on all held cells. The outermost cells of the rings get arbitrary values: they are no longer
/// used.
template <class S, int Stage, class Real>
__device__ void resident_stage(held_tile<S, Real>& tile, Real step_number) {
  using program = step_program<S>;
  constexpr int V = piece_cells<Real>, rank = rank_of<S>;
  constexpr int Rows = resident_unit<S, Stage, Real>();
  constexpr int moved = moved_count<S>(Stage);
  const auto& a = tile.a;
  const auto &active_lo = a.active_lo[Stage], &active_hi = a.active_hi[Stage];

  // Cells at faces that are not rims first, while all old values are there.
  Real* const folded = tile.array(field_count<S>);
  int faces = 0;
  if (a.folds[Stage]) {
    faces = for_face_cells<S, Stage>(tile, [&](int n, int z, int y, int x) {
      unrolled<moved>([&](auto k) {
        constexpr target t = moved_target<S>(Stage, k);
        if constexpr (t.root >= 0)
          folded[n * moved + k] =
              evaluate<program, t.root, Real>(held_cell<S, Real>{tile, step_number, z, y, x});
      });
    });
    __syncthreads();
  }

  const int pieces = rank == 1 ? 1 : a.t.held[2] / V;
  const int cross = rank == 3 ? a.t.held[1] * pieces : pieces;
  const int along = rank == 1 ? a.t.held[2] / V : a.t.held[3 - rank];
  const int line = rank == 3 ? tile.plane : tile.pitch; // from cell to cell of a unit
  const int units = (along + Rows - 1) / Rows, per_band = resident_threads / cross;
  const int my_unit = int(threadIdx.x) / cross, my_cross = int(threadIdx.x) % cross;

  constexpr int first_moved = moved_target<S>(Stage, 0).field;
  const bool up = tile.place[first_moved] != 0; // towards larger coordinates, writing at place 0
  const int write_place = up ? 0 : tile.slide_cells();

  for (int band = 0; band < units; band += per_band) {
    const int position = band + my_unit, unit = up ? position : units - 1 - position;
    const bool mine = my_unit < per_band && position < units;
    int z = tile.lo[0], y = tile.lo[1], x = tile.lo[2];
    if constexpr (rank == 1) x += unit * V;
    if constexpr (rank == 2) y += unit * Rows, x += my_cross * V;
    if constexpr (rank == 3) z += unit * Rows, y += my_cross / pieces, x += my_cross % pieces * V;
    const int at = tile.at(z, y, x);
    Real result[moved][Rows][V];
    if (mine) {
      unit_window<S, Stage, Real, Rows> window;
      window.load(tile, at);
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
    for_face_cells<S, Stage>(tile, [&](int n, int z, int y, int x) {
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

/// Steps without exchange, then fresh rings: what a block does with its neighbours.
template <class S, class Real>
__device__ void exchange(const held_tile<S, Real>& tile, bool into_next,
                         cooperative_groups::grid_group& all) {
  constexpr int V = piece_cells<Real>;
  const auto& a = tile.a;
  int inner_lo[3], inner_hi[3]; // of the tile: cells that no other ring holds
  for (int axis = 0; axis < 3; ++axis) {
    inner_lo[axis] = ::min(tile.tile_lo[axis] + a.t.ring_high[axis], tile.tile_hi[axis]);
    inner_hi[axis] = ::max(tile.tile_hi[axis] - a.t.ring_low[axis], inner_lo[axis]);
  }
  inner_lo[2] = ::min((inner_lo[2] + V - 1) / V * V, (tile.tile_hi[2] + V - 1) / V * V);
  inner_hi[2] = ::max(inner_hi[2] / V * V, inner_lo[2]);
  int owned_hi[3] = {tile.tile_hi[0], tile.tile_hi[1], (tile.tile_hi[2] + V - 1) / V * V};
#pragma unroll
  for (int f = 0; f < assigned_count<S>; ++f) {
    Real* const to = into_next ? a.g.next[f] : const_cast<Real*>(a.g.state[f]);
    for_pieces_around<V>(tile.tile_lo, owned_hi, inner_lo, inner_hi,
                         [&](int z, int y, int x) { publish_piece(tile, f, to, z, y, x); });
  }
  all.sync();
  // Where the axis wraps, the last piece may hold owned cells and, behind them, cells of the ring.
  if (a.periodic[2]) owned_hi[2] = tile.tile_hi[2] / V * V;
#pragma unroll
  for (int f = 0; f < assigned_count<S>; ++f) {
    const Real* const from = into_next ? a.g.next[f] : a.g.state[f];
    for_pieces_around<V>(tile.lo, tile.hi, tile.tile_lo, owned_hi,
                         [&](int z, int y, int x) { fetch_piece(tile, f, from, z, y, x); });
  }
  __syncthreads();
}

} // namespace detail

/// Launch: cooperative, one block of `resident_threads` threads per tile, `t.shared_bytes()` of dynamic
/// shared memory.
template <class S, class Real>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_arguments<S, Real> a) {
  constexpr int V = piece_cells<Real>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto all = cooperative_groups::this_grid();

  detail::held_tile<S, Real> tile{a, reinterpret_cast<Real*>(shared_bytes)};
  const int number[3] = {int(blockIdx.x) / a.t.count[2] / a.t.count[1],
                         int(blockIdx.x) / a.t.count[2] % a.t.count[1], int(blockIdx.x) % a.t.count[2]};
  for (int axis = 0; axis < 3; ++axis) {
    const int n = int(a.g.extents[axis]);
    tile.tile_lo[axis] = number[axis] * a.t.size[axis];
    tile.tile_hi[axis] = ::min(n, tile.tile_lo[axis] + a.t.size[axis]);
    tile.lo[axis] = tile.tile_lo[axis] - a.t.ring_low[axis];
    tile.hi[axis] = tile.tile_hi[axis] + a.t.ring_high[axis];
    if (!a.periodic[axis]) {
      tile.lo[axis] = ::max(tile.lo[axis], 0);
      tile.hi[axis] = ::min(tile.hi[axis], n);
    }
  }
  tile.pitch = a.t.held[2];
  tile.plane = a.t.held[1] * a.t.held[2];
  for (int f = 0; f < field_count<S>; ++f) {
    tile.place[f] = 0;
    detail::for_pieces<V>(tile.lo, tile.hi,
                          [&](int z, int y, int x) { detail::fetch_piece(tile, f, a.g.state[f], z, y, x); });
  }
  __syncthreads();

  index done = 0;
  int since = 0; // steps since the rings were fresh
  bool into_next = true, converged = false;
  double residual = 0;
  const bool alone = gridDim.x == 1 && !a.periodic[0] && !a.periodic[1] && !a.periodic[2];
  const auto refresh = [&] {
    if (!alone) detail::exchange(tile, into_next, all);
    into_next = !into_next;
    since = 0;
  };
  while (done < a.steps) {
    if (since == a.t.depth) refresh();
    const Real step_number = static_cast<Real>(a.first_step + done);
    unrolled<stage_count<S>>(
        [&](auto stage) { detail::resident_stage<S, stage(), Real>(tile, step_number); });
    ++done;
    ++since;
    if constexpr (stet::detail::has_residual<S>) {
      if (a.check_every == 0 || done % a.check_every != 0) continue;
      using reduced = residual_program<S>;
      refresh();
      accumulator sum(reduced::kind);
      int lo[3], hi[3];
      for (int axis = 0; axis < 3; ++axis) {
        lo[axis] = ::max(tile.tile_lo[axis], a.reduce_lo[axis]);
        hi[axis] = ::max(lo[axis], ::min(tile.tile_hi[axis], a.reduce_hi[axis]));
      }
      const int nx = hi[2] - lo[2], ny = hi[1] - lo[1];
      for (int i = threadIdx.x; i < nx * ny * (hi[0] - lo[0]); i += resident_threads) {
        const double v = evaluate<reduced, reduced::value.targets[0].root, Real>(
            detail::held_cell<S, Real>{tile, static_cast<Real>(a.first_step + done), lo[0] + i / nx / ny,
                                       lo[1] + i / nx % ny, lo[2] + i % nx});
        sum.take(reduced::kind == reduction_kind::norm2 ? v * v : v);
      }
      const double mine = detail::combine_block<resident_threads>(sum);
      if (threadIdx.x == 0) a.partial[blockIdx.x] = mine;
      all.sync();
      accumulator total(reduced::kind); // every block adds up alike, so all decide alike
      for (unsigned b = 0; b < gridDim.x; ++b) total.take(__ldcg(a.partial + b));
      residual = reduced::kind == reduction_kind::norm2 ? ::sqrt(total.value) : total.value;
      converged = residual <= a.tolerance;
      all.sync(); // before `partial` is written again
      if (converged) break;
    }
  }
  all.sync(); // before `next` is written: others may still read rings from it
  const int owned_hi[3] = {tile.tile_hi[0], tile.tile_hi[1], (tile.tile_hi[2] + V - 1) / V * V};
  for (int f = 0; f < assigned_count<S>; ++f)
    detail::for_pieces<V>(tile.tile_lo, owned_hi,
                          [&](int z, int y, int x) { detail::publish_piece(tile, f, a.g.next[f], z, y, x); });
  if (blockIdx.x == 0 && threadIdx.x == 0) *a.result = {done, residual, converged};
}

} // namespace stet::cuda
