#pragma once
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <stet/cuda/device/strip.cuh>

/// The resident strategy with the cells in registers, and in shared memory where registers end (strip.cuh):
/// the whole time loop in one cooperative launch.
namespace stet::cuda {

template <class S, class Real> struct register_arguments {
  grid<S, Real> g; ///< `state` holds the fields; on return `next` does
  register_tiling t;
  int active_x[2]; ///< first and last + 1 of the cells that are updated; all of them where periodic
  index first_step, steps;
  Real* exchanged; ///< twice `exchange_cells()`
};

namespace detail {

/// Loads a piece that other blocks may have written, where `wanted`, without a branch: such loads of a thread
/// are in flight together. Otherwise `to` is arbitrary.
template <class Real>
__device__ __forceinline__ void fetch_if(bool wanted, const Real* from, Real (&to)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%2]; }"
                 : "=d"(to[0]), "=d"(to[1])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
}

template <int Bit, class Real>
__device__ __forceinline__ void fetch_in_place(unsigned mask, const Real* from, Real (&to)[piece_cells<Real>]) {
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

/// Stores a piece where a bit of `mask` is set, without a branch.
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

/// Bits [from, to) of those numbered 32 · word …; from ≤ to.
__device__ __forceinline__ unsigned bits(int from, int to, int word) {
  const auto below = [&](int n) {
    n = ::min(32, ::max(0, n - 32 * word));
    return n == 32 ? ~0u : (1u << n) - 1;
  };
  return below(to) & ~below(from);
}

} // namespace detail

/// What a block knows of its exchanges. In shared memory: registers are for cells.
struct exchange_facts {
  int own_begin, own_end;     ///< rows of the tile that the block owns
  int alone_begin, alone_end; ///< of these, rows that no other tile holds
  int lane[32];               ///< of a lane's cells: the side (0 … 2) of the tile that owns them, and flags:
  static constexpr int side = 3, shared = 4, outside = 8; ///< other tiles hold them, nobody owns them
  int offset[3][3]; ///< by side in y and x: rows of 32 lanes from this tile's first cell to the same cell there
  int shift[3];     ///< by side in x: lanes
};

/// Launch: cooperative, `t.blocks()` blocks of 32 × strip_warps threads, `strip_shape::shared_bytes` of
/// dynamic shared memory. \tparam Rows of a strip in registers
///
/// Blocks exchange through memory of their own, laid out as strips are: [field][row of the tile][lane's
/// cells], so that all rows of a lane are at constant distances.
template <class S, class Real, int Rows>
__global__ void __launch_bounds__(32 * strip_warps, 1)
    register_kernel(const __grid_constant__ register_arguments<S, Real> a) {
  constexpr int Pieces = strip_shape_of<S, Real>().cells / piece_cells<Real>;
  using strip_type = detail::strip<S, Real, Pieces, Rows>;
  constexpr int V = piece_cells<Real>, C = strip_type::C, fields = field_count<S>;
  constexpr int row_cells = strip_type::row_cells, words = (Rows + 31) / 32;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto all = cooperative_groups::this_grid();

  const axis_tiling &tiles_y = a.t.y, &tiles_x = a.t.x;
  const int tile_x = int(blockIdx.x) % tiles_x.count, tile_y = int(blockIdx.x) / tiles_x.count;
  const int nx = int(a.g.extents[2]), ny = int(a.g.extents[1]);
  strip_type strip(reinterpret_cast<Real*>(shared_bytes), a.t.in_shared,
                   tiles_y.begin(tile_y) + warp * (a.t.in_shared + Rows), tiles_x.begin(tile_x) + lane * C);
  const int x0 = strip.x, y0 = strip.y;
  __shared__ exchange_facts facts;
  if (threadIdx.x < 32) {
    const int side = x0 < tiles_x.own_begin(tile_x) ? 0 : x0 < tiles_x.own_begin(tile_x + 1) ? 1 : 2;
    const bool shared = x0 < tiles_x.shared_begin(tile_x) || x0 + C > tiles_x.shared_end(tile_x);
    const bool outside = !tiles_x.periodic && x0 >= nx;
    facts.lane[lane] =
        side | (shared ? exchange_facts::shared : 0) | (outside ? exchange_facts::outside : 0);
  }
  if (threadIdx.x == 0) {
    facts.own_begin = tiles_y.own_begin(tile_y) - y0;
    facts.own_end = tiles_y.own_begin(tile_y + 1) - y0;
    facts.alone_begin = tiles_y.shared_begin(tile_y) - y0;
    facts.alone_end = tiles_y.shared_end(tile_y) - y0;
    for (int j = 0; j < 3; ++j) {
      facts.shift[j] = tiles_x.distance(tile_x, j - 1) / C;
      for (int i = 0; i < 3; ++i)
        facts.offset[i][j] = (tiles_y.wrapped(tile_y + i - 1) * tiles_x.count + tiles_x.wrapped(tile_x + j - 1)) *
                                 fields * tiles_y.held +
                             tiles_y.distance(tile_y, i - 1);
    }
  }
  __syncthreads();

  /// The lane's cells of a field in the strip's first row, where the tile on a side keeps them.
  const auto exchanged = [&](int half, int field, int side_y, int side_x) {
    const int row = facts.offset[side_y][side_x] + field * a.t.y.held + warp * strip.rows();
    return a.exchanged + index(half) * a.t.exchange_cells(fields) + index(row) * row_cells +
           (lane + facts.shift[side_x]) * V;
  };
  /// Loads or stores the rows of a field: those in [outer_begin, outer_end), but not in [inner_begin,
  /// inner_end) if `cut`.
  const auto move_rows = [&](auto loads, auto field, Real* memory, int outer_begin, int outer_end, bool cut,
                             int inner_begin, int inner_end) {
#pragma unroll 1
    for (int row = 0; row < strip.in_shared; ++row)
      if (row >= outer_begin && row < outer_end && !(cut && row >= inner_begin && row < inner_end)) {
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
          Real* const here = strip.slot(field, row) + p * 32 * V;
          if constexpr (decltype(loads)::value) {
            __pipeline_memcpy_async(here, memory + row * row_cells + p * 32 * V, 16);
          } else {
            Real v[V];
            load_piece(here, v);
            store_piece(memory + row * row_cells + p * 32 * V, v);
          }
        }
      }
    memory += strip.in_shared * row_cells;
    unsigned mask[words];
#pragma unroll
    for (int i = 0; i < words; ++i)
      mask[i] = detail::bits(outer_begin - strip.in_shared, outer_end - strip.in_shared, i) &
                ~(cut ? detail::bits(inner_begin - strip.in_shared, inner_end - strip.in_shared, i) : 0u);
    unrolled<Rows * Pieces>([&](auto i) {
      constexpr int row = i / Pieces, p = i % Pieces;
      auto& cells = strip.part(strip.cells[field][row], p);
      Real* const there = memory + row * row_cells + p * 32 * V;
      if constexpr (decltype(loads)::value)
        detail::fetch_in_place<row % 32>(mask[row / 32], there, cells);
      else
        detail::publish_if<row % 32>(mask[row / 32], there, cells);
    });
  };
  constexpr std::true_type loads;
  constexpr std::false_type stores;
  const auto in_field = [&](const Real* field, int y) {
    y += y < 0 && tiles_y.periodic ? ny : y >= ny && tiles_y.periodic ? -ny : 0;
    const int x = x0 < 0 ? x0 + nx : x0 >= nx && tiles_x.periodic ? x0 - nx : x0;
    return const_cast<Real*>(field) + index(y) * a.g.pitch + x;
  };
  const auto copy = [&](bool wanted, const Real* from, int from_stride, Real* to, int to_stride) {
    if (wanted)
#pragma unroll
      for (int p = 0; p < Pieces; ++p) {
        Real v[V];
        detail::fetch_if(true, from + p * from_stride, v);
        store_piece(to + p * to_stride, v);
      }
  };

  const bool lane_there = tiles_x.periodic || x0 < nx;
  unrolled<fields>([&](auto f) {
    Real* const own = exchanged(0, f, 1, 1);
    unrolled<Rows>([&](auto j) {
#pragma unroll
      for (int c = 0; c < C; ++c) strip.cells[f][j][c] = Real(0);
    });
#pragma unroll 4
    for (int row = 0; row < strip.rows(); ++row)
      copy(lane_there, in_field(a.g.state[f], y0 + row), V, own + row * row_cells, 32 * V);
    move_rows(loads, f, own, 0, lane_there ? strip.rows() : 0, false, 0, 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    // What lies beyond the first and the last strip: rims, which stay as they are.
    const auto edge = [&](Real* to, int first, int count) {
      for (int i = 0; i < count; ++i) {
        Real v[C]{};
        if (lane_there && first + i >= 0 && first + i < ny)
#pragma unroll
          for (int p = 0; p < Pieces; ++p)
            load_piece(in_field(a.g.state[f], first + i) + p * V, strip_type::part(v, p));
        strip.store(to + i * row_cells, v);
      }
    };
    using around = detail::strip_reach<S>;
    for (int parity = 0; parity < 2; ++parity) {
      if (warp == 0) edge(strip.template above<f>(parity, -1), y0 - around::up_of(f), around::up_of(f));
      if (warp == strip_warps - 1)
        edge(strip.template below<f>(parity, strip_warps - 1), y0 + strip.rows(), around::down_of(f));
    }
  });

  int half = 1;
  const auto fresh_rings = [&] {
    const int code = facts.lane[lane], side_x = code & exchange_facts::side, before = warp * strip.rows();
    unrolled<assigned_count<S>>([&](auto f) {
      const int begin = facts.own_begin - before;
      move_rows(stores, f, exchanged(half, f, 1, 1), begin, side_x == 1 ? facts.own_end - before : begin,
                !(code & exchange_facts::shared), facts.alone_begin - before, facts.alone_end - before);
    });
    all.sync();
#pragma unroll 1
    for (int side_y = 0; side_y < 3; ++side_y) {
      const int begin = side_y == 0 ? 0 : (side_y == 1 ? facts.own_begin : facts.own_end) - before;
      const int end = side_y == 2 ? strip.rows() : (side_y == 1 ? facts.own_end : facts.own_begin) - before;
      if (begin >= strip.rows() || end <= 0) continue;
      const bool wanted = !(code & exchange_facts::outside) && (side_x != 1 || side_y != 1);
      unrolled<assigned_count<S>>([&](auto f) {
        move_rows(loads, f, exchanged(half, f, side_y, side_x), begin, wanted ? end : begin, false, 0, 0);
      });
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    half ^= 1;
  };
  const auto step = [&](auto down, auto keeps, index number) {
    constexpr bool Down = decltype(down)::value;
    strip.show_ends(Down);
    __syncthreads();
    bool keep[C];
#pragma unroll
    for (int i = 0; i < C; ++i) keep[i] = x0 + i < a.active_x[0] || x0 + i >= a.active_x[1];
    strip.template sweep<Down, decltype(keeps)::value>(a.g, static_cast<Real>(number), Down, keep);
  };
  const auto finish = [&] {
  all.sync(); // the halves are written again
  const int begin = facts.own_begin - warp * strip.rows(), end = facts.own_end - warp * strip.rows();
  const bool lane_owned = (facts.lane[lane] & exchange_facts::side) == 1 && lane_there;
  unrolled<assigned_count<S>>([&](auto f) {
    Real* const own = exchanged(0, f, 1, 1);
    move_rows(stores, f, own, begin, lane_owned ? end : begin, false, 0, 0);
#pragma unroll 4
    for (int row = ::max(0, begin); row < ::min(end, strip.rows()); ++row)
      copy(lane_owned, own + row * row_cells, 32 * V, in_field(a.g.next[f], y0 + row), V);
    const auto rim = [&](int from, int to) { // rows that no strip holds
      for (int y = from + warp; y < to; y += strip_warps)
        copy(lane_owned, in_field(a.g.state[f], y), V, in_field(a.g.next[f], y), V);
    };
    if (tile_y == 0 && !tiles_y.periodic) rim(0, tiles_y.lo);
    if (tile_y == tiles_y.count - 1 && !tiles_y.periodic) rim(tiles_y.hi, ny);
  });
  };
  // Two loops, not two sweeps in one: where ways join on which all cells are live, ptxas spills.
  const auto run = [&](auto keeps) {
    int since = 0;
    for (index done = 0;; done += 2) {
      step(std::true_type{}, keeps, a.first_step + done);
      if (done + 1 == a.steps) return finish();
      step(std::false_type{}, keeps, a.first_step + done + 1);
      if (done + 2 == a.steps) return finish();
      since += 2;
      if (since == a.t.depth) {
        fresh_rings();
        since = 0;
      }
    }
  };
  const int first = x0 - lane * C;
  if (first < a.active_x[0] || first + 32 * C > a.active_x[1])
    run(std::true_type{});
  else
    run(std::false_type{});
}

} // namespace stet::cuda
