#pragma once
#include <stet/cuda/device/strip.cuh>
#include <stet/cuda/kernels/passes.cuh>

/// The temporal strategy with the cells in registers (strip.cuh), in rank 2: a block loads a tile with rings,
/// takes several steps, writes the cells that it owns, and goes on to its next tile, whose cells come into
/// shared memory meanwhile. The whole run is one cooperative launch (passes.cuh).
///
/// After the temporal blocking of AN5D (Matsumura et al., CGO 2020) and EBISU (Zhang et al., ICS 2023): tiles
/// overlap, so that no block waits for another within a pass.
namespace stet::cuda {

template <class S, class Real> struct temporal_arguments {
  grid<S, Real> g;                ///< `state` holds the fields; after an odd number of passes `next` does
  register_tiling t;              ///< depth: steps of a pass
  int active_lo[3], active_hi[3]; ///< the cells that are updated; beyond the grid's where it is periodic
  index first_step;
  int steps;
  pass_progress progress;
};

namespace detail {

/// A tile of a pass, and its place in the grid. In shared memory: registers are for cells.
struct tile_place {
  int round, pass, tile_y, tile_x;
  int row, x;                   ///< its first
  int own_begin[2], own_end[2]; ///< what it owns: y, x
  bool is_first, is_last;       ///< along y
  bool sent;                    ///< its cells are on their way
  unsigned needed;              ///< rounds that all blocks must have finished before it is loaded
};

struct temporal_facts {
  tile_place tile, next;
  unsigned reached; ///< rounds that all blocks are known to have finished
};

template <class S, class Real> struct temporal_block {
  static constexpr strip_shape shape = strip_shape_of<S, Real>();
  static constexpr int Rows = shape.temporal, Warps = shape.warps;
  static constexpr int Pieces = shape.cells / piece_cells<Real>;
  using strip_type = detail::strip<S, Real, Pieces, Rows, false, Warps>;
  using around = strip_reach<S>;
  static constexpr int V = piece_cells<Real>, C = strip_type::C, fields = field_count<S>;
  static constexpr int row_cells = strip_type::row_cells;

  const temporal_arguments<S, Real>& a;
  int lane, warp;
  strip_type strip;
  temporal_facts& facts;

  __device__ __forceinline__ temporal_block(const temporal_arguments<S, Real>& given, Real* shared,
                                            temporal_facts& shared_facts)
      : a(given), lane(threadIdx.x % 32), warp(threadIdx.x / 32), strip(shared, nullptr, {}),
        facts(shared_facts) {}
  /// The lane's cells of a row of the next tile, on their way to registers.
  __device__ __forceinline__ Real* arriving(int field, int row) const {
    return strip.ends + (strip_ends<S, Warps>() + (warp * fields + field) * Rows + row) * row_cells;
  }

  __device__ __forceinline__ int rounds() const { // of a pass
    return (a.t.blocks() + int(gridDim.x) - 1) / int(gridDim.x);
  }
  /// The block's tile in a round. By one thread.
  __device__ __forceinline__ tile_place place_of(int round, int pass, int tile_y, int tile_x) const {
    const axis_tiling &y = a.t.y, &x = a.t.x;
    tile_place p;
    p.round = round;
    p.pass = pass;
    p.tile_y = tile_y;
    p.tile_x = tile_x;
    p.row = y.begin(tile_y);
    p.x = x.begin(tile_x);
    p.own_begin[0] = y.own_begin(tile_y);
    p.own_begin[1] = x.own_begin(tile_x);
    p.own_end[0] = y.own_begin(tile_y + 1);
    p.own_end[1] = x.own_begin(tile_x + 1);
    p.is_first = y.is_first(tile_y);
    p.is_last = y.is_last(tile_y);
    p.sent = false;
    const bool wraps = y.periodic && (tile_y == 0 || tile_y == y.count - 1);
    // Of the tiles that overlap this one the last; where rows wrap, one at the end of the next row of tiles.
    const int tiles = a.t.blocks(), last = wraps        ? tiles - 1
                                           : x.periodic ? (tile_y + 2) * x.count - 1
                                                        : tile_y * x.count + tile_x + x.count + 1;
    p.needed = pass == 0 ? 0
                         : unsigned(pass - 1) * unsigned(rounds()) +
                               unsigned(::min(last, tiles - 1) / int(gridDim.x) + 1);
    return p;
  }
  __device__ __forceinline__ tile_place first_place() const {
    return place_of(0, 0, int(blockIdx.x) / a.t.x.count, int(blockIdx.x) % a.t.x.count);
  }
  /// The block's next tile, in the next pass if there is none in this one.
  __device__ __forceinline__ tile_place place_after(const tile_place& p) const {
    const int skip_y = int(gridDim.x) / a.t.x.count, skip_x = int(gridDim.x) % a.t.x.count;
    int tile_y = p.tile_y + skip_y, tile_x = p.tile_x + skip_x;
    if (tile_x >= a.t.x.count) ++tile_y, tile_x -= a.t.x.count;
    if (tile_y < a.t.y.count) return place_of(p.round + 1, p.pass, tile_y, tile_x);
    const tile_place first = first_place();
    return place_of((p.pass + 1) * rounds(), p.pass + 1, first.tile_y, first.tile_x);
  }
  __device__ __forceinline__ int steps_of(const tile_place& p) const {
    return ::min(a.t.depth, a.steps - p.pass * a.t.depth);
  }
  /// Whether it is one of the run.
  __device__ __forceinline__ bool is_there(const tile_place& p) const { return p.pass * a.t.depth < a.steps; }
  /// Of the lane in a tile: its first cell, and the first row of its strip.
  __device__ __forceinline__ int lane_x(const tile_place& p) const { return p.x + lane * C; }
  __device__ __forceinline__ int first_row(const tile_place& p) const { return p.row + warp * Rows; }
  /// Where a pass finds a field.
  __device__ __forceinline__ const Real* source(int pass, int field) const {
    return pass % 2 == 1 && field < assigned_count<S> ? a.g.next[field] : a.g.state[field];
  }
  __device__ __forceinline__ Real* target(int pass, int field) const {
    return pass % 2 == 0 ? a.g.next[field] : const_cast<Real*>(a.g.state[field]);
  }
  static __device__ __forceinline__ int wrapped(int i, int n, bool periodic) {
    return !periodic ? i : i < 0 ? i + n : i >= n ? i - n : i;
  }
  __device__ __forceinline__ bool has_cells(int x) const { return a.t.x.periodic || x < a.g.extents[2]; }
  /// The lane's cells of a row of the grid.
  __device__ __forceinline__ index in_row(int row, int x) const {
    return index(wrapped(row, int(a.g.extents[1]), a.t.y.periodic)) * a.g.pitch +
           wrapped(x, int(a.g.extents[2]), a.t.x.periodic);
  }
  /// What a lane moves from and to memory: piece k of its own or, where a row is two pieces, so that every
  /// access takes whole sectors, one of the lane's and its partner's: first both of the even lane's, then
  /// both of the odd one's.
  __device__ __forceinline__ int owner(int k) const { return Pieces == 1 ? lane : lane / 2 * 2 + k; }
  __device__ __forceinline__ int moved(int k) const { return Pieces == 1 ? k : lane % 2; }
  __device__ __forceinline__ int moved_x(const tile_place& p, int k) const {
    return p.x + owner(k) * C + moved(k) * V;
  }

  /// Starts to copy the rows of a tile, where `wanted`, to where they arrive.
  __device__ __forceinline__ void send(const tile_place& p, bool wanted) const {
    const index pitch = a.g.pitch;
    unrolled<fields * Pieces>([&](auto i) {
      constexpr int f = i / Pieces, k = i % Pieces;
      const int x = moved_x(p, k), n = int(a.g.extents[1]);
      const int rows = wanted && has_cells(x) ? Rows : 0;
      const Real* from = source(p.pass, f) + in_row(first_row(p), x);
      Real* to = arriving(f, 0) + (owner(k) - lane) * V + moved(k) * 32 * V;
      // Rows until the end of the grid, behind which a periodic one goes on at its beginning.
      int left = a.t.y.periodic ? n - wrapped(first_row(p), n, true) : Rows;
#pragma unroll 8
      for (int row = 0; row < Rows; ++row) {
        if (left-- == 0) from -= n * pitch;
        send_piece_if(row, rows, to, from);
        from += pitch;
        to += row_cells;
      }
    });
    __pipeline_commit();
  }
  /// Cells that have arrived go into registers.
  __device__ __forceinline__ void take() {
    __pipeline_wait_prior(0);
    __syncwarp();
    unrolled<fields * Rows>(
        [&](auto i) { strip_type::load(arriving(i / Rows, i % Rows), strip.cells[i / Rows][i % Rows]); });
    __syncwarp();
  }
  /// Rows above the first and below the last tile: rims. Others are never used.
  __device__ __forceinline__ void load_rims(const tile_place& p) const {
    const auto edge = [&](const Real* field, Real* to, int first, int count) {
      for (int i = 0; i < count; ++i) {
        const int row = first + i;
        Real v[C]{};
        if (row >= 0 && row < a.g.extents[1] && has_cells(lane_x(p)))
#pragma unroll
          for (int k = 0; k < Pieces; ++k)
            load_piece_if(true, field + in_row(row, lane_x(p)) + k * V, strip_type::part(v, k));
        strip_type::store(to + i * row_cells, v);
      }
    };
    unrolled<fields>([&](auto f) {
      constexpr int up = around::up_of(f), down = around::down_of(f);
      const Real* const field = source(p.pass, f);
      if (warp == 0 && p.is_first) edge(field, strip.template last_rows<f>(-1), first_row(p) - up, up);
      if (warp == Warps - 1 && p.is_last)
        edge(field, strip.template first_rows<f>(Warps), first_row(p) + Rows, down);
    });
  }

  template <class Ends> __device__ __forceinline__ void step(const tile_place& p, index number) {
    __syncthreads(); // the ends of the last step have been read
    strip.show_ends();
    __syncthreads();
    typename strip_type::keep_type keep{};
#pragma unroll
    for (int i = 0; i < C; ++i)
      keep.cell[i] = lane_x(p) + i < a.active_lo[2] || lane_x(p) + i >= a.active_hi[2];
    keep.row = first_row(p);
    keep.x = lane_x(p);
    strip.template sweep<true, Ends>(a.g, static_cast<Real>(number), keep);
  }

  /// The cells that the tile owns; and once the rows that no tile holds.
  __device__ __forceinline__ void store(const tile_place& p) const {
    const int x = lane_x(p), row = first_row(p), begin = p.own_begin[0] - row, end = p.own_end[0] - row;
    const auto owns = [&](int x) { return x >= p.own_begin[1] && x < p.own_end[1] && has_cells(x); };
    const bool odd = lane % 2 == 1;
    unrolled<assigned_count<S>>([&](auto f) {
      Real* const field = target(p.pass, f);
      Real* to[Pieces]; // of the strip's first row; what is owned never wraps
      int first[Pieces];
#pragma unroll
      for (int k = 0; k < Pieces; ++k) {
        to[k] = field + index(row) * a.g.pitch + moved_x(p, k);
        first[k] = owns(p.x + owner(k) * C) ? begin : Rows;
      }
      unrolled<Rows>([&](auto i) {
        if constexpr (Pieces == 1) {
          store_piece_between(i, first[0], end, to[0] + i * a.g.pitch, strip.cells[f][i]);
        } else {
          Real moving[2][V];
#pragma unroll
          for (int c = 0; c < V; ++c) {
            const Real low = strip.cells[f][i][c], high = strip.cells[f][i][V + c];
            const Real other = __shfl_xor_sync(0xffffffffu, odd ? low : high, 1);
            moving[0][c] = odd ? other : low;
            moving[1][c] = odd ? high : other;
          }
#pragma unroll
          for (int k = 0; k < 2; ++k) store_piece_between(i, first[k], end, to[k] + i * a.g.pitch, moving[k]);
        }
      });
      const auto rim = [&](int from, int to) {
        for (int row = from + warp; row < to; row += Warps)
#pragma unroll
          for (int k = 0; k < Pieces; ++k) {
            Real v[V];
            load_piece_if(true, source(p.pass, f) + in_row(row, x) + k * V, v);
            store_piece(field + in_row(row, x) + k * V, v);
          }
      };
      if (p.pass > 0 || !owns(x)) return;
      if (p.is_first) rim(0, a.t.y.lo);
      if (p.is_last) rim(a.t.y.hi, int(a.g.extents[1]));
    });
  }

  /// The next tile. False when there is none.
  __device__ __forceinline__ bool begin_tile() {
    tile_place &p = facts.tile, &next = facts.next;
    if (!is_there(next)) return false;
    if (!next.sent) {
      a.progress.publish(unsigned(next.round));
      a.progress.wait(next.needed);
      send(next, true);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      p = next;
      next = place_after(p);
    }
    __syncthreads();
    load_rims(p);
    const bool ahead = is_there(next) && reached(next.needed);
    if (threadIdx.x == 0) next.sent = ahead;
    take();
    send(next, ahead);
    return true;
  }
  /// Whether the blocks are so far; asks them only when that is not known.
  __device__ __forceinline__ bool reached(unsigned rounds) const {
    if (int(facts.reached - rounds) >= 0) return true;
    const unsigned all = a.progress.least();
    if (threadIdx.x == 0) facts.reached = all;
    return int(all - rounds) >= 0;
  }
  __device__ __forceinline__ void end_tile() const {
    a.progress.publish(unsigned(facts.tile.round)); // the one before: its stores are done by now
    store(facts.tile);
  }

  template <class Ends> __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) facts.next = first_place(), facts.reached = 0;
    __syncthreads();
    const tile_place& p = facts.tile;
    while (begin_tile()) {
      const int steps = steps_of(p);
      for (int left = steps;;) {
        step<Ends>(p, a.first_step + p.pass * a.t.depth + steps - left);
        if (--left == 0) {
          end_tile();
          break;
        }
        // Never. With a second way to new values ptxas keeps each cell in one register; without, it has old
        // and new rows side by side, and spills what is too much.
        if (left < 0) take();
      }
    }
  }
};

} // namespace detail

/// Launch: cooperative, at most a block of 32 × `strip_shape::warps` threads for each tile,
/// `strip_shape::temporal_bytes()` of dynamic shared memory; the counters of `progress` are zero.
template <class S, class Real>
__global__ void __launch_bounds__(32 * strip_shape_of<S, Real>().warps, 1)
    temporal_kernel(const __grid_constant__ temporal_arguments<S, Real> a) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ detail::temporal_facts facts;
  detail::temporal_block<S, Real> block(a, reinterpret_cast<Real*>(shared_bytes), facts);
  constexpr int C = strip_shape_of<S, Real>().cells;
  constexpr reach around = reach_of(step_program<S>::value, 0, field_count<S>);
  constexpr int low = around.low[2], high = around.high[2];
  if constexpr (low + high < C)
    if (a.g.extents[2] % C == 0) return block.template run<detail::lane_ends<low, high>>();
  block.template run<detail::lane_ends<C, 0>>();
}

} // namespace stet::cuda
