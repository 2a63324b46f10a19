#pragma once
#include <cooperative_groups.h>
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/plan/register_tiling.hpp>
#include <stet/grid.hpp>
#include <stet/unrolled.hpp>

/// The resident strategy with the cells in registers, and in shared memory where registers end: for stencils
/// of rank 2 with one field and one stage, whose faces are fixed or periodic.
///
/// A warp owns a strip of 32 pieces by `Rows` rows. x-neighbours come by shuffles, y-neighbours from the
/// lane's own rows and, at the ends of the strip, from the warps above and below through shared memory: one
/// block barrier per step. A warp updates its rows in place from top to bottom; a window of registers holds
/// the old rows around the one that is updated.
///
///     warp 0   row 0   |piece of lane 0|piece of lane 1| ... |piece of lane 31|
///              row 1   |               |               |
///              ...       rows [0, InShared) in the lane's own shared-memory slots, the others in registers
///     warp 1   row 0   ...
namespace stet::cuda {

template <class S, class Real> struct register_arguments {
  grid<S, Real> g; ///< `state` holds the field; on return `next` does
  register_tiling t;
  bool periodic_y, periodic_x;
  int active_y[2],
      active_x[2]; ///< first and last + 1 of the cells that are updated; all of them where periodic
  index first_step, steps;
};

namespace detail {

/// A piece with `Margin` cells on either side: cell i of the piece at [Margin + i].
template <class Real, int Margin> struct wide_piece {
  static constexpr int V = piece_cells<Real>;
  Real value[V + 2 * Margin];

  __device__ __forceinline__ void widen(const Real (&own)[V]) {
#pragma unroll
    for (int i = 0; i < V; ++i) value[Margin + i] = own[i];
#pragma unroll
    for (int k = 1; k <= Margin; ++k) {
      const int lanes = (k + V - 1) / V;
      value[Margin - k] = __shfl_up_sync(0xffffffffu, own[lanes * V - k], lanes);
      value[Margin + V - 1 + k] = __shfl_down_sync(0xffffffffu, own[(k - 1) % V], lanes);
    }
  }
};

/// A lane's rows: the first InShared in slots of shared memory, the others in registers.
template <class Real, int InRegisters, int InShared> struct strip_rows {
  static constexpr int V = piece_cells<Real>, count = InRegisters + InShared;
  Real cells[InRegisters][V];
  Real* slots;

  template <int Row> __device__ __forceinline__ void get(Real (&to)[V]) const {
    if constexpr (Row < InShared)
      load_piece(slots + Row * 32 * V, to);
    else
#pragma unroll
      for (int i = 0; i < V; ++i) to[i] = cells[Row - InShared][i];
  }
  template <int Row> __device__ __forceinline__ void put(const Real (&from)[V]) {
    if constexpr (Row < InShared)
      store_piece_shared(slots + Row * 32 * V, from);
    else
#pragma unroll
      for (int i = 0; i < V; ++i) cells[Row - InShared][i] = from[i];
  }
  /// A row of this strip, one of the last `Up` of the strip above (its ends start at `above`), or one of the
  /// first of the strip below. At the block's ends these are arbitrary.
  template <int Row, int Up>
  __device__ __forceinline__ void old_row(const Real* above, const Real* below, Real (&to)[V]) const {
    if constexpr (Row < 0)
      load_piece(above + (Up + Row) * 32 * V, to);
    else if constexpr (Row >= count)
      load_piece(below + (Row - count) * 32 * V, to);
    else
      get<Row>(to);
  }
};

/// Cell I of the piece in row `Row` as evaluate() sees it.
template <class S, class Real, int Row, int I> struct strip_cell {
  using around = strip_reach<S>;
  static constexpr int window = around::up + around::down + 1;
  const wide_piece<Real, around::beside> (&rows)[window];
  const wide_piece<Real, around::centre>& centre;
  const register_arguments<S, Real>& a;
  Real step_number;
  int y, x; // of the cell

  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    if constexpr (Dy == 0)
      return centre.value[around::centre + I + Dx];
    else
      return rows[(Row + Dy + around::up) % window].value[around::beside + I + Dx];
  }
  template <int P> __device__ __forceinline__ Real param() const { return a.g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    const int n = int(a.g.extents[Axis]), i = Axis == 0 ? 0 : Axis == 1 ? y : x;
    return static_cast<Real>(i < 0 ? i + n : i >= n ? i - n : i); // wrapped in rings beyond periodic faces
  }
  __device__ __forceinline__ Real step() const { return step_number; }
};

/// Loads a piece that other blocks may have written, where `wanted`; all such loads of a thread are in flight
/// together.
template <class Real>
__device__ __forceinline__ void fetch_if(bool wanted, const Real* from, Real (&to)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%2]; }"
                 : "+d"(to[0]), "+d"(to[1])
                 : "l"(from), "r"(unsigned(wanted))
                 : "memory");
}

/// Stores a piece where `wanted`, without a branch.
template <class Real>
__device__ __forceinline__ void publish_if(bool wanted, Real* to, const Real (&from)[piece_cells<Real>]) {
  if constexpr (piece_cells<Real> == 4)
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %5, 0; @p st.global.v4.f32 [%4], {%0, %1, %2, %3}; }" ::"f"(from[0]),
        "f"(from[1]), "f"(from[2]), "f"(from[3]), "l"(to), "r"(unsigned(wanted))
        : "memory");
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p st.global.v2.f64 [%2], {%0, %1}; }" ::"d"(from[0]),
                 "d"(from[1]), "l"(to), "r"(unsigned(wanted))
                 : "memory");
}

} // namespace detail

/// Launch: cooperative, `t.blocks()` blocks of 32 × register_warps threads, `register_shared_bytes` of
/// dynamic shared memory. \tparam InRegisters, InShared rows of a strip
template <class S, class Real, int InRegisters, int InShared>
__global__ void __launch_bounds__(32 * register_warps, 1)
    register_kernel(const __grid_constant__ register_arguments<S, Real> a) {
  using program = step_program<S>;
  using around = detail::strip_reach<S>;
  static_assert(has_register_tiles<S>);
  constexpr int V = piece_cells<Real>, Rows = InRegisters + InShared, up = around::up, down = around::down;
  constexpr int window = up + down + 1;
  static_assert(Rows >= up && Rows >= down, "a strip holds at least what its neighbours read");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto all = cooperative_groups::this_grid();

  // Shared memory: the lane's own rows, then the ends of the strips, twice: [parity][warp][row], each 32
  // pieces.
  Real* const ends = reinterpret_cast<Real*>(shared_bytes) + register_warps * InShared * 32 * V + lane * V;
  const auto end_row = [&](int parity, int w, int row) { // rows: `down` of the top, then `up` of the bottom
    return ends + ((parity * register_warps + w) * (up + down) + row) * 32 * V;
  };

  // The strip: rows y0 … y0 + Rows − 1, cells x0 … x0 + V − 1 of this lane.
  const int block_x = int(blockIdx.x) % a.t.count_x, block_y = int(blockIdx.x) / a.t.count_x;
  const int nx = int(a.g.extents[2]), ny = int(a.g.extents[1]);
  const int held_x = block_x * a.t.owned_x - (a.periodic_x ? a.t.ring_x : 0);
  const int held_y = block_y * a.t.owned_y - (a.periodic_y ? a.t.ring_y : 0);
  const int x0 = held_x + lane * V, y0 = held_y + warp * Rows;
  // Owned: without the rings, which end at faces that are not periodic.
  const int own_x0 = !a.periodic_x && block_x == 0 ? 0 : held_x + a.t.ring_x;
  const int own_y0 = !a.periodic_y && block_y == 0 ? 0 : held_y + a.t.ring_y;
  const int own_x1 =
      !a.periodic_x && block_x == a.t.count_x - 1 ? nx : ::min(nx, held_x + 32 * V - a.t.ring_x);
  const int own_y1 = !a.periodic_y && block_y == a.t.count_y - 1
                         ? ny
                         : ::min(ny, held_y + register_warps * Rows - a.t.ring_y);
  const bool lane_owned = x0 >= own_x0 && x0 < own_x1;
  const bool lane_there = a.periodic_x || (x0 >= 0 && x0 < nx);
  const bool lane_shared =
      x0 < own_x0 + a.t.ring_x || x0 + V > own_x1 - a.t.ring_x; // others hold it in a ring
  const int wrapped_x = x0 < 0 ? x0 + nx : x0 >= nx && a.periodic_x ? x0 - nx : x0;
  // Rows by the strip's first row `y`, which the caller hides from the compiler: otherwise it keeps every
  // row's address and conditions in registers throughout the time loop.
  const auto address = [&](const Real* field, int y, int row) {
    y += row;
    if (a.periodic_y) y = y < 0 ? y + ny : y >= ny ? y - ny : y;
    return field + index(y) * a.g.pitch + wrapped_x;
  };
  const auto row_there = [&](int y, int row) { return a.periodic_y || (y + row >= 0 && y + row < ny); };
  const auto row_owned = [&](int y, int row) { return y + row >= own_y0 && y + row < own_y1; };
  const auto hidden = [](int i) {
    asm volatile("" : "+r"(i));
    return i;
  };

  detail::strip_rows<Real, InRegisters, InShared> strip;
  strip.slots = reinterpret_cast<Real*>(shared_bytes) + (warp * InShared * 32 + lane) * V;

  unrolled<Rows>([&](auto row) {
    Real v[V];
#pragma unroll
    for (int i = 0; i < V; ++i) v[i] = Real(0);
    detail::fetch_if(lane_there && row_there(y0, row), address(a.g.state[0], y0, row), v);
    strip.template put<row()>(v);
  });

  // Cells that keep their values: a warp with none need not look.
  const bool keeps_rows = y0 < a.active_y[0] || y0 + Rows > a.active_y[1];
  const bool keeps_cells = held_x < a.active_x[0] || held_x + 32 * V > a.active_x[1];
  bool into_next = true;
  int since = 0, parity = 0;
  for (index done = 0; done < a.steps; ++done) {
    if (since == a.t.depth) { // fresh rings
      const int y = hidden(y0);
      Real* const buffer = into_next ? a.g.next[0] : const_cast<Real*>(a.g.state[0]);
      unrolled<Rows>([&](auto row) {
        const bool row_shared = y + row < own_y0 + a.t.ring_y || y + row >= own_y1 - a.t.ring_y;
        Real v[V];
        strip.template get<row()>(v);
        detail::publish_if(lane_owned && row_owned(y, row) && (lane_shared || row_shared),
                           const_cast<Real*>(address(buffer, y, row)), v);
      });
      all.sync();
      unrolled<Rows>([&](auto row) {
        const bool wanted = lane_there && row_there(y, row) && !(lane_owned && row_owned(y, row));
        Real v[V];
        strip.template get<row()>(v);
        detail::fetch_if(wanted, address(buffer, y, row), v);
        strip.template put<row()>(v);
      });
      into_next = !into_next;
      since = 0;
    }
    ++since;
    const Real step_number = static_cast<Real>(a.first_step + done);

    unrolled<down>([&](auto row) {
      Real v[V];
      strip.template get<row()>(v);
      store_piece_shared(end_row(parity, warp, row), v);
    });
    unrolled<up>([&](auto i) {
      Real v[V];
      strip.template get<Rows - up + i()>(v);
      store_piece_shared(end_row(parity, warp, down + i), v);
    });
    __syncthreads();

    const Real* const above = end_row(parity, warp > 0 ? warp - 1 : 0, down);
    const Real* const below = end_row(parity, warp < register_warps - 1 ? warp + 1 : warp, 0);
    // One straight line of code for all rows, so that shuffles of one row overlap with the arithmetic of
    // another; hence three versions, not a branch per row.
    const auto sweep = [&](auto with_rows, auto with_cells) {
      const int y = hidden(y0);
      bool keeps_cell[V];
#pragma unroll
      for (int i = 0; i < V; ++i) keeps_cell[i] = x0 + i < a.active_x[0] || x0 + i >= a.active_x[1];
      detail::wide_piece<Real, around::beside> rows[window];
      unrolled<window - 1>([&](auto i) { // rows −up … down − 1
        Real v[V];
        strip.template old_row<i() - up, up>(above, below, v);
        rows[i].widen(v);
      });
      unrolled<Rows>([&](auto row) {
        Real v[V];
        strip.template old_row<row() + down, up>(above, below, v);
        rows[(row + down + up) % window].widen(v);
        Real old[V];
#pragma unroll
        for (int i = 0; i < V; ++i) old[i] = rows[(row + up) % window].value[around::beside + i];
        detail::wide_piece<Real, around::centre> centre;
        centre.widen(old);
        Real result[V];
        unrolled<V>([&](auto i) {
          constexpr int root = program::value.targets[0].root;
          result[i] = evaluate<program, root, Real>(
              detail::strip_cell<S, Real, row, i>{rows, centre, a, step_number, y + row, x0 + i});
        });
        if constexpr (decltype(with_cells)::value) {
#pragma unroll
          for (int i = 0; i < V; ++i) result[i] = keeps_cell[i] ? old[i] : result[i];
        }
        if constexpr (decltype(with_rows)::value) {
          const bool keeps_row = y + row < a.active_y[0] || y + row >= a.active_y[1];
#pragma unroll
          for (int i = 0; i < V; ++i) result[i] = keeps_row ? old[i] : result[i];
        }
        strip.template put<row()>(result);
      });
    };
    if (keeps_rows)
      sweep(std::true_type{}, std::true_type{});
    else if (keeps_cells)
      sweep(std::false_type{}, std::true_type{});
    else
      sweep(std::false_type{}, std::false_type{});
    parity ^= 1;
  }

  all.sync(); // before `next` is written: others may still read rings from it
  const int y = hidden(y0);
  unrolled<Rows>([&](auto row) {
    Real v[V];
    strip.template get<row()>(v);
    detail::publish_if(lane_owned && row_owned(y, row), const_cast<Real*>(address(a.g.next[0], y, row)), v);
  });
}

} // namespace stet::cuda
