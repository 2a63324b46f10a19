#pragma once
#include <cuda_pipeline.h>
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/kernels/passes.cuh>
#include <stet/cuda/plan/plane_tiling.hpp>
#include <stet/grid.hpp>
#include <stet/unrolled.hpp>

/// The strategy temporal in rank 3: tiles of a plane stream along z with several time levels under way, for
/// stencils with one stage. After AN5D (Matsumura et al., CGO 2020) and EBISU (Zhang et al., ICS 2023).
///
/// Level 0 is what memory holds. In iteration s of a tile level t updates plane s − skew · (t − 1): all it
/// reads of the level before has been updated in earlier iterations, so that one block barrier per iteration
/// does.
///
///     iteration    s−2   s−1    s        reach 1: skew 2
///     level 1      s−2   s−1    s        reads planes s−1, s, s+1 of level 0
///     level 2      s−4   s−3   s−2       reads planes s−3, s−2, s−1 of level 1
///
/// Level 0 and coefficients lie in rings of planes in shared memory, into which each lane copies its own
/// pieces ahead of their use. The planes of other levels that the next one still reads are in registers. Rows
/// at the edges of a warp are shown to the warps above and below through shared memory; x-neighbours come by
/// shuffles.
namespace stet::cuda {

template <class S, class Real> struct plane_arguments {
  grid<S, Real> g; ///< passes read `state` and write `next`, and back
  plane_tiling t;
  int active_lo[3], active_hi[3]; ///< the cells that are updated; beyond the grid's where it is periodic
  bool periodic[3];
  index first_step;
  int steps;
  pass_progress progress;
};

namespace detail {

/// The rows around a warp's rows that a level reads, each lane its own piece with the cells beside it.
template <class S, class Real, int Height> struct level_rows {
  using around = plane_reach<S>;
  static constexpr int V = piece_cells<Real>, margin = around::margin;
  Real value[around::planes.count][around::above + Height + around::below][V + 2 * margin];

  template <int Plane, int Row> __device__ __forceinline__ void enter(const Real (&piece)[V]) {
    Real(&row)[V + 2 * margin] = value[Plane][around::above + Row];
#pragma unroll
    for (int i = 0; i < V; ++i) row[margin + i] = piece[i];
    constexpr auto need = around::need(Plane, Row, Height);
#pragma unroll
    for (int k = 1; k <= need.low; ++k)
      row[margin - k] = __shfl_up_sync(0xffffffffu, row[margin + (k + V - 1) / V * V - k], (k + V - 1) / V);
#pragma unroll
    for (int k = 0; k < need.high; ++k)
      row[margin + V + k] = __shfl_down_sync(0xffffffffu, row[margin + k % V], k / V + 1);
  }
};

/// Where a lane's cells are, as coordinates are counted.
struct plane_position {
  int z, y, x; ///< of the first cell
  int n_y;     ///< 0: no cell is beyond a periodic face along y
};

/// Cell I of a lane's piece in row J of its warp as evaluate() sees it.
template <class S, class Real, int Height, int J, int I> struct plane_cell {
  using rows_type = level_rows<S, Real, Height>;
  const rows_type& rows;
  const grid<S, Real>& g;
  const plane_position& at;
  index step_number;

  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int plane = rows_type::around::planes.find(F, Dz);
    return rows.value[plane][rows_type::around::above + J + Dy][rows_type::margin + I + Dx];
  }
  template <int P> __device__ __forceinline__ Real param() const { return g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    if constexpr (Axis == 0) return static_cast<Real>(at.z);
    if constexpr (Axis == 1) return static_cast<Real>(at.n_y > 0 ? (at.y + J) % at.n_y : at.y + J);
    return static_cast<Real>(at.x + I);
  }
  __device__ __forceinline__ Real step() const { return static_cast<Real>(step_number); }
};

/// i brought into [0, n) where an axis is periodic; elsewhere the nearest cell: nobody looks at it.
__device__ __forceinline__ int folded_plane(int i, int n, bool periodic) {
  if (!periodic) return ::max(0, ::min(i, n - 1));
  while (i < 0) i += n;
  while (i >= n) i -= n;
  return i;
}

/// A block that goes over its tiles.
template <class S, class Real, int Depth> struct plane_block {
  static constexpr plane_shape shape = plane_shape_with<S, Real>(Depth);
  using around = plane_reach<S>;
  static constexpr int fields = field_count<S>, assigned = assigned_count<S>;
  static constexpr int V = piece_cells<Real>, H = shape.height, row_cells = 32 * V;
  static constexpr int U = around::window, skew = around::skew, ahead = shape.ahead;
  static constexpr int plane_cells = shape.rows() * row_cells;
  static constexpr int edge_rows = around::edge_rows(assigned), late = around::edges_late;
  static constexpr int edge_cells = (Depth - 1) * shape.warps * edge_rows * row_cells; ///< of a slot
  static constexpr int turns = shape.turns ? U : 1;
  static_assert(shape.depth == Depth, "registers and shared memory hold the levels");
  using rows_type = level_rows<S, Real, H>;
  using piece = Real[V];

  static constexpr int ring_cells(int field) {
    return around::ring_planes(field, Depth, ahead) * plane_cells;
  }
  static constexpr int ring_begin(int field) {
    return around::ring_planes_before(field, Depth, ahead) * plane_cells;
  }

  const plane_arguments<S, Real>& a;
  Real* rings; ///< the lane's piece of the first row of its warp, in the first slot
  Real* edges; ///< the same, of what its warp shows
  int lane, warp;

  __device__ __forceinline__ plane_block(const plane_arguments<S, Real>& given, Real* shared)
      : a(given), lane(int(threadIdx.x) % 32), warp(int(threadIdx.x) / 32) {
    rings = shared + (around::above + warp * H) * row_cells + lane * V;
    edges = shared + around::above * row_cells + ring_begin(fields) +
            (around::above + warp * edge_rows) * row_cells + lane * V;
  }

  /// What a block knows of the tile that it works at.
  struct tile_state {
    Real cell[Depth > 1 ? Depth - 1 : 1][assigned][U][H][V]; ///< of levels 1 …, by place of the plane
    const Real* from[fields];
    Real* to[assigned];
    index plane;                     ///< cells from plane to plane
    int row[H];                      ///< where the lane's pieces are in a plane
    unsigned owned;                  ///< rows that the lane stores, a bit for each
    unsigned kept_rows;              ///< rows that keep their values
    unsigned kept_cells;             ///< the same, of the lane's cells in each row
    unsigned keeps;                  ///< what a warp has to look at: 1 rows, 2 low x, 4 high x, 8 any x
    int newest[fields];              ///< where the last plane is that has arrived, in the rings
    int edge;                        ///< where edges are shown in this iteration
    int own_begin, own_planes, last; ///< planes that the tile owns; the last one that it reads
    int idle;                        ///< levels that change nothing
    index first_step;                ///< number of the step that level 1 takes
    plane_position at;
  };

  /// Place of a plane that was updated `ago` iterations before the one at place K.
  static constexpr int place(int k, int ago) { return ((k - ago) % U + U) % U; }

  /// Where in its ring the plane lies that level `Level` sees at Dz.
  template <int F, int Level, int Dz> __device__ __forceinline__ int in_ring(const tile_state& t) const {
    constexpr int back = (around::of(F).high[0] - Dz + skew * (Level - 1)) * plane_cells;
    int at = t.newest[F] - back;
    at += at < 0 ? ring_cells(F) : 0;
    return at;
  }

  /// Copies plane z of a field into the slot `slots` after that of the newest.
  template <int F> __device__ __forceinline__ void send(const tile_state& t, int z, int slots) const {
    if (z > t.last) return;
    int at = t.newest[F] + slots * plane_cells;
    at -= at >= ring_cells(F) ? ring_cells(F) : 0;
    const Real* const from = t.from[F] + folded_plane(z, int(a.g.extents[0]), a.periodic[0]) * t.plane;
#pragma unroll
    for (int j = 0; j < H; ++j) send_piece(rings + ring_begin(F) + at + j * row_cells, from + t.row[j]);
  }

  /// Piece of row R of a plane as level `Level` sees it.
  template <int Level, int K, int P, int R>
  __device__ __forceinline__ void fetch(const tile_state& t, const int (&offset)[around::planes.count],
                                        piece& to) const {
    constexpr read_plane p = around::planes.items[P];
    if constexpr (Level == 1 || p.field >= assigned) {
      load_piece(rings + ring_begin(p.field) + offset[P] + R * row_cells, to);
    } else if constexpr (R >= 0 && R < H) {
#pragma unroll
      for (int i = 0; i < V; ++i) to[i] = t.cell[Level - 2][p.field][place(K, skew - p.dz)][R][i];
    } else {
      constexpr int high = around::of(p.field).high[1], low = around::of(p.field).low[1];
      constexpr int first = (Level - 2) * shape.warps * edge_rows + around::edge_rows(p.field);
      constexpr int row = R < 0 ? first - edge_rows + high + low + R : first + edge_rows + R - H;
      load_piece(edges + offset[P] + row * row_cells, to);
    }
  }
  template <int Level, int K, int P, int R>
  __device__ __forceinline__ void enter(const tile_state& t, const int (&offset)[around::planes.count],
                                        rows_type& rows) const {
    if constexpr (around::need(P, R, H).read) {
      piece v;
      fetch<Level, K, P, R>(t, offset, v);
      rows.template enter<P, R>(v);
    }
  }

  /// Shows the rows at the edges of the warp, of the planes that all levels but the last updated `late`
  /// iterations ago.
  template <int K> __device__ __forceinline__ void show_edges(const tile_state& t) const {
    if constexpr (around::has_edges && Depth > 1)
      unrolled<(Depth - 1) * assigned>([&](auto i) {
        constexpr int level = i / assigned, f = i % assigned;
        constexpr int high = around::of(f).high[1], low = around::of(f).low[1];
        Real* const to =
            edges + t.edge + (level * shape.warps * edge_rows + around::edge_rows(f)) * row_cells;
        unrolled<high>(
            [&](auto r) { store_piece_shared(to + r * row_cells, t.cell[level][f][place(K, late)][r()]); });
        unrolled<low>([&](auto r) {
          store_piece_shared(to + (high + r) * row_cells, t.cell[level][f][place(K, late)][H - low + r()]);
        });
      });
  }

  /// Cells of row J that keep the values of the level before.
  template <int Level, int K, int F, int J>
  __device__ __forceinline__ void keep(const tile_state& t, bool whole, piece& v) const {
    piece old;
    if constexpr (Level == 1)
      load_piece(rings + ring_begin(F) + in_ring<F, 1, 0>(t) + J * row_cells, old);
    else
#pragma unroll
      for (int i = 0; i < V; ++i) old[i] = t.cell[Level - 2][F][place(K, skew)][J][i];
    constexpr int low = around::all.low[2] < V ? around::all.low[2] : V,
                  high = around::all.high[2] < V ? around::all.high[2] : V;
    const auto take = [&](int first, int last) {
#pragma unroll
      for (int i = first; i < last; ++i) v[i] = (t.kept_cells >> i & 1) != 0 ? old[i] : v[i];
    };
    if (whole || (t.keeps & 1) != 0) {
      const bool row = whole || (t.kept_rows >> J & 1) != 0;
#pragma unroll
      for (int i = 0; i < V; ++i) v[i] = row ? old[i] : v[i];
    }
    if ((t.keeps & 2) != 0) take(0, low);
    if ((t.keeps & 4) != 0) take(V - high, V);
    if ((t.keeps & 8) != 0) take(0, V);
  }

  /// Level `Level` in iteration s, whose results take place K.
  template <int Level, int K> __device__ __forceinline__ void update(tile_state& t, int s) const {
    using program = step_program<S>;
    constexpr bool last = Level == Depth;
    const int z = s - skew * (Level - 1);
    const int lo = a.active_lo[0], planes = a.active_hi[0] - lo;
    const bool whole = unsigned(z - lo) >= unsigned(planes) || (!last && Level <= t.idle);
    const bool keeps = whole || t.keeps != 0;
    plane_position at = t.at;
    at.z = a.periodic[0] ? folded_plane(z, int(a.g.extents[0]), true) : z;
    const unsigned stored = last && unsigned(z - t.own_begin) < unsigned(t.own_planes) ? t.owned : 0;

    int offset[around::planes.count];
    unrolled<around::planes.count>([&](auto p) {
      constexpr read_plane r = around::planes.items[p];
      if constexpr (Level == 1 || r.field >= assigned) {
        offset[p] = in_ring<r.field, Level, r.dz>(t);
      } else if constexpr (around::has_edges) {
        constexpr int ago = around::lateral(true) - r.dz + 1;
        offset[p] = t.edge - ago * edge_cells;
        offset[p] += offset[p] < 0 ? around::edge_slots * edge_cells : 0;
      }
    });
    rows_type rows;
    unrolled<around::planes.count>([&](auto p) {
      constexpr read_plane r = around::planes.items[p];
      unrolled<r.above + r.below>([&](auto i) { enter<Level, K, p, i() - r.above>(t, offset, rows); });
    });
    unrolled<H>([&](auto j) {
      unrolled<around::planes.count>([&](auto p) {
        constexpr read_plane r = around::planes.items[p];
        enter<Level, K, p, j() + r.below>(t, offset, rows);
      });
      piece result[assigned];
      unrolled<assigned * V>([&](auto i) {
        constexpr target goal = program::value.targets[i / V];
        result[goal.field][i % V] = evaluate<program, goal.root, Real>(
            plane_cell<S, Real, H, j(), i % V>{rows, a.g, at, t.first_step + (Level - 1)});
      });
      unrolled<assigned>([&](auto f) {
        if constexpr (last) {
          if (keeps) keep<Level, K, f(), j()>(t, whole, result[f]);
          if ((stored >> j() & 1) != 0) store_piece(t.to[f] + z * t.plane + t.row[j()], result[f]);
        } else {
#pragma unroll
          for (int i = 0; i < V; ++i) t.cell[Level - 1][f][K][j()][i] = result[f][i];
        }
      });
    });
    if constexpr (!last)
      if (keeps)
        unrolled<assigned * H>(
            [&](auto i) { keep<Level, K, i / H, i % H>(t, whole, t.cell[Level - 1][i / H][K][i % H]); });
  }

  /// Iteration s.
  template <int K> __device__ __forceinline__ void iterate(tile_state& t, int s) const {
    __pipeline_wait_prior(ahead - 1);
    __syncthreads();
    unrolled<fields>([&](auto f) {
      if constexpr (around::held(f)) send<f()>(t, s + around::of(f).high[0] + ahead, ahead);
    });
    __pipeline_commit();
    if constexpr (late > 0) show_edges<K>(t);
    unrolled<Depth>([&](auto i) { update<Depth - i(), K>(t, s); });
    if constexpr (late == 0) show_edges<K>(t);
    unrolled<fields>([&](auto f) {
      if constexpr (around::held(f)) {
        t.newest[f] += plane_cells;
        if (t.newest[f] == ring_cells(f)) t.newest[f] = 0;
      }
    });
    t.edge += edge_cells;
    if (t.edge == around::edge_slots * edge_cells) t.edge = 0;
    if constexpr (!shape.turns)
#pragma unroll
      for (int l = 0; l < Depth - 1; ++l)
#pragma unroll
        for (int f = 0; f < assigned; ++f)
#pragma unroll
          for (int j = 0; j < H; ++j)
#pragma unroll
            for (int i = 0; i < V; ++i) {
              const Real newest = t.cell[l][f][0][j][i];
#pragma unroll
              for (int u = 0; u + 1 < U; ++u) t.cell[l][f][u][j][i] = t.cell[l][f][u + 1][j][i];
              t.cell[l][f][U - 1][j][i] = newest;
            }
  }

  /// Takes the steps of a pass in a tile. \param back whether the pass reads `next` and writes `state`
  __device__ __forceinline__ void stream(int tile, bool back, int idle, index first_step) const {
    tile_state t;
    const int tile_x = tile % a.t.x.count, line = tile / a.t.x.count, tile_y = line % a.t.y.count,
              cut = line / a.t.y.count;
    const int n_z = int(a.g.extents[0]), n_y = int(a.g.extents[1]), n_x = int(a.g.extents[2]);
    unrolled<fields>([&](auto f) {
      if constexpr (f < assigned) {
        t.from[f] = back ? a.g.next[f] : a.g.state[f];
        t.to[f] = back ? const_cast<Real*>(a.g.state[f]) : a.g.next[f];
      } else
        t.from[f] = a.g.state[f];
      t.newest[f] = (around::of(f).low[0] + around::of(f).high[0]) * plane_cells;
    });
    t.edge = 0;
    t.idle = idle;
    t.first_step = first_step;
    t.plane = index(n_y) * a.g.pitch;
    t.own_begin = a.t.own_begin(cut, n_z);
    t.own_planes = a.t.own_begin(cut + 1, n_z) - t.own_begin;
    t.last = t.own_begin + t.own_planes - 1 + Depth * around::down;

    const int x = a.t.x.begin(tile_x) + lane * V, y = a.t.y.begin(tile_y) + warp * H;
    const int x_there = folded_plane(x / V, (n_x + V - 1) / V, a.periodic[2]) * V;
    t.at = {0, a.periodic[1] ? folded_plane(y, n_y, true) : y, x_there, a.periodic[1] ? n_y : 0};
    t.owned = t.kept_rows = t.kept_cells = 0;
    const bool lane_owned = x >= a.t.x.own_begin(tile_x) && x < a.t.x.own_begin(tile_x + 1);
#pragma unroll
    for (int j = 0; j < H; ++j) {
      t.row[j] = int(folded_plane(y + j, n_y, a.periodic[1]) * a.g.pitch) + x_there;
      if (lane_owned && y + j >= a.t.y.own_begin(tile_y) && y + j < a.t.y.own_begin(tile_y + 1))
        t.owned |= 1u << j;
      if (y + j < n_y && (y + j < a.active_lo[1] || y + j >= a.active_hi[1])) t.kept_rows |= 1u << j;
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (x < n_x && (x + i < a.active_lo[2] || x + i >= a.active_hi[2])) t.kept_cells |= 1u << i;
    const bool odd = !a.periodic[2] && n_x % V != 0;
    t.keeps = (t.kept_rows != 0 ? 1 : 0) |
              (__any_sync(0xffffffffu, t.kept_cells != 0 && x < a.active_lo[2]) ? 2 : 0) |
              (__any_sync(0xffffffffu, t.kept_cells != 0 && x + V > a.active_hi[2]) ? (odd ? 8 : 4) : 0);

#pragma unroll
    for (int l = 0; l < Depth - 1; ++l)
#pragma unroll
      for (int f = 0; f < assigned; ++f)
#pragma unroll
        for (int u = 0; u < U; ++u)
#pragma unroll
          for (int j = 0; j < H; ++j)
#pragma unroll
            for (int i = 0; i < V; ++i) t.cell[l][f][u][j][i] = Real(0);

    int s = t.own_begin - (Depth - 1) * around::up;
    const int end = t.own_begin + t.own_planes + skew * (Depth - 1);
    unrolled<fields>([&](auto f) {
      if constexpr (around::held(f)) {
        constexpr int first = -around::of(f).low[0], arrived = around::of(f).high[0];
#pragma unroll 1
        for (int i = first; i <= arrived; ++i) send<f()>(t, s + i, i - arrived + ring_cells(f) / plane_cells);
      }
    });
    __pipeline_commit();
#pragma unroll 1
    for (int i = 1; i < ahead; ++i) {
      unrolled<fields>([&](auto f) {
        if constexpr (around::held(f)) send<f()>(t, s + around::of(f).high[0] + i, i);
      });
      __pipeline_commit();
    }
#pragma unroll 1
    for (; s < end; s += turns) unrolled<turns>([&](auto k) { iterate<k()>(t, s + k()); });
  }

  /// All passes.
  __device__ __forceinline__ void run() const {
    const int tiles = a.t.tiles(), rounds = a.t.rounds();
    int pass = 0;
#pragma unroll 1
    for (int done = 0; done < a.steps; ++pass) {
      const int taken = ::min(a.t.depth, a.steps - done);
#pragma unroll 1
      for (int round = 0; round < rounds; ++round) {
        const int tile = round * int(gridDim.x) + int(blockIdx.x);
        if (tile < tiles) {
          if (pass > 0) {
            const int last = ::min(tiles - 1, tile + a.t.overlap);
            a.progress.wait(unsigned((pass - 1) * rounds + last / int(gridDim.x) + 1));
          }
          stream(tile, pass % 2 != 0, Depth - taken, a.first_step + done - (Depth - taken));
        }
        a.progress.publish(unsigned(pass * rounds + round + 1));
      }
      done += taken;
    }
  }
};

} // namespace detail

/// Launch: cooperative, `t.blocks` blocks of `plane_shape::threads()` threads, `plane_shape::shared_bytes()`
/// of dynamic shared memory; the progress of all blocks is 0. The fields are in `next` after an odd number of
/// passes. \tparam Depth levels
template <class S, class Real, int Depth>
__global__ void __launch_bounds__(plane_shape_with<S, Real>(Depth).threads(), 1)
    plane_kernel(const __grid_constant__ plane_arguments<S, Real> a) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  detail::plane_block<S, Real, Depth>(a, reinterpret_cast<Real*>(shared_bytes)).run();
}

} // namespace stet::cuda
