#pragma once
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <stet/cuda/device/strip.cuh>

/// The resident strategy with the cells in registers, and in shared memory where registers end (strip.cuh):
/// the whole time loop in one cooperative launch. After PERKS (Zhang et al., ICS 2023), with rings deep
/// enough for several steps between exchanges.
namespace stet::cuda {

template <class S, class Real> struct register_arguments {
  grid<S, Real> g; ///< `state` holds the fields; on return `next` does
  register_tiling t;
  int active_lo[3], active_hi[3]; ///< the cells that are updated; beyond the grid's where it is periodic
  index first_step;
  int steps;
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

template <int I> using int_constant = std::integral_constant<int, I>;

/// What a block knows of its exchanges. In shared memory: registers are for cells.
///
/// Along y in rows of the tile, along x in lanes: what the block owns, what it keeps right without others,
/// and what no other block takes from it.
struct exchange_facts {
  int own_begin[2], own_end[2], right_begin[2], right_end[2], alone_begin[2], alone_end[2]; ///< y, x
  int lanes;                  ///< those that hold cells of the grid
  int tile[3][3];             ///< by side in y and x: its number
  int shift_y[3], shift_x[3]; ///< rows and lanes by which it begins before this one
  int begin[3];               ///< of the tile in the grid: the first row, y in rank 3, x
  int beside[4];              ///< rank 3: the tile at low x, high x, low y, high y; −1: none
};

/// Where a lane shows or finds its cells of a strip's rows, in memory of the exchanges' own. Rows in
/// registers are at constant distances.
///
/// The few rows that tiles above and below read: [tile][field][row][piece][lane][cell].
template <class Real, int C> struct rows_across {
  static constexpr int V = piece_cells<Real>;
  Real* slots;     ///< of the strip's first row
  Real* registers; ///< of the first one in registers
  __device__ __forceinline__ Real* in_slots(int row, int p) const {
    return slots + row * 32 * C + p * 32 * V;
  }
  __device__ __forceinline__ Real* in_registers(int row, int p) const {
    return registers + row * 32 * C + p * 32 * V;
  }
};
/// The few lanes that a tile reads of one beside: [that tile][field][side][warp][rows of a
/// sector][lane][row][cell], packed. In rows of the tile each lane would take a line of L2 of which little is
/// read; in columns each would be a transaction of its own.
template <class Real, int C> struct rows_beside {
  static constexpr int V = piece_cells<Real>, lanes = most_beside;
  static constexpr int block =
      C * int(sizeof(Real)) < 32 ? 32 / (C * int(sizeof(Real))) : 1; ///< rows of 32 bytes
  Real* slots;
  Real* registers;
  static __device__ __forceinline__ int at(int row, int p) {
    return row / block * block * lanes * C + row % block * C + p * V;
  }
  /// Cells of so many rows.
  static __device__ __forceinline__ int size(int rows) {
    return (rows + block - 1) / block * block * lanes * C;
  }
  __device__ __forceinline__ Real* in_slots(int row, int p) const { return slots + at(row, p); }
  __device__ __forceinline__ Real* in_registers(int row, int p) const { return registers + at(row, p); }
};

/// A block of the register kernel.
///
/// The whole run is one straight loop: where ways join on which all cells are live, ptxas spills. For the
/// same reason nothing that only exchanges need is kept in registers.
template <class S, class Real, int Rows, bool Streams> struct register_block {
  static constexpr int Pieces = strip_shape_of<S, Real>().cells / piece_cells<Real>;
  using strip_type = detail::strip<S, Real, Pieces, Rows, Streams>;
  using around = strip_reach<S>;
  static constexpr int V = piece_cells<Real>, C = strip_type::C, fields = field_count<S>;
  static constexpr int row_cells = strip_type::row_cells, words = (Rows + 31) / 32;
  using beside_type = rows_beside<Real, C>;
  using across_type = rows_across<Real, C>;

  static constexpr bool planes = rank_of<S> == 3;
  using patch = lane_patch<S, Real>;
  using frame = strip_frame<S, Real>;
  static_assert(int(frame::cells) <= fields * row_cells, "frames take the place of lanes beside");

  const register_arguments<S, Real>& a;
  exchange_facts& facts;
  int lane, warp;
  strip_type strip;
  int half = 1;
  unsigned rim = 0; ///< rank 3: the lane's cells that keep their values

  __device__ __forceinline__ register_block(const register_arguments<S, Real>& given,
                                            exchange_facts& shared_facts, Real* shared)
      : a(given), facts(shared_facts), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
        strip(shared, given.streamed, given.t) {
    if (threadIdx.x == 0) {
      const int tile_x = int(blockIdx.x) % a.t.x.count,
                tile_side = int(blockIdx.x) / a.t.x.count % a.t.side.count;
      const int tile_y = this->tile_y();
      const axis_tiling &y = a.t.y, &x = a.t.x, &side = a.t.side;
      const auto along = [&](int axis, const axis_tiling& t, int tile, int unit) {
        const auto relative = [&](int cell) {
          const int i = (cell - t.begin(tile) + unit - 1) / unit;
          return ::max(0, ::min(i, t.held / unit));
        };
        facts.own_begin[axis] = relative(t.own_begin(tile));
        facts.own_end[axis] = relative(t.own_begin(tile + 1));
        facts.alone_begin[axis] = relative(t.shared_begin(tile));
        facts.alone_end[axis] = t.is_last(tile) ? t.held / unit : relative(t.shared_end(tile));
        facts.right_begin[axis] = t.is_first(tile) ? 0 : t.ring / unit;
        facts.right_end[axis] = (t.is_last(tile) ? t.held : t.held - t.ring) / unit;
      };
      facts.begin[0] = y.begin(tile_y);
      facts.begin[1] = side.begin(tile_side);
      facts.begin[2] = x.begin(tile_x);
      along(0, y, tile_y, 1);
      along(1, x, tile_x, patch::width);
      facts.lanes =
          x.periodic ? 32
                     : ::min(32, (int(a.g.extents[2]) - x.begin(tile_x) + patch::width - 1) / patch::width);
      for (int j = 0; j < 3; ++j) {
        facts.shift_y[j] = y.distance(tile_y, j - 1);
        facts.shift_x[j] = x.distance(tile_x, j - 1) / patch::width;
        for (int i = 0; i < 3; ++i)
          facts.tile[i][j] =
              a.t.number(y.wrapped(tile_y + i - 1), tile_side, x.wrapped(tile_x + (planes ? 0 : j - 1)));
      }
      if constexpr (planes)
        for (int i = 0; i < 4; ++i) {
          const axis_tiling& t = i < 2 ? x : side;
          const int next = (i < 2 ? tile_x : tile_side) + (i % 2 == 0 ? -1 : 1);
          facts.beside[i] = !t.periodic && (next < 0 || next >= t.count) ? -1
                            : i < 2 ? a.t.number(tile_y, tile_side, x.wrapped(next))
                                    : a.t.number(tile_y, side.wrapped(next), tile_x);
        }
    }
    __syncthreads();
    if constexpr (planes)
#pragma unroll
      for (int i = 0; i < C; ++i)
        if (!active(i)) rim |= 1u << i;
  }

  /// Whether a lane's cell may change along x and, in rank 3, y.
  __device__ __forceinline__ bool active(int i) const {
    const int x = lane_x() + i % patch::width, y = lane_y() + i / patch::width;
    return x >= a.active_lo[2] && x < a.active_hi[2] &&
           (!planes || (y >= a.active_lo[1] && y < a.active_hi[1]));
  }
  __device__ __forceinline__ int tile_y() const { return int(blockIdx.x) / a.t.x.count / a.t.side.count; }
  /// In the grid: the strip's first row, the lane's first cell.
  __device__ __forceinline__ int first_row() const { return facts.begin[0] + before(); }
  __device__ __forceinline__ int lane_y() const {
    return facts.begin[1] + lane / patch::lanes_x * patch::height;
  }
  __device__ __forceinline__ int lane_x() const {
    return facts.begin[2] + lane % patch::lanes_x * patch::width;
  }
  /// Whether a lane holds cells of the grid, and whether its piece p of a row does.
  __device__ __forceinline__ bool lane_there() const { return planes ? piece_there(0) : lane < facts.lanes; }
  __device__ __forceinline__ bool piece_there(int p) const {
    return !planes || (lane_x() < a.g.extents[2] && lane_y() + p * V / patch::width < a.g.extents[1]);
  }
  /// Rows of the strip that lie in the grid: in rank 3 it may end behind it.
  __device__ __forceinline__ int rows_there() const {
    return !planes || a.t.y.periodic ? strip.rows()
                                     : ::max(0, ::min(strip.rows(), int(a.g.extents[0]) - first_row()));
  }
  /// The strip's first row in the tile.
  __device__ __forceinline__ int before() const { return warp * strip.rows(); }
  /// The side (0 … 2) of the tile that owns a lane's cells.
  __device__ __forceinline__ int side_of(int l) const {
    return planes ? 1 : l < facts.own_begin[1] ? 0 : l < facts.own_end[1] ? 1 : 2;
  }

  /// Where the lane's cells are shown by the tile on a side along y and x that owns them.
  __device__ __forceinline__ across_type across(int in_half, int field, int side_y, int side_x) const {
    Real* const tile = a.exchanged + index(2 * in_half + 1) * a.t.exchange_cells(fields) +
                       index(facts.tile[side_y][side_x] * fields + field) * a.t.y.held * row_cells;
    Real* const first =
        tile + (before() + facts.shift_y[side_y]) * row_cells + (lane + facts.shift_x[side_x]) * V;
    return {first, first + strip.before_registers() * row_cells};
  }
  /// Lane k of those that a tile takes from the one beside it, at low x or at high x.
  __device__ __forceinline__ beside_type beside(int in_half, int field, int tile, bool high, int k) const {
    const int slots = beside_type::size(strip.before_registers()), all = slots + beside_type::size(Rows);
    Real* const first = a.exchanged + index(2 * in_half) * a.t.exchange_cells(fields) +
                        index(((tile * fields + field) * 2 + high) * strip_warps + warp) * all +
                        k * beside_type::block * C;
    return {first, first + slots};
  }
  /// Lanes that a tile takes from one beside it.
  __device__ __forceinline__ int ring_lanes() const { return a.t.x.ring / patch::width; }
  /// Where the tile beside that reads lane l finds it, and where lane l finds its own.
  __device__ __forceinline__ beside_type shown_beside(int in_half, int field, int l) const {
    const bool to_high = l >= facts.alone_end[1];
    return beside(in_half, field, facts.tile[1][to_high ? 2 : 0], !to_high,
                  to_high ? l + facts.shift_x[2]
                          : l + facts.shift_x[0] - (a.t.x.held / patch::width - ring_lanes()));
  }
  __device__ __forceinline__ beside_type found_beside(int in_half, int field, int l) const {
    const bool high = l >= facts.right_end[1];
    return beside(in_half, field, facts.tile[1][1], high, high ? l - facts.right_end[1] : l);
  }

  /// Rows in shared memory go piece by piece to where they are shown, or come from there without passing
  /// registers; those of lane l. Rows are numbered from the strip's first.
  template <int F, class Place>
  __device__ __forceinline__ void show_slot(int row, int l, const Place& to) const {
#pragma unroll
    for (int p = 0; p < Pieces; ++p) {
      Real v[V];
      load_piece(strip.slot(F, row - strip.in_memory()) + (l - lane + p * 32) * V, v);
      store_piece(to.in_slots(row, p), v);
    }
  }
  template <int F, class Place>
  __device__ __forceinline__ void fetch_slot(int row, int l, const Place& from) const {
#pragma unroll
    for (int p = 0; p < Pieces; ++p)
      __pipeline_memcpy_async(strip.slot(F, row - strip.in_memory()) + (l - lane + p * 32) * V,
                              from.in_slots(row, p), 16);
  }
  /// Rows in memory, between their place and where they are shown: those that at(i, row, l), i = 0 … count −
  /// 1, wants and names. Many are under way together, through the slots by which rows stream: registers are
  /// taken. \tparam Show there, or back \param there of a lane: where it is shown
  template <int F, bool Show, class At, class There>
  __device__ __forceinline__ void move_in_memory(int count, At&& at, There&& there) const {
    constexpr int batch = strip_type::ahead * fields;
#pragma unroll 1
    for (int first = 0; first < count; first += batch) {
      const int held = ::min(batch, count - first);
#pragma unroll 1
      for (int i = 0; i < held; ++i) {
        int row = 0, l = lane;
        if (!at(first + i, row, l)) continue;
        const auto shown = there(l);
        const Real* const own = strip.in_memory_at(F, row) + (l - lane) * V;
#pragma unroll
        for (int p = 0; p < Pieces; ++p)
          __pipeline_memcpy_async(strip.passing(i) + p * 32 * V,
                                  Show ? own + p * 32 * V : shown.in_slots(row, p), 16);
      }
      __pipeline_commit();
      __pipeline_wait_prior(0);
#pragma unroll 1
      for (int i = 0; i < held; ++i) {
        int row = 0, l = lane;
        if (!at(first + i, row, l)) continue;
        const auto shown = there(l);
        Real* const own = strip.in_memory_at(F, row) + (l - lane) * V;
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
          Real v[V];
          load_piece(strip.passing(i) + p * 32 * V, v);
          store_piece(Show ? shown.in_slots(row, p) : own + p * 32 * V, v);
        }
      }
    }
  }
  /// Rows [begin, end) of those in memory and the lanes outside [lane_begin, lane_end), up to `lanes`.
  template <int F, bool Show, class There>
  __device__ __forceinline__ void move_beside(int begin, int end, int first_lane, int lane_begin,
                                              int lane_end, int lanes, There&& there) const {
    begin = ::max(0, begin);
    end = ::min(end, strip.in_memory());
    const int low = lane_begin - first_lane, each = low + ::max(0, lanes - lane_end);
    if (end <= begin || each <= 0) return;
    const int all = (end - begin) * each;
    move_in_memory<F, Show>((all + 31) / 32,
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
  __device__ __forceinline__ void lanes_beside(int begin, int end, int first_lane, int lane_begin,
                                               int lane_end, int lanes, Call&& f) const {
    begin = ::max(strip.in_memory(), begin);
    end = ::min(end, strip.before_registers());
    const int low = lane_begin - first_lane, each = low + ::max(0, lanes - lane_end);
    if (end <= begin || each <= 0) return;
    for (int i = lane; i < (end - begin) * each; i += 32) {
      const int k = i % each;
      f(begin + i / each, k < low ? first_lane + k : lane_end + k - low);
    }
  }

  template <int F, class Place>
  __device__ __forceinline__ void show_registers(const row_set& wanted, const Place& to) {
    unsigned mask[words];
#pragma unroll
    for (int i = 0; i < words; ++i) mask[i] = wanted.mask(strip.before_registers(), i);
    unrolled<Rows * Pieces>([&](auto i) {
      constexpr int row = i / Pieces, p = i % Pieces;
      publish_if<row % 32>(mask[row / 32], to.in_registers(row, p), strip_type::part(strip.cells[F][row], p));
    });
  }
  template <int F, class Place>
  __device__ __forceinline__ void fetch_registers(const row_set& wanted, const Place& from) {
    unsigned mask[words];
#pragma unroll
    for (int i = 0; i < words; ++i) mask[i] = wanted.mask(strip.before_registers(), i);
    unrolled<Rows * Pieces>([&](auto i) {
      constexpr int row = i / Pieces, p = i % Pieces;
      fetch_if<row % 32>(mask[row / 32], from.in_registers(row, p), strip_type::part(strip.cells[F][row], p));
    });
  }

  /// Piece p of the lane's cells of a row of the grid.
  __device__ __forceinline__ Real* in_grid(const Real* field, int row, int p) const {
    const int n = int(a.g.extents[strip_axis<S>]), nx = int(a.g.extents[2]);
    if (a.t.y.periodic) row += row < 0 ? n : row >= n ? -n : 0;
    if constexpr (planes)
      return const_cast<Real*>(field) +
             a.g.at(row, lane_y() + p * V / patch::width, lane_x() + p * V % patch::width);
    int x = lane_x();
    if (a.t.x.periodic) x += x < 0 ? nx : x >= nx ? -nx : 0;
    return const_cast<Real*>(field) + index(row) * a.g.pitch + x + p * V;
  }
  /// Copies a piece that other blocks may have written.
  static __device__ __forceinline__ void copy(const Real* from, Real* to) {
    Real v[V];
    load_piece_if(true, from, v);
    store_piece(to, v);
  }

  /// Fields into strips. What lies beyond the first and the last strip stays as it is: rims.
  __device__ __forceinline__ void load() {
    unrolled<fields>([&](auto f) {
      const across_type own = across(0, f, 1, 1);
      unrolled<Rows * C>([&](auto i) { strip.cells[f][i / C][i % C] = Real(0); });
      const int wanted = lane_there() ? rows_there() : 0;
#pragma unroll 4
      for (int row = 0; row < ::max(wanted, strip.in_memory()); ++row) // those in memory are read in any case
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
          Real v[V]{};
          if (row < wanted && piece_there(p)) load_piece(in_grid(a.g.state[f], first_row() + row, p), v);
          const bool streams = row < strip.in_memory();
          store_piece(streams ? strip.in_memory_at(f, row) + p * 32 * V : own.in_slots(row, p), v);
        }
      for (int row = strip.in_memory(); row < ::min(wanted, strip.before_registers()); ++row)
        fetch_slot<f>(row, lane, own);
      fetch_registers<f>({0, wanted}, own);
      const auto edge = [&](Real* to, int first, int count) {
        for (int i = 0; i < count; ++i) {
          Real v[C]{};
          const int row = first + i;
          if (lane_there() && row >= 0 && row < a.g.extents[strip_axis<S>])
#pragma unroll
            for (int p = 0; p < Pieces; ++p)
              if (piece_there(p)) load_piece(in_grid(a.g.state[f], row, p), strip_type::part(v, p));
          strip_type::store(to + i * row_cells, v);
        }
      };
      if (warp == 0) edge(strip.template last_rows<f>(-1), first_row() - around::up_of(f), around::up_of(f));
      if (warp == strip_warps - 1)
        edge(strip.template first_rows<f>(strip_warps), first_row() + strip.rows(), around::down_of(f));
      if constexpr (planes) load_frame<f>();
    });
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if constexpr (planes) {
      if constexpr (Streams) // where nobody is beside
        for (int i = lane; i < strip_type::frames_ahead * frame::cells; i += 32)
          strip.passing_frame()[i] = Real(0);
      strip.show_ends();
      __syncthreads();
    }
  }

  /// Calls f(side, before, each) for the sides of a frame, low x, high x, low y, high y: cells of a row on
  /// this side, and on those before it.
  template <int F, class Call> static __device__ __forceinline__ void sides_of_frame(Call&& f) {
    constexpr int beside = frame::beside(F), beyond = frame::beyond(F), first = frame::at(F);
    if constexpr (beside > 0) {
      f(int_constant<0>{}, int_constant<first>{}, int_constant<beside>{});
      f(int_constant<1>{}, int_constant<first + beside>{}, int_constant<beside>{});
    }
    if constexpr (beyond > 0) {
      f(int_constant<2>{}, int_constant<first + 2 * beside>{}, int_constant<beyond>{});
      f(int_constant<3>{}, int_constant<first + 2 * beside + beyond>{}, int_constant<beyond>{});
    }
  }
  /// The strip's frame in memory, where a tile shows what is to be in those beside it; in particular what
  /// this one finds at a side, from row 0 on.
  __device__ __forceinline__ Real* shown_frame(int in_half, int tile) const {
    return a.exchanged + index(2 * in_half) * a.t.exchange_cells(fields) +
           (index(tile) * a.t.y.held + before()) * frame::cells;
  }
  template <int Side, int Before, int Each> __device__ __forceinline__ Real* found_side(int in_half) const {
    constexpr int opposite = Side % 2 == 0 ? Each : -Each;
    return shown_frame(in_half, facts.beside[Side]) + (Before + opposite) * strip.rows();
  }
  /// Cells beside the strip into its frame; for rows in memory, where they will be looked for.
  template <int F> __device__ __forceinline__ void load_frame() {
    constexpr int width = patch::lanes_x * patch::width, height = patch::lanes_y * patch::height;
    const int x0 = facts.begin[2], y0 = facts.begin[1];
    const auto wrap = [&](int at, bool periodic, int axis) {
      const int n = int(a.g.extents[axis]);
      return !periodic ? at : at < 0 ? at + n : at >= n ? at - n : at;
    };
    sides_of_frame<F>([&](auto side, auto before_it, auto each) {
      for (int i = lane; i < each * strip.rows(); i += 32) {
        const int row = i / each, j = i % each, distance = j / (side < 2 ? height : width);
        int y = y0 + (side < 2    ? j % patch::lanes_y * patch::height + j / patch::lanes_y % patch::height
                      : side == 2 ? -1 - distance
                                  : height + distance);
        int x = x0 + (side == 0 ? -1 - distance : side == 1 ? width + distance : j % width);
        const int z = wrap(first_row() + row, a.t.y.periodic, 0);
        y = wrap(y, a.t.side.periodic, 1);
        x = wrap(x, a.t.x.periodic, 2);
        const bool there =
            z >= 0 && z < a.g.extents[0] && y >= 0 && y < a.g.extents[1] && x >= 0 && x < a.g.extents[2];
        const Real v = there ? a.g.state[F][a.g.at(z, y, x)] : Real(0);
        if (row >= strip.in_memory())
          strip.frame[before_it * strip.framed() + i - each * strip.in_memory()] = v;
        else if (facts.beside[side] >= 0)
          for (int h = 0; h < (F < assigned_count<S> ? 1 : 2); ++h) // coefficients are never shown again
            found_side<side(), before_it(), each()>(h)[i] = v;
      }
    });
  }
  /// The frame of rows that are not in memory, as the blocks beside have shown it.
  template <int F> __device__ __forceinline__ void fetch_frame() const {
    sides_of_frame<F>([&](auto side, auto before_it, auto each) {
      if (facts.beside[side] < 0) return;
      const Real* const from = found_side<side(), before_it(), each()>(half) + each * strip.in_memory();
      for (int i = lane * V; i < each * strip.framed(); i += 32 * V)
        __pipeline_memcpy_async(strip.frame + before_it * strip.framed() + i, from + i, 16);
    });
  }
  /// Tells the strip from where the frames of its rows in memory come in the next sweep.
  __device__ __forceinline__ void find_frames() {
    unrolled<strip_type::shares>([&](auto j) {
      typename strip_type::frame_piece piece{};
      const int i = (lane + 32 * j) * V;
      unrolled<fields>([&](auto f) {
        sides_of_frame<f>([&](auto side, auto before_it, auto each) {
          if (i < before_it || i >= before_it + each || facts.beside[side] < 0) return;
          piece.from = found_side<side(), before_it(), each()>(half ^ 1) + i - before_it;
          piece.to = strip.passing_frame() + before_it * strip_type::frames_ahead + i - before_it;
          piece.step = each;
          piece.rows = strip.in_memory();
        });
      });
      strip.pieces[j] = piece;
    });
  }

  /// Fresh rings: every block shows the cells that others hold in rings, and takes its own from them.
  __device__ __forceinline__ void exchange() {
    __syncwarp(); // lanes look at each other's slots
    const int begin = facts.right_begin[0] - before(), end = facts.right_end[0] - before(),
              rows = strip.rows();
    const int side_x = side_of(lane);
    {
      const int own_begin = facts.own_begin[0] - before(), own_end = facts.own_end[0] - before();
      const int alone_begin = facts.alone_begin[0] - before(), alone_end = facts.alone_end[0] - before();
      const bool own = side_x == 1;
      unrolled<assigned_count<S>>([&](auto f) {
        if constexpr (!planes) {
          const int low = facts.alone_begin[1], high = facts.alone_end[1],
                    first = ::max(0, low - ring_lanes()), last = ::min(32, high + ring_lanes());
          const bool taken = (lane >= first && lane < low) || (lane >= high && lane < last);
          if constexpr (Streams)
            move_beside<f, true>(begin, end, first, low, high, last,
                                 [&](int l) { return shown_beside(half, f, l); });
          lanes_beside(begin, end, first, low, high, last,
                       [&](int row, int l) { show_slot<f>(row, l, shown_beside(half, f, l)); });
          show_registers<f>({begin, taken ? end : begin}, shown_beside(half, f, lane));
        }
        if (alone_begin <= ::max(0, own_begin) && alone_end >= ::min(rows, own_end))
          return; // nobody above, below
        const across_type above_below = across(half, f, 1, 1);
        if constexpr (Streams) {
          // Rows below `alone_end` come before those above: what is alone lies in between.
          const int low = ::max(0, own_begin), last = ::min(own_end, strip.in_memory());
          const int above = ::max(0, ::min(alone_begin, last) - low), under = ::max(low + above, alone_end);
          move_in_memory<f, true>(
              own ? above + ::max(0, last - under) : 0,
              [&](int i, int& row, int&) { return row = i < above ? low + i : under + i - above, true; },
              [&](int) { return above_below; });
        }
        if (own)
          for (int row = ::max(strip.in_memory(), own_begin); row < ::min(own_end, strip.before_registers());
               ++row)
            if (row < alone_begin || row >= alone_end) show_slot<f>(row, lane, above_below);
        show_registers<f>({own_begin, own ? own_end : own_begin, alone_begin, alone_end}, above_below);
      });
    }
    cooperative_groups::this_grid().sync();
    unrolled<assigned_count<S>>([&](auto f) {
      if constexpr (planes) return fetch_frame<f>();
      if constexpr (Streams)
        move_beside<f, false>(begin, end, 0, facts.right_begin[1], facts.right_end[1], facts.lanes,
                              [&](int l) { return found_beside(half, f, l); });
      lanes_beside(begin, end, 0, facts.right_begin[1], facts.right_end[1], facts.lanes,
                   [&](int row, int l) { fetch_slot<f>(row, l, found_beside(half, f, l)); });
      const bool wrong = lane < facts.right_begin[1] || lane >= facts.right_end[1];
      fetch_registers<f>({begin, lane_there() && wrong ? end : begin}, found_beside(half, f, lane));
    });
#pragma unroll 1
    for (int side_y = 0; side_y < 3; side_y += 2) {
      const int from = side_y == 0 ? 0 : ::max(0, end), to = side_y == 0 ? ::min(begin, rows) : rows;
      if (from >= to) continue;
      unrolled<assigned_count<S>>([&](auto f) {
        const across_type there = across(half, f, side_y, side_x);
        if constexpr (Streams)
          move_in_memory<f, false>(
              lane_there() ? ::min(to, strip.in_memory()) - from : 0,
              [&](int i, int& row, int&) { return row = from + i, true; }, [&](int) { return there; });
        if (lane_there())
          for (int row = ::max(strip.in_memory(), from); row < ::min(to, strip.before_registers()); ++row)
            fetch_slot<f>(row, lane, there);
        fetch_registers<f>({from, lane_there() ? to : from}, there);
      });
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    half ^= 1;
  }

  template <bool Down, class Ends> __device__ __forceinline__ void step(index number) {
    if constexpr (!planes) show_ends();
    if constexpr (planes && Streams) {
      __syncthreads();
      find_frames();
      strip.send_for_first();
    }
    typename strip_type::keep_type keep{};
    if constexpr (planes) {
      strip.shown_frame = shown_frame(half, int(blockIdx.x));
      keep.row_end = a.active_hi[0] - first_row();
      keep.cells = rim;
    } else {
#pragma unroll
      for (int i = 0; i < C; ++i) keep.cell[i] = !active(i);
    }
    keep.row = first_row();
    keep.y = lane_y();
    keep.x = lane_x();
    strip.template sweep<Down, Ends>(a.g, static_cast<Real>(number), keep);
    // An exchange after every step changes no row that another strip of the block reads: what is shown while
    // others are on their way to the grid barrier costs no time.
    if constexpr (planes) show_ends();
  }
  __device__ __forceinline__ void show_ends() {
    __syncthreads(); // the ends of the last step have been read
    if constexpr (!planes) strip.send_for_first();
    strip.show_ends();
    if constexpr (!planes) __syncthreads();
  }

  /// Strips into fields, and the rows that no strip holds.
  __device__ __forceinline__ void store() {
    cooperative_groups::this_grid().sync(); // the halves are written again
    __pipeline_wait_prior(0);               // of the last rows in memory: groups without copies
    const int begin = ::max(0, facts.own_begin[0] - before()),
              end = ::min(rows_there(), facts.own_end[0] - before());
    const bool lane_owned = side_of(lane) == 1 && lane_there();
    unrolled<assigned_count<S>>([&](auto f) {
      const across_type own = across(0, f, 1, 1);
      show_registers<f>({begin, lane_owned ? end : begin}, own);
      if (!lane_owned) return;
      for (int row = ::max(strip.in_memory(), begin); row < ::min(end, strip.before_registers()); ++row)
        show_slot<f>(row, lane, own);
#pragma unroll 4
      for (int row = begin; row < end; ++row)
#pragma unroll
        for (int p = 0; p < Pieces; ++p)
          if (piece_there(p))
            copy(row < strip.in_memory() ? strip.in_memory_at(f, row) + p * 32 * V : own.in_slots(row, p),
                 in_grid(a.g.next[f], first_row() + row, p));
      const auto rim = [&](int from, int to) {
        for (int row = from + warp; row < to; row += strip_warps)
#pragma unroll
          for (int p = 0; p < Pieces; ++p)
            if (piece_there(p)) copy(in_grid(a.g.state[f], row, p), in_grid(a.g.next[f], row, p));
      };
      if (!a.t.y.periodic && tile_y() == 0) rim(0, a.t.y.lo);
      if (!a.t.y.periodic && tile_y() == a.t.y.count - 1) rim(a.t.y.hi, int(a.g.extents[strip_axis<S>]));
    });
  }

  template <class Ends> __device__ __forceinline__ void run() {
    load();
    int since = 0; // steps since the rings were fresh
    constexpr int each = strip_type::alternate ? 2 : 1;
    for (int done = 0;; done += each) {
      step<true, Ends>(a.first_step + done);
      if (done + 1 == a.steps) return store();
      if constexpr (strip_type::alternate) {
        step<false, Ends>(a.first_step + done + 1);
        if (done + 2 == a.steps) return store();
      }
      since += each;
      if (planes || since == a.t.depth) {
        exchange();
        since = 0;
      }
    }
  }
};

} // namespace detail

/// Launch: cooperative, `t.blocks()` blocks of 32 × strip_warps threads, `strip_shape::shared_bytes` of
/// dynamic shared memory. The blocks meet at grid barriers. \tparam Rows of a strip in registers
/// \tparam Streams whether others are in memory
template <class S, class Real, int Rows, bool Streams>
__global__ void __launch_bounds__(32 * strip_warps, 1)
    register_kernel(const __grid_constant__ register_arguments<S, Real> a) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ detail::exchange_facts facts;
  detail::register_block<S, Real, Rows, Streams> block(a, facts, reinterpret_cast<Real*>(shared_bytes));
  constexpr int C = strip_shape_of<S, Real>().cells;
  constexpr reach around = reach_of(step_program<S>::value, 0, field_count<S>);
  // All blocks look at as many cells: they wait for the slowest anyway. Two versions where it matters alone:
  // each takes its time to compile.
  constexpr int low = around.low[2], high = around.high[2];
  if constexpr (rank_of<S> == 2 && !Streams && low + high < C &&
                Rows == strip_shape_of<S, Real>().registers.back())
    if (a.g.extents[2] % C == 0) return block.template run<detail::lane_ends<low, high>>();
  block.template run<detail::lane_ends<C, 0>>();
}

} // namespace stet::cuda
