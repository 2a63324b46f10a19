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
/// at the edges of a strip are shown to those above and below through shared memory; x-neighbours come by
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

/// The rows around a strip's rows that a level reads, each lane its own piece with the cells beside it.
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

/// Where a lane's cells are.
struct plane_position {
  int z, y, x;            ///< of the first cell; x within the grid
  int period_z, period_y; ///< cells along a periodic axis, 0 along others
};

/// Cell I of a lane's piece in row J of its strip as evaluate() sees it.
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
    const auto wrapped = [](int i, int period) { return period > 0 ? (i % period + period) % period : i; };
    return static_cast<Real>(Axis == 0   ? wrapped(at.z, at.period_z)
                             : Axis == 1 ? wrapped(at.y + J, at.period_y)
                                         : at.x + I);
  }
  __device__ __forceinline__ Real step() const { return static_cast<Real>(step_number); }
};

/// i brought into [0, n) where an axis is periodic; elsewhere the nearest cell: nobody looks at it.
__device__ __forceinline__ int within(int i, int n, bool periodic) {
  return periodic ? (i % n + n) % n : ::max(0, ::min(i, n - 1));
}

/// Keeps the compiler from taking a pointer apart: it would add its terms anew at every use.
template <class T> __device__ __forceinline__ T* opaque(T* p) {
  asm("" : "+l"(p));
  return p;
}

/// A block that goes over its tiles. Places in shared memory are in bytes.
template <class S, class Real, int Depth> struct plane_block {
  static constexpr plane_shape shape = plane_shape_with<S, Real>(Depth);
  using around = plane_reach<S>;
  static constexpr int fields = field_count<S>, assigned = assigned_count<S>;
  static constexpr int V = piece_cells<Real>, H = shape.height, row_bytes = shape.row_bytes;
  static constexpr int U = around::window, skew = around::skew, ahead = shape.ahead;
  static constexpr int plane_bytes = shape.rows() * row_bytes;
  static constexpr int edge_rows = around::edge_rows(assigned), late = around::edges_late;
  static constexpr int level_edges = shape.strips() * edge_rows * row_bytes;
  static constexpr int slot_bytes = (Depth - 1) * level_edges, edge_bytes = around::edge_slots * slot_bytes;
  static constexpr int turns = shape.turns ? U : 1;
  static_assert(shape.depth == Depth, "registers and shared memory hold the levels");
  using rows_type = level_rows<S, Real, H>;
  using piece = Real[V];

  static constexpr int ring_bytes(int field) {
    return around::ring_planes(field, Depth, ahead) * plane_bytes;
  }
  static constexpr int ring_begin(int field) {
    return around::above * row_bytes + around::ring_planes_before(field, Depth, ahead) * plane_bytes;
  }
  static constexpr int edges_begin = ring_begin(fields);

  const plane_arguments<S, Real>& a;
  unsigned char* shared;
  int lane, strip;
  int rings; ///< the lane's piece of its strip's first row, in a plane
  int edges; ///< the same, of the edges that strips show

  __device__ __forceinline__ plane_block(const plane_arguments<S, Real>& given, unsigned char* shared_bytes)
      : a(given), shared(shared_bytes), lane(int(threadIdx.x) % shape.lanes),
        strip(int(threadIdx.x) / shape.lanes), rings(strip * H * row_bytes + lane * 16),
        edges(strip * edge_rows * row_bytes + lane * 16) {}

  __device__ __forceinline__ Real* in_shared(int at) const { return reinterpret_cast<Real*>(shared + at); }

  /// What a block knows of the tile that it works at.
  struct tile_state {
    Real cell[Depth > 1 ? Depth - 1 : 1][assigned][U][H][V]; ///< of levels 1 …, by place of the plane
    const Real* from[fields];                                ///< the plane that is sent for next
    int sent[fields];                                        ///< its number, from 0 on where z is periodic
    Real* to[assigned];                                      ///< the plane that the last level updates
    unsigned row[H];                                         ///< where the lane's pieces are in a plane
    unsigned bits;      ///< H rows that the lane stores, V cells that keep their values, H rows that do, odd
    int newest[fields]; ///< where the last plane that has arrived is in its ring
    int edge;           ///< where edges are shown in this iteration
    int last;           ///< planes from here on are not read
    int stored, stored_planes; ///< the first plane that is stored, and how many are
    int idle;                  ///< levels that change nothing
    index first_step;          ///< number of the step that level 1 takes
    plane_position at;
    __device__ __forceinline__ bool stores_row(int j) const { return (bits >> j & 1) != 0; }
    __device__ __forceinline__ bool keeps_cell(int i) const { return (bits >> (H + i) & 1) != 0; }
    __device__ __forceinline__ bool keeps_row(int j) const { return (bits >> (H + V + j) & 1) != 0; }
    static constexpr unsigned odd = 1u << (2 * H + V); ///< cells in the `middle` keep their values
    static constexpr unsigned rare = odd | ((1u << H) - 1) << (H + V);
  };
  static_assert(2 * H + V < 32, "bits for rows and cells");

  /// Cells of a piece that keep their values only where rows are not whole pieces.
  static constexpr unsigned middle = [] {
    unsigned m = 0;
    for (int i = around::all.low[2]; i < V - around::all.high[2]; ++i) m |= 1u << i;
    return m;
  }();

  /// Whether the cells of whole rows that keep their values are selected by cell, too. Where none are in the
  /// middle the tests are idle; but without them ptxas 13.0 runs out of registers (3d7pt in double, 3d13pt).
  static constexpr bool asked(int i) { return middle == 0 || (middle >> i & 1) != 0; }

  /// Place of a plane that was updated `ago` iterations before the one at place K.
  static constexpr int place(int k, int ago) { return ((k - ago) % U + U) % U; }

  /// Where in its ring the plane lies that level `Level` sees at Dz.
  template <int F, int Level, int Dz> __device__ __forceinline__ int in_ring(const tile_state& t) const {
    constexpr int back = (around::of(F).high[0] - Dz + skew * (Level - 1)) * plane_bytes;
    int at = t.newest[F] - back;
    at += at < rings ? ring_bytes(F) : 0;
    return at;
  }

  /// Copies the next plane of a field into the slot `Slots` after that of the newest.
  template <int F> __device__ __forceinline__ void send(tile_state& t, bool wanted, int slots) const {
    if (wanted) {
      int at = t.newest[F] + slots * plane_bytes;
      at -= at >= rings + ring_bytes(F) ? ring_bytes(F) : 0;
      const Real* const from = opaque(t.from[F]);
#pragma unroll
      for (int j = 0; j < H; ++j) send_piece(in_shared(ring_begin(F) + at + j * row_bytes), from + t.row[j]);
    }
    const int n = int(a.g.extents[0]);
    const index plane = a.g.extents[1] * a.g.pitch;
    ++t.sent[F];
    t.from[F] += unsigned(t.sent[F] - 1) < unsigned(n - 1) ? plane : a.periodic[0] ? plane - n * plane : 0;
    if (a.periodic[0] && t.sent[F] == n) t.sent[F] = 0;
  }

  /// Piece of row R of a plane as level `Level` sees it.
  template <int Level, int K, int P, int R>
  __device__ __forceinline__ void fetch(const tile_state& t, const int (&offset)[around::planes.count],
                                        piece& to) const {
    constexpr read_plane p = around::planes.items[P];
    if constexpr (Level == 1 || p.field >= assigned) {
      load_piece(in_shared(ring_begin(p.field) + offset[P] + R * row_bytes), to);
    } else if constexpr (R >= 0 && R < H) {
#pragma unroll
      for (int i = 0; i < V; ++i) to[i] = t.cell[Level - 2][p.field][place(K, skew - p.dz)][R][i];
    } else {
      constexpr int high = around::of(p.field).high[1], low = around::of(p.field).low[1];
      constexpr int row =
          around::edge_rows(p.field) + (R < 0 ? -edge_rows + high + low + R : edge_rows + R - H);
      load_piece(in_shared(edges_begin + (Level - 2) * level_edges + offset[P] + row * row_bytes), to);
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

  /// Shows the rows at the edges of the strip, of the planes that all levels but the last updated `late`
  /// iterations ago.
  template <int K> __device__ __forceinline__ void show_edges(const tile_state& t) const {
    if constexpr (around::has_edges && Depth > 1)
      unrolled<(Depth - 1) * assigned>([&](auto i) {
        constexpr int level = i / assigned, f = i % assigned;
        constexpr int high = around::of(f).high[1], low = around::of(f).low[1];
        constexpr int first = edges_begin + level * level_edges + around::edge_rows(f) * row_bytes;
        unrolled<high + low>([&](auto r) {
          constexpr int row = r < high ? int(r) : H - low - high + r;
          store_piece_shared(in_shared(t.edge + first + r * row_bytes),
                             t.cell[level][f][place(K, late)][row]);
        });
      });
  }

  /// Cells as the level before had them. Of level 0 read again, which the compiler must not see: it would
  /// keep them in registers from their first use on.
  template <int Level, int K, int F, int J>
  __device__ __forceinline__ void before(const tile_state& t, piece& v) const {
    if constexpr (Level == 1) {
      const volatile Real* const from = in_shared(ring_begin(F) + in_ring<F, 1, 0>(t) + J * row_bytes);
#pragma unroll
      for (int i = 0; i < V; ++i) v[i] = from[i];
    } else
#pragma unroll
      for (int i = 0; i < V; ++i) v[i] = t.cell[Level - 2][F][place(K, skew)][J][i];
  }

  /// Level `Level` in iteration s, whose results take place K.
  template <int Level, int K> __device__ __forceinline__ void update(tile_state& t, int s) const {
    using program = step_program<S>;
    constexpr bool last = Level == Depth;
    const int z = s - skew * (Level - 1);
    plane_position at = t.at;
    at.z = z;
    const bool stored = last && unsigned(z - t.stored) < unsigned(t.stored_planes);

    int offset[around::planes.count];
    unrolled<around::planes.count>([&](auto p) {
      constexpr read_plane r = around::planes.items[p];
      if constexpr (Level == 1 || r.field >= assigned) {
        offset[p] = in_ring<r.field, Level, r.dz>(t);
      } else if constexpr (around::has_edges) {
        constexpr int ago = around::lateral(true) - r.dz + 1;
        offset[p] = t.edge - ago * slot_bytes;
        offset[p] += offset[p] < edges ? edge_bytes : 0;
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
        piece old;
        constexpr int centre = around::planes.find(f, 0);
        if constexpr (around::need(centre, j, H).read)
#pragma unroll
          for (int i = 0; i < V; ++i) old[i] = rows.value[centre][around::above + j][rows_type::margin + i];
        else
          before<Level, K, f(), j()>(t, old);
#pragma unroll
        for (int i = 0; i < V; ++i)
          if ((middle >> i & 1) == 0) result[f][i] = t.keeps_cell(i) ? old[i] : result[f][i];
        if constexpr (last) {
          if (middle != 0 && (t.bits & tile_state::odd) != 0)
#pragma unroll
            for (int i = 0; i < V; ++i) result[f][i] = t.keeps_cell(i) ? old[i] : result[f][i];
          if (stored && t.stores_row(j)) store_piece(t.to[f] + t.row[j()], result[f]);
        } else {
#pragma unroll
          for (int i = 0; i < V; ++i) t.cell[Level - 1][f][K][j()][i] = result[f][i];
        }
      });
    });
    if constexpr (!last) {
      const bool whole = !active(z) || Level <= t.idle;
      if (whole || (t.bits & tile_state::rare) != 0) {
        unrolled<assigned * H>([&](auto n) {
          constexpr int f = n / H, j = n % H;
          const bool row = whole || t.keeps_row(j);
          piece old;
          before<Level, K, f, j>(t, old);
#pragma unroll
          for (int i = 0; i < V; ++i)
            if (row || (asked(i) && t.keeps_cell(i))) t.cell[Level - 1][f][K][j][i] = old[i];
        });
      }
    }
  }
  /// Whether cells of a plane change.
  __device__ __forceinline__ bool active(int z) const {
    return unsigned(z - a.active_lo[0]) < unsigned(a.active_hi[0] - a.active_lo[0]);
  }

  /// Iteration s.
  template <int K> __device__ __forceinline__ void iterate(tile_state& t, int s) const {
    __pipeline_wait_prior(ahead - 1);
    __syncthreads();
    // What is computed of these is computed where it is used: it would take registers.
    asm volatile("" : "+r"(t.bits));
#pragma unroll
    for (int j = 0; j < H; ++j) asm volatile("" : "+r"(t.row[j]));
    unrolled<fields>([&](auto f) {
      if constexpr (around::held(f)) send<f()>(t, s + around::of(f).high[0] + ahead < t.last, ahead);
    });
    __pipeline_commit();
    if constexpr (late > 0) show_edges<K>(t);
    unrolled<Depth>([&](auto i) { update<Depth - i(), K>(t, s); });
    if constexpr (late == 0) show_edges<K>(t);
    unrolled<fields>([&](auto f) {
      if constexpr (around::held(f)) {
        t.newest[f] += plane_bytes;
        if (t.newest[f] == rings + ring_bytes(f)) t.newest[f] = rings;
      }
    });
    unrolled<assigned>([&](auto f) { t.to[f] = opaque(t.to[f] + a.g.extents[1] * a.g.pitch); });
    t.edge += slot_bytes;
    if (t.edge == edges + edge_bytes) t.edge = edges;
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

  /// Rows that never change, and planes, go to where the first pass writes: both copies have them from then
  /// on.
  __device__ __forceinline__ void copy_rim(int first, int planes, unsigned rows, unsigned kept_rows,
                                           const unsigned (&row)[H]) const {
#pragma unroll 1
    for (int z = first; z < first + planes; ++z) {
      const unsigned copied = active(z) ? rows & kept_rows : rows;
      if (copied == 0) continue;
      unrolled<assigned * H>([&](auto n) {
        constexpr int f = n / H, j = n % H;
        const index at = z * (a.g.extents[1] * a.g.pitch) + row[j];
        piece v;
        if ((copied >> j & 1) == 0) return;
        load_piece(a.g.state[f] + at, v);
        store_piece(a.g.next[f] + at, v);
      });
    }
  }

  /// Takes the steps of a pass in a tile.
  __device__ __forceinline__ void stream(int tile, int pass, int idle, index first_step) const {
    tile_state t;
    const int tile_x = tile % a.t.x.count, line = tile / a.t.x.count, tile_y = line % a.t.y.count,
              cut = line / a.t.y.count;
    const int n_z = int(a.g.extents[0]), n_y = int(a.g.extents[1]), n_x = int(a.g.extents[2]);
    const int begin = a.t.own_begin(cut, n_z), end = a.t.own_begin(cut + 1, n_z);
    const index plane = a.g.extents[1] * a.g.pitch;
    int s = begin - (Depth - 1) * around::up;

    const int x = a.t.x.begin(tile_x) + lane * V, y = a.t.y.begin(tile_y) + strip * H;
    const int x_there = within(x / V, (n_x + V - 1) / V, a.periodic[2]) * V;
    t.at = {0, y, x_there, a.periodic[0] ? n_z : 0, a.periodic[1] ? n_y : 0};
    unsigned owned = 0, kept_rows = 0, kept_cells = 0;
    const bool lane_owned = x >= a.t.x.own_begin(tile_x) && x < a.t.x.own_begin(tile_x + 1);
#pragma unroll
    for (int j = 0; j < H; ++j) {
      const int at = y + j;
      t.row[j] = unsigned(within(at, n_y, a.periodic[1])) * unsigned(a.g.pitch) + unsigned(x_there);
      if (lane_owned && at >= a.t.y.own_begin(tile_y) && at < a.t.y.own_begin(tile_y + 1)) owned |= 1u << j;
      if (at < n_y && (at < a.active_lo[1] || at >= a.active_hi[1])) kept_rows |= 1u << j;
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (x < n_x && (x + i < a.active_lo[2] || x + i >= a.active_hi[2])) kept_cells |= 1u << i;
    if (pass == 0) copy_rim(begin, end - begin, owned, kept_rows, t.row);
    t.bits = (owned & ~kept_rows) | kept_cells << H | kept_rows << (H + V) |
             ((kept_cells & middle) != 0 ? tile_state::odd : 0);

    t.idle = idle;
    t.first_step = first_step;
    t.stored = ::max(begin, a.active_lo[0]);
    t.stored_planes = ::max(0, ::min(end, a.active_hi[0]) - t.stored);
    t.last = end + Depth * around::down;
    t.edge = edges;
    unrolled<assigned>([&](auto f) {
      t.to[f] =
          (pass % 2 != 0 ? const_cast<Real*>(a.g.state[f]) : a.g.next[f]) + (s - skew * (Depth - 1)) * plane;
    });
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

    unrolled<fields>([&](auto f) {
      constexpr int first = -around::of(f).low[0], arrived = around::of(f).high[0];
      if constexpr (around::held(f)) {
        const Real* state = a.g.state[f];
        if constexpr (f < assigned)
          if (pass % 2 != 0) state = a.g.next[f];
        t.sent[f] = a.periodic[0] ? within(s + first, n_z, true) : s + first;
        t.from[f] = state + within(s + first, n_z, a.periodic[0]) * plane;
        t.newest[f] = rings + (arrived - first) * plane_bytes;
#pragma unroll 1
        for (int i = first; i <= arrived; ++i)
          send<f()>(t, true, i - arrived + around::ring_planes(f, Depth, ahead));
      }
    });
    __pipeline_commit();
#pragma unroll 1
    for (int i = 1; i < ahead; ++i) {
      unrolled<fields>([&](auto f) {
        if constexpr (around::held(f)) send<f()>(t, s + around::of(f).high[0] + i < t.last, i);
      });
      __pipeline_commit();
    }
#pragma unroll 1
    for (; s < end + skew * (Depth - 1); s += turns)
      unrolled<turns>([&](auto k) { iterate<k()>(t, s + k()); });
    __pipeline_wait_prior(0); // planes that nobody used: the next tile's take their slots
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
          stream(tile, pass, Depth - taken, a.first_step + done - (Depth - taken));
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
  detail::plane_block<S, Real, Depth>(a, shared_bytes).run();
}

} // namespace stet::cuda
