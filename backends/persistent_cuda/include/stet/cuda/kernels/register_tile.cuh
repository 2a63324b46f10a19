#pragma once
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <stet/cuda/device/strip.cuh>

/// The resident strategies with the cells in registers, in shared memory where registers end, and of
/// resident_partial the rest in memory (strip.cuh): the whole time loop in one cooperative launch. After
/// PERKS (Zhang et al., ICS 2023), with rings deep enough for several steps between exchanges.
namespace stet::cuda {

template <class S, class Real> struct register_arguments {
  grid<S, Real> g; ///< `state` holds the fields; on return `next` does
  register_tiling t;
  int active_x[2]; ///< first and last + 1 of the cells that are updated; all of them where periodic
  index first_step, steps;
  Real* exchanged; ///< four times `exchange_cells()`
  Real* streamed;  ///< `streamed_cells()`
};

namespace detail {

/// As load_piece_if(), where bit `Bit` of `mask` is set; elsewhere `to` keeps its values. The test is in the
/// assembly, so that the compiler cannot make it early and keep it in a register.
template <int Bit, class Real>
__device__ __forceinline__ void fetch_if(unsigned mask, const Real* from, Real (&to)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %5, %6; setp.ne.u32 p, t, 0;"
                 "  @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                 : "l"(from), "r"(mask), "n"(1u << Bit)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %3, %4; setp.ne.u32 p, t, 0;"
                 "  @p ld.global.cg.v2.f64 {%0, %1}, [%2]; }"
                 : "+d"(to[0]), "+d"(to[1])
                 : "l"(from), "r"(mask), "n"(1u << Bit)
                 : "memory");
}

/// Stores a piece where bit `Bit` of `mask` is set, without a branch.
template <int Bit, class Real>
__device__ __forceinline__ void publish_if(unsigned mask, Real* to, const Real (&from)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %5, %6; setp.ne.u32 p, t, 0;"
                 "  @p st.global.v4.f32 [%4], {%0, %1, %2, %3}; }" ::"f"(from[0]),
                 "f"(from[1]), "f"(from[2]), "f"(from[3]), "l"(to), "r"(mask), "n"(1u << Bit)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %3, %4; setp.ne.u32 p, t, 0;"
                 "  @p st.global.v2.f64 [%2], {%0, %1}; }" ::"d"(from[0]),
                 "d"(from[1]), "l"(to), "r"(mask), "n"(1u << Bit)
                 : "memory");
}

/// Bits [from, to) of those numbered 32 · word …
__device__ __forceinline__ unsigned bits(int from, int to, int word) {
  const auto below = [&](int n) {
    n = ::min(32, ::max(0, n - 32 * word));
    return n == 32 ? ~0u : (1u << n) - 1;
  };
  return below(to) & ~below(from);
}

/// Rows [begin, end) of a strip, without [inner_begin, inner_end).
struct row_set {
  int begin, end, inner_begin = 0, inner_end = 0;
  /// Of the 32 rows from first + 32 · word on.
  __device__ __forceinline__ unsigned mask(int first, int word) const {
    return bits(begin - first, end - first, word) & ~bits(inner_begin - first, inner_end - first, word);
  }
};

/// Cells of a lane that may keep their values.
template <int Low, int High> struct lane_ends { static constexpr int low = Low, high = High; };

/// What a block knows of its exchanges. In shared memory: registers are for cells.
///
/// Along y in rows of the tile, along x in lanes: what the block owns, and what of it no other block holds.
struct exchange_facts {
  int own_begin[2], own_end[2], alone_begin[2], alone_end[2]; ///< y, x
  int lanes;                                                  ///< those that hold cells of the grid
  int tile[3][3];                                             ///< by side in y and x: its number
  int shift_y[3], shift_x[3]; ///< rows and lanes by which it begins before this one
};

/// Where blocks show each other cells, in memory of their own, so that all rows of a lane are at constant
/// distances: columns, [tile][field][lane][row][cell], for the few lanes that tiles beside read: in rows they
/// would fill L2 with lines of which an eighth is read; rows, [tile][field][row][piece][lane][cell], for the
/// few rows that tiles above and below read.
template <class Real, int C> struct as_columns {
  static constexpr int row = C, piece = piece_cells<Real>;
  static __device__ __forceinline__ int lane(int l, int held) { return l * held * C; }
  static __device__ __forceinline__ index tile(int number, int held) { return index(number) * 32 * held * C; }
};
template <class Real, int C> struct as_rows {
  static constexpr int row = 32 * C, piece = 32 * piece_cells<Real>;
  static __device__ __forceinline__ int lane(int l, int) { return l * piece_cells<Real>; }
  static __device__ __forceinline__ index tile(int number, int held) { return index(number) * 32 * held * C; }
};

/// A block of the register kernel.
///
/// The whole run is one straight loop: where ways join on which all cells are live, ptxas spills. For the
/// same reason nothing that only exchanges need is kept in registers.
template <class S, class Real, int Rows> struct register_block {
  static constexpr int Pieces = strip_shape_of<S, Real>().cells / piece_cells<Real>;
  using strip_type = detail::strip<S, Real, Pieces, Rows>;
  using around = strip_reach<S>;
  static constexpr int V = piece_cells<Real>, C = strip_type::C, fields = field_count<S>;
  static constexpr int row_cells = strip_type::row_cells, words = (Rows + 31) / 32;
  using columns = as_columns<Real, C>;
  using across = as_rows<Real, C>;

  const register_arguments<S, Real>& a;
  exchange_facts& facts;
  int lane, warp, tile_y, tile_x;
  strip_type strip;
  int half = 1;

  __device__ __forceinline__ register_block(const register_arguments<S, Real>& given,
                                            exchange_facts& shared_facts, Real* shared)
      : a(given), facts(shared_facts), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
        tile_y(int(blockIdx.x) / given.t.x.count), tile_x(int(blockIdx.x) % given.t.x.count),
        strip(shared, given.streamed, given.t,
              given.t.y.begin(tile_y) + warp * (given.t.in_memory + given.t.in_shared + Rows),
              given.t.x.begin(tile_x) + lane * C) {
    if (threadIdx.x == 0) {
      const axis_tiling &y = a.t.y, &x = a.t.x;
      const auto along = [&](int axis, const axis_tiling& t, int tile, int unit) {
        const auto relative = [&](int cell) {
          const int i = (cell - t.begin(tile) + unit - 1) / unit;
          return ::max(0, ::min(i, t.held / unit));
        };
        facts.own_begin[axis] = relative(t.own_begin(tile));
        facts.own_end[axis] = relative(t.own_begin(tile + 1));
        facts.alone_begin[axis] = relative(t.shared_begin(tile));
        facts.alone_end[axis] = relative(t.shared_end(tile) / unit * unit);
      };
      along(0, y, tile_y, 1);
      along(1, x, tile_x, C);
      facts.lanes = x.periodic ? 32 : ::min(32, (int(a.g.extents[2]) - x.begin(tile_x) + C - 1) / C);
      for (int j = 0; j < 3; ++j) {
        facts.shift_y[j] = y.distance(tile_y, j - 1);
        facts.shift_x[j] = x.distance(tile_x, j - 1) / C;
        for (int i = 0; i < 3; ++i)
          facts.tile[i][j] = y.wrapped(tile_y + i - 1) * x.count + x.wrapped(tile_x + j - 1);
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ bool lane_there() const { return lane < facts.lanes; }
  /// The strip's first row in the tile.
  __device__ __forceinline__ int before() const { return warp * strip.rows(); }
  /// The side (0 … 2) of the tile that owns a lane's cells.
  __device__ __forceinline__ int side_of(int l) const {
    return l < facts.own_begin[1] ? 0 : l < facts.own_end[1] ? 1 : 2;
  }

  /// This lane's cells of a field in the strip's first row, where the tile on a side along y and x shows
  /// them.
  template <class Layout>
  __device__ __forceinline__ Real* shown(int in_half, int field, int side_y, int side_x) const {
    const int area = 2 * in_half + std::is_same_v<Layout, across>, held = a.t.y.held;
    return a.exchanged + index(area) * a.t.exchange_cells(fields) +
           Layout::tile(facts.tile[side_y][side_x] * fields + field, held) +
           Layout::lane(lane + facts.shift_x[side_x], held) +
           (before() + facts.shift_y[side_y]) * Layout::row;
  }

  /// Rows in shared memory go piece by piece to where they are shown, or come from there without passing
  /// registers; those of lane l. Rows are numbered from the strip's first.
  template <class Layout, int F> __device__ __forceinline__ void show_slot(int row, int l, Real* to) const {
    to += Layout::lane(l - lane, a.t.y.held) + row * Layout::row;
#pragma unroll
    for (int p = 0; p < Pieces; ++p) {
      Real v[V];
      load_piece(strip.slot(F, row - strip.in_memory) + (l - lane + p * 32) * V, v);
      store_piece(to + p * Layout::piece, v);
    }
  }
  template <class Layout, int F>
  __device__ __forceinline__ void fetch_slot(int row, int l, const Real* from) const {
    from += Layout::lane(l - lane, a.t.y.held) + row * Layout::row;
#pragma unroll
    for (int p = 0; p < Pieces; ++p)
      __pipeline_memcpy_async(strip.slot(F, row - strip.in_memory) + (l - lane + p * 32) * V,
                              from + p * Layout::piece, 16);
  }
  /// Rows in memory, between their place and where they are shown: those that at(i, row, l), i = 0 … count −
  /// 1, wants and names. Many are under way together, through the slots by which rows stream: registers are
  /// taken. \tparam Show there, or back \param there of a lane: where row 0 is shown
  template <class Layout, int F, bool Show, class At, class There>
  __device__ __forceinline__ void move_in_memory(int count, At&& at, There&& there) const {
    constexpr int batch = strip_type::ahead * fields;
#pragma unroll 1
    for (int first = 0; first < count; first += batch) {
      const int held = ::min(batch, count - first);
#pragma unroll 1
      for (int i = 0; i < held; ++i) {
        int row = 0, l = lane;
        if (!at(first + i, row, l)) continue;
        const Real* from = Show ? strip.in_memory_at(F, row) + (l - lane) * V : there(l) + row * Layout::row;
#pragma unroll
        for (int p = 0; p < Pieces; ++p)
          __pipeline_memcpy_async(strip.passing(i) + p * 32 * V, from + p * (Show ? 32 * V : Layout::piece),
                                  16);
      }
      __pipeline_commit();
      __pipeline_wait_prior(0);
#pragma unroll 1
      for (int i = 0; i < held; ++i) {
        int row = 0, l = lane;
        if (!at(first + i, row, l)) continue;
        Real* to = Show ? there(l) + row * Layout::row : strip.in_memory_at(F, row) + (l - lane) * V;
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
          Real v[V];
          load_piece(strip.passing(i) + p * 32 * V, v);
          store_piece(to + p * (Show ? Layout::piece : 32 * V), v);
        }
      }
    }
  }
  /// Rows [begin, end) of those in memory and the lanes outside [lane_begin, lane_end), up to `lanes`.
  template <class Layout, int F, bool Show, class There>
  __device__ __forceinline__ void move_beside(int begin, int end, int first_lane, int lane_begin,
                                              int lane_end, int lanes, There&& there) const {
    begin = ::max(0, begin);
    end = ::min(end, strip.in_memory);
    const int low = lane_begin - first_lane, each = low + ::max(0, lanes - lane_end);
    if (end <= begin || each <= 0) return;
    const int all = (end - begin) * each;
    move_in_memory<Layout, F, Show>((all + 31) / 32,
                                    [&](int i, int& row, int& l) {
                                      const int n = i * 32 + lane, k = n % each;
                                      row = begin + n / each;
                                      l = k < low ? first_lane + k : lane_end + k - low;
                                      return n < all;
                                    },
                                    there);
  }
  /// Calls f(row, l) for rows [begin, end) in shared memory and the lanes outside [lane_begin, lane_end), up
  /// to `lanes`: these are few, so that the lanes of the warp share all rows.
  template <class Call>
  __device__ __forceinline__ void beside(int begin, int end, int first_lane, int lane_begin, int lane_end,
                                         int lanes, Call&& f) const {
    begin = ::max(strip.in_memory, begin);
    end = ::min(end, strip.before_registers());
    const int low = lane_begin - first_lane, each = low + ::max(0, lanes - lane_end);
    if (end <= begin || each <= 0) return;
    for (int i = lane; i < (end - begin) * each; i += 32) {
      const int k = i % each;
      f(begin + i / each, k < low ? first_lane + k : lane_end + k - low);
    }
  }

  template <class Layout, int F>
  __device__ __forceinline__ void show_registers(const row_set& wanted, Real* to) {
    to += strip.before_registers() * Layout::row;
    unsigned mask[words];
#pragma unroll
    for (int i = 0; i < words; ++i) mask[i] = wanted.mask(strip.before_registers(), i);
    unrolled<Rows * Pieces>([&](auto i) {
      constexpr int row = i / Pieces, p = i % Pieces;
      publish_if<row % 32>(mask[row / 32], to + row * Layout::row + p * Layout::piece,
                           strip_type::part(strip.cells[F][row], p));
    });
  }
  template <class Layout, int F>
  __device__ __forceinline__ void fetch_registers(const row_set& wanted, const Real* from) {
    from += strip.before_registers() * Layout::row;
    unsigned mask[words];
#pragma unroll
    for (int i = 0; i < words; ++i) mask[i] = wanted.mask(strip.before_registers(), i);
    unrolled<Rows * Pieces>([&](auto i) {
      constexpr int row = i / Pieces, p = i % Pieces;
      fetch_if<row % 32>(mask[row / 32], from + row * Layout::row + p * Layout::piece,
                         strip_type::part(strip.cells[F][row], p));
    });
  }

  /// The lane's cells in the grid.
  __device__ __forceinline__ Real* in_grid(const Real* field, int y) const {
    const int ny = int(a.g.extents[1]), nx = int(a.g.extents[2]);
    if (a.t.y.periodic) y += y < 0 ? ny : y >= ny ? -ny : 0;
    const int x = strip.x + (!a.t.x.periodic ? 0 : strip.x < 0 ? nx : strip.x >= nx ? -nx : 0);
    return const_cast<Real*>(field) + index(y) * a.g.pitch + x;
  }
  /// Copies a lane's cells of a row whose pieces lie `stride` cells apart.
  static __device__ __forceinline__ void copy(const Real* from, int from_stride, Real* to, int to_stride) {
#pragma unroll
    for (int p = 0; p < Pieces; ++p) {
      Real v[V];
      load_piece_if(true, from + p * from_stride, v);
      store_piece(to + p * to_stride, v);
    }
  }

  /// Fields into strips. What lies beyond the first and the last strip stays as it is: rims.
  __device__ __forceinline__ void load() {
    unrolled<fields>([&](auto f) {
      Real* const own = shown<across>(0, f, 1, 1);
      unrolled<Rows * C>([&](auto i) { strip.cells[f][i / C][i % C] = Real(0); });
      if (lane_there())
#pragma unroll 4
        for (int row = 0; row < strip.rows(); ++row) {
          const bool streams = row < strip.in_memory;
          copy(in_grid(a.g.state[f], strip.y + row), V,
               streams ? strip.in_memory_at(f, row) : own + row * across::row,
               streams ? 32 * V : across::piece);
        }
      const int wanted = lane_there() ? strip.rows() : 0;
      for (int row = strip.in_memory; row < ::min(wanted, strip.before_registers()); ++row)
        fetch_slot<across, f>(row, lane, own);
      fetch_registers<across, f>({0, wanted}, own);
      const auto edge = [&](Real* to, int first, int count) {
        for (int i = 0; i < count; ++i) {
          Real v[C]{};
          if (lane_there() && first + i >= 0 && first + i < a.g.extents[1])
#pragma unroll
            for (int p = 0; p < Pieces; ++p)
              load_piece(in_grid(a.g.state[f], first + i) + p * V, strip_type::part(v, p));
          strip_type::store(to + i * row_cells, v);
        }
      };
      if (warp == 0) edge(strip.template last_rows<f>(-1), strip.y - around::up_of(f), around::up_of(f));
      if (warp == strip_warps - 1)
        edge(strip.template first_rows<f>(strip_warps), strip.y + strip.rows(), around::down_of(f));
    });
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  /// Fresh rings: every block shows the cells that others hold in rings, and takes its own from them.
  __device__ __forceinline__ void exchange() {
    __syncwarp(); // lanes look at each other's slots
    const int begin = facts.own_begin[0] - before(), end = facts.own_end[0] - before(), rows = strip.rows();
    const int side_x = side_of(lane);
    {
      const int alone_begin = facts.alone_begin[0] - before(), alone_end = facts.alone_end[0] - before();
      const bool own = side_x == 1, alone = lane >= facts.alone_begin[1] && lane < facts.alone_end[1];
      unrolled<assigned_count<S>>([&](auto f) {
        Real* const beside_tiles = shown<columns>(half, f, 1, 1);
        move_beside<columns, f, true>(
            begin, end, facts.own_begin[1], facts.alone_begin[1], facts.alone_end[1], facts.own_end[1],
            [&](int l) { return beside_tiles + columns::lane(l - lane, a.t.y.held); });
        beside(begin, end, facts.own_begin[1], facts.alone_begin[1], facts.alone_end[1], facts.own_end[1],
               [&](int row, int l) { show_slot<columns, f>(row, l, beside_tiles); });
        show_registers<columns, f>({begin, own && !alone ? end : begin}, beside_tiles);
        if (alone_begin <= ::max(0, begin) && alone_end >= ::min(rows, end)) return; // nobody above or below
        Real* const above_below = shown<across>(half, f, 1, 1);
        // Rows below `alone_end` come before those above: what is alone lies in between.
        const int low = ::max(0, begin),
                  above = ::max(0, ::min(alone_begin, ::min(end, strip.in_memory)) - low);
        const int under = ::max(low + above, alone_end);
        move_in_memory<across, f, true>(
            own ? above + ::max(0, ::min(end, strip.in_memory) - under) : 0,
            [&](int i, int& row, int&) { return row = i < above ? low + i : under + i - above, true; },
            [&](int) { return above_below; });
        if (own)
          for (int row = ::max(strip.in_memory, begin); row < ::min(end, strip.before_registers()); ++row)
            if (row < alone_begin || row >= alone_end) show_slot<across, f>(row, lane, above_below);
        show_registers<across, f>({begin, own ? end : begin, alone_begin, alone_end}, above_below);
      });
    }
    cooperative_groups::this_grid().sync();
    unrolled<assigned_count<S>>([&](auto f) {
      move_beside<columns, f, false>(
          begin, end, 0, facts.own_begin[1], facts.own_end[1], facts.lanes, [&](int l) {
            return shown<columns>(half, f, 1, side_of(l)) + columns::lane(l - lane, a.t.y.held);
          });
      beside(begin, end, 0, facts.own_begin[1], facts.own_end[1], facts.lanes,
             [&](int row, int l) { fetch_slot<columns, f>(row, l, shown<columns>(half, f, 1, side_of(l))); });
      fetch_registers<columns, f>({begin, lane_there() && side_x != 1 ? end : begin},
                                  shown<columns>(half, f, 1, side_x));
    });
#pragma unroll 1
    for (int side_y = 0; side_y < 3; side_y += 2) {
      const int from = side_y == 0 ? 0 : ::max(0, end), to = side_y == 0 ? ::min(begin, rows) : rows;
      if (from >= to) continue;
      unrolled<assigned_count<S>>([&](auto f) {
        Real* const there = shown<across>(half, f, side_y, side_x);
        move_in_memory<across, f, false>(
            lane_there() ? ::min(to, strip.in_memory) - from : 0,
            [&](int i, int& row, int&) { return row = from + i, true; }, [&](int) { return there; });
        if (lane_there())
          for (int row = ::max(strip.in_memory, from); row < ::min(to, strip.before_registers()); ++row)
            fetch_slot<across, f>(row, lane, there);
        fetch_registers<across, f>({from, lane_there() ? to : from}, there);
      });
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    half ^= 1;
  }

  template <bool Down, class Ends> __device__ __forceinline__ void step(index number) {
    __syncthreads(); // the ends of the last step have been read
    strip.template send_for_first<Down>();
    strip.show_ends();
    __syncthreads();
    bool keep[C];
#pragma unroll
    for (int i = 0; i < C; ++i) keep[i] = strip.x + i < a.active_x[0] || strip.x + i >= a.active_x[1];
    strip.template sweep<Down, Ends>(a.g, static_cast<Real>(number), keep);
  }

  /// Strips into fields, and the rows that no strip holds.
  __device__ __forceinline__ void store() {
    cooperative_groups::this_grid().sync(); // the halves are written again
    __pipeline_wait_prior(0);               // of the last rows in memory: groups without copies
    const int begin = ::max(0, facts.own_begin[0] - before()),
              end = ::min(strip.rows(), facts.own_end[0] - before());
    const bool lane_owned = side_of(lane) == 1 && lane_there();
    unrolled<assigned_count<S>>([&](auto f) {
      Real* const own = shown<across>(0, f, 1, 1);
      show_registers<across, f>({begin, lane_owned ? end : begin}, own);
      if (!lane_owned) return;
      for (int row = ::max(strip.in_memory, begin); row < ::min(end, strip.before_registers()); ++row)
        show_slot<across, f>(row, lane, own);
#pragma unroll 4
      for (int row = begin; row < end; ++row) {
        const bool streams = row < strip.in_memory;
        copy(streams ? strip.in_memory_at(f, row) : own + row * across::row, streams ? 32 * V : across::piece,
             in_grid(a.g.next[f], strip.y + row), V);
      }
      const auto rim = [&](int from, int to) {
        for (int y = from + warp; y < to; y += strip_warps)
          copy(in_grid(a.g.state[f], y), V, in_grid(a.g.next[f], y), V);
      };
      if (!a.t.y.periodic && tile_y == 0) rim(0, a.t.y.lo);
      if (!a.t.y.periodic && tile_y == a.t.y.count - 1) rim(a.t.y.hi, int(a.g.extents[1]));
    });
  }

  template <class Ends> __device__ __forceinline__ void run() {
    load();
    int since = 0; // steps since the rings were fresh
    constexpr int each = around::template alternate<Real> ? 2 : 1;
    for (index done = 0;; done += each) {
      step<true, Ends>(a.first_step + done);
      if (done + 1 == a.steps) return store();
      if constexpr (around::template alternate<Real>) {
        step<false, Ends>(a.first_step + done + 1);
        if (done + 2 == a.steps) return store();
      }
      since += each;
      if (since == a.t.depth) {
        exchange();
        since = 0;
      }
    }
  }
};

} // namespace detail

/// Launch: cooperative, `t.blocks()` blocks of 32 × strip_warps threads, `strip_shape::shared_bytes` of
/// dynamic shared memory. The blocks meet at grid barriers. \tparam Rows of a strip in registers
template <class S, class Real, int Rows>
__global__ void __launch_bounds__(32 * strip_warps, 1)
    register_kernel(const __grid_constant__ register_arguments<S, Real> a) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ detail::exchange_facts facts;
  detail::register_block<S, Real, Rows> block(a, facts, reinterpret_cast<Real*>(shared_bytes));
  constexpr int C = strip_shape_of<S, Real>().cells;
  constexpr reach around = reach_of(step_program<S>::value, 0, field_count<S>);
  // All blocks look at as many cells: they wait for the slowest anyway.
  constexpr int low = around.low[2], high = around.high[2];
  if (low + high < C && a.g.extents[2] % C == 0)
    block.template run<detail::lane_ends<low, high>>();
  else
    block.template run<detail::lane_ends<C, 0>>();
}

} // namespace stet::cuda
