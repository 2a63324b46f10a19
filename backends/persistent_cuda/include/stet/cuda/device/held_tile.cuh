#pragma once
#include <cuda_pipeline.h>
#include <stet/backend.hpp>
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/kernels/passes.cuh>
#include <stet/cuda/kernels/per_step.cuh>
#include <stet/cuda/plan/tiling.hpp>
#include <stet/unrolled.hpp>

/// A block's tile of all fields in shared memory: where it lies, its cells, from memory and back.
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
  pass_progress progress; ///< of temporal; no pointer: resident
  exchanged_piece* lists; ///< of resident: `t.exchanged` per block
  double* partial;        ///< one per block
  resident_result<S>* result;
};

namespace detail {

/// Where a block's tile lies; in shared memory, since registers are for cells. Cells have the coordinates of
/// the grid; in rings beyond periodic faces these run on below 0 and above n.
struct tile_bounds {
  int origin[3];              ///< the arrays' first cell: where the ring would begin were there no faces
  int lo[3], hi[3];           ///< cells held
  int tile_lo[3], tile_hi[3]; ///< cells owned
};

/// Of the tile with a number.
template <class S, class Real>
__device__ __forceinline__ tile_bounds bounds_of(const resident_arguments<S, Real>& a, int number) {
  const int along[3] = {number / a.t.count[2] / a.t.count[1], number / a.t.count[2] % a.t.count[1],
                        number % a.t.count[2]};
  tile_bounds b;
  for (int axis = 0; axis < 3; ++axis) {
    b.tile_lo[axis] = along[axis] * a.t.size[axis];
    b.tile_hi[axis] = ::min(a.t.cells[axis], b.tile_lo[axis] + a.t.size[axis]);
    b.lo[axis] = b.origin[axis] = b.tile_lo[axis] - a.t.ring_low[axis];
    b.hi[axis] = b.tile_hi[axis] + a.t.ring_high[axis];
    if (!a.periodic[axis]) {
      b.lo[axis] = ::max(b.lo[axis], 0);
      b.hi[axis] = ::min(b.hi[axis], int(a.g.extents[axis]));
    }
  }
  return b;
}

/// A block's view of its arrays in shared memory.
template <class S, class Real> struct held_tile {
  const resident_arguments<S, Real>& a;
  Real* arrays;
  const tile_bounds& bounds;
  int place[field_count<S>]; ///< cells that an array lies further on: 0 or the slide

  __device__ __forceinline__ int pitch() const { return a.t.held[2]; }
  __device__ __forceinline__ int plane() const { return a.t.held[1] * a.t.held[2]; }
  __device__ __forceinline__ int at(int z, int y, int x) const {
    return a.t.guard + (z - bounds.origin[0]) * plane() + (y - bounds.origin[1]) * pitch() +
           (x - bounds.origin[2]);
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

/// Calls f(z, y, x of a piece) for the pieces of a box whose first x is a multiple of a piece.
template <int V, class F>
__device__ __forceinline__ void for_pieces(const int (&lo)[3], const int (&hi)[3], F&& f) {
  if (hi[0] <= lo[0] || hi[1] <= lo[1] || hi[2] <= lo[2]) return;
  const int pieces = (hi[2] - lo[2] + V - 1) / V, rows = hi[1] - lo[1], planes = hi[0] - lo[0];
  const int thread = int(threadIdx.x);
  int piece = thread % pieces, row = thread / pieces % rows, plane = thread / pieces / rows;
  // From a thread's piece to its next one, without a division.
  const int next_piece = resident_threads % pieces, next_row = resident_threads / pieces % rows;
  const int next_plane = resident_threads / pieces / rows;
#pragma unroll 1
  while (plane < planes) {
    f(lo[0] + plane, lo[1] + row, lo[2] + piece * V);
    piece += next_piece, row += next_row, plane += next_plane;
    if (piece >= pieces) piece -= pieces, ++row;
    if (row >= rows) row -= rows, ++plane;
  }
}

/// Calls for_pieces for `whole` minus `inner`, which lies inside it.
template <int V, class F>
__device__ __forceinline__ void for_pieces_around(const int (&whole_lo)[3], const int (&whole_hi)[3],
                                                  const int (&inner_lo)[3], const int (&inner_hi)[3], F&& f) {
#pragma unroll 1
  for (int side = 0; side < 6; ++side) { // slabs below and above, along z, then y, then x
    const int axis = side / 2;
    int lo[3], hi[3];
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      lo[b] = b < axis ? inner_lo[b] : whole_lo[b];
      hi[b] = b < axis ? inner_hi[b] : whole_hi[b];
      if (b == axis && side % 2 == 0) hi[b] = inner_lo[b];
      if (b == axis && side % 2 == 1) lo[b] = inner_hi[b];
    }
    for_pieces<V>(lo, hi, f);
  }
}

/// Whether a held piece is a piece of the fields, too. Where the axis wraps, one that holds the last cells of
/// a row goes on with the first; rows that do not wrap are padded: what is beyond the last cell is nobody's.
template <class S, class Real>
__device__ __forceinline__ bool is_whole(const held_tile<S, Real>& tile, int wrapped_x) {
  constexpr int V = piece_cells<Real>;
  return wrapped_x % V == 0 && (!tile.a.periodic[2] || wrapped_x + V <= tile.a.g.extents[2]);
}
/// Reads a piece that is not, cell by cell, from memory that other blocks write during the launch.
template <class S, class Real>
__device__ __forceinline__ void fetch_cells(const held_tile<S, Real>& tile, int f, const Real* from, int z,
                                            int y, int x) {
  const auto& g = tile.a.g;
  Real* to = tile.array(f) + tile.at(z, y, x) + tile.place[f];
  const Real* line = from + g.at(tile.wrapped(0, z), tile.wrapped(1, y), 0);
#pragma unroll
  for (int i = 0; i < piece_cells<Real>; ++i) {
    const int cell = tile.wrapped(2, x + i);
    if (cell < g.extents[2]) to[i] = __ldcg(line + cell);
  }
}

/// Fills the arrays from memory: the copies of all pieces are under way together.
template <class S, class Real>
__device__ __forceinline__ void load_tile(held_tile<S, Real>& tile, const buffers<S, Real>& now) {
  constexpr int V = piece_cells<Real>;
  for (int& place : tile.place) place = 0;
  for_pieces<V>(tile.bounds.lo, tile.bounds.hi, [&](int z, int y, int x) {
    const int wx = tile.wrapped(2, x), to = tile.at(z, y, x);
    const bool whole = is_whole(tile, wx);
    const index from = tile.a.g.at(tile.wrapped(0, z), tile.wrapped(1, y), wx);
    unrolled<field_count<S>>(
        [&](auto f) { send_piece_if(0, whole, tile.array(f) + to, now.template state<f()>() + from); });
    if (!whole)
      unrolled<field_count<S>>([&](auto f) { fetch_cells(tile, f, now.template state<f()>(), z, y, x); });
  });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// Writes the owned cells of the assigned fields, rims included, each field to its `next` buffer or, in
/// place, to the one that holds its state.
template <bool InPlace, class S, class Real>
__device__ __forceinline__ void store_tile(const held_tile<S, Real>& tile, const buffers<S, Real>& now) {
  constexpr int V = piece_cells<Real>;
  const int owned_hi[3] = {tile.bounds.tile_hi[0], tile.bounds.tile_hi[1],
                           (tile.bounds.tile_hi[2] + V - 1) / V * V};
  for_pieces<V>(tile.bounds.tile_lo, owned_hi, [&](int z, int y, int x) {
    const int from = tile.at(z, y, x);
    const index to = tile.a.g.at(z, y, x);
    unrolled<assigned_count<S>>([&](auto f) {
      Real v[V];
      load_piece(tile.array(f) + from + tile.place[f], v);
      if constexpr (InPlace)
        store_piece(const_cast<Real*>(now.template state<f()>()) + to, v);
      else
        store_piece(now.template next<f()>() + to, v); // beyond the last cell: padding
    });
  });
}

} // namespace detail

} // namespace stet::cuda
