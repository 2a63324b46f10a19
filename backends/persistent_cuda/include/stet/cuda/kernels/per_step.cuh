#pragma once
#include <stet/cuda/device/rows.hpp>
#include <stet/cuda/device/vector.cuh>
#include <stet/grid.hpp>
#include <stet/unrolled.hpp>

/// One launch per stage: the baseline, and the strategy that can run everything.
///
/// A warp takes 32 pieces (16 bytes each) of one row. Rows above and below are loaded as pieces, x-neighbours
/// come from the lanes beside by shuffles. Bytes per cell and step: each field read once and written once, if
/// the L2 cache keeps the rows between.
namespace stet::cuda {

/// Warps of a block, one above the other.
inline constexpr int per_step_warps = 8;

/// Rows of cells that a warp updates at once: neighbours share what they read.
template <class S, int Stage, class Real> constexpr int per_step_unit() {
  if (rank_of<S> == 1) return 1;
  constexpr int results = writes(step_program<S>::value, Stage);
  return unit_length<S, Stage, 1>(piece_cells<Real>, results, 80);
}

/// Where the cells beyond the ends of a row are, for each field: index −1 − i at low[field][i], n + i at
/// high[field][i]. A negative entry, −1 − side, stands for a dirichlet value. Made on the host, so that no
/// kernel folds x.
template <class S> struct row_ends {
  static constexpr int margin = [] {
    constexpr int m = rows_of(step_program<S>::value, -1).margin();
    return m > 0 ? m : 1;
  }();
  int low[field_count<S>][margin], high[field_count<S>][margin];

  template <class Real> static row_ends of(index nx, const conditions<S, Real>& given) {
    row_ends ends{};
    const auto entry = [&](int f, index x) {
      const int side = fold(x, nx, given.boundaries.kind[f][4], given.boundaries.kind[f][5]);
      return side >= 0 ? -1 - side : int(x);
    };
    for (int f = 0; f < field_count<S>; ++f)
      for (int i = 0; i < margin; ++i) {
        ends.low[f][i] = entry(f, -1 - i);
        ends.high[f][i] = entry(f, nx + i);
      }
    return ends;
  }
  template <int F> __device__ __forceinline__ int folded(int x, int nx) const {
    if (x < 0) return low[F][-1 - x < margin ? -1 - x : margin - 1];
    if (x >= nx) return high[F][x - nx < margin ? x - nx : margin - 1];
    return x;
  }
};

/// Which of a field's two buffers holds its state, and which takes the next.
template <class S, class Real> struct buffers {
  const grid<S, Real>& g;
  Real step_number;
  bool swapped[field_count<S>] = {}; ///< the state is in g.next
  template <int F> __device__ __forceinline__ const Real* state() const {
    return swapped[F] ? g.next[F] : g.state[F];
  }
  template <int F> __device__ __forceinline__ Real* next() const {
    return swapped[F] ? const_cast<Real*>(g.state[F]) : g.next[F];
  }
};

namespace detail {

/// What one lane needs to compute a unit of `Rows` pieces one above the other: rows with margins along x.
template <class S, int Stage, class Real, int Rows> struct lane_window {
  static constexpr int V = piece_cells<Real>;
  static constexpr auto rows = unit_rows<S, Stage, Rows, 1>();
  static constexpr int count = rows.count > 0 ? rows.count : 1, margin = rows.margin();
  Real value[count][V + 2 * margin]; // cell x0 + i at [margin + i]

  /// Loads all rows around the lane's unit, which starts at (z, y, x0). Every lane of the warp takes part.
  /// Cells beyond a face come from where the boundary says.
  ///
  /// Straight: all rows lie in the grid, and no piece crosses their end. Then the loads of all pieces are in
  /// flight together, before the first is used.
  template <bool Straight>
  __device__ __forceinline__ void load(const buffers<S, Real>& now, const row_ends<S>& ends, int z, int y,
                                       int x0) {
    const auto& g = now.g;
    unrolled<rows.count>([&](auto i) {
      const line_of<i(), Straight> line(now, z, y);
      Real own[V];
#pragma unroll
      for (int c = 0; c < V; ++c) own[c] = line.value_beyond;
      if (x0 < g.extents[2] && !line.constant) load_piece(line.cells + x0, own);
#pragma unroll
      for (int c = 0; c < V; ++c) value[i][margin + c] = own[c];
    });
    unrolled<rows.count>([&](auto i) { widen<i()>(line_of<i(), Straight>(now, z, y), g, ends, x0); });
  }

 private:
  /// Row R: where its cells are, or the dirichlet value instead of them: y is folded first, then z.
  template <int R, bool Straight> struct line_of {
    static constexpr bool straight = Straight;
    bool constant = false;
    Real value_beyond = Real(0);
    const Real* cells;
    __device__ __forceinline__ line_of(const buffers<S, Real>& now, int z, int y) {
      constexpr row r = rows.items[R];
      const auto& g = now.g;
      z += r.dz;
      y += r.dy;
      if constexpr (!Straight) {
        const auto& kind = g.given.boundaries.kind[r.field];
        const auto& outside = g.given.boundaries.value[r.field];
        const int side_y = fold(y, int(g.extents[1]), kind[2], kind[3]);
        const int side_z = fold(z, int(g.extents[0]), kind[0], kind[1]);
        constant = side_y >= 0 || side_z >= 0;
        if (constant) value_beyond = side_y >= 0 ? outside[2 + side_y] : outside[side_z];
      }
      cells = now.template state<r.field>() + (constant ? 0 : g.at(z, y, 0));
    }
  };

  /// The cells on either side of the piece.
  template <int R, class Line>
  __device__ __forceinline__ void widen(const Line& line, const grid<S, Real>& g, const row_ends<S>& ends,
                                        int x0) {
    constexpr row r = rows.items[R];
    const int nx = int(g.extents[2]), lane = int(threadIdx.x % 32);
    const auto cell_at = [&](int x) {
      const int at = ends.template folded<r.field>(x, nx);
      return at < 0          ? g.given.boundaries.value[r.field][3 - at]
             : line.constant ? line.value_beyond
                             : line.cells[at];
    };
    if constexpr (!Line::straight && r.high > 0)
#pragma unroll
      for (int i = 1; i < V; ++i)
        if (x0 < nx && x0 + i >= nx) value[R][margin + i] = cell_at(x0 + i);
#pragma unroll
    for (int k = 1; k <= r.low; ++k) { // cell x0 - k lives `lanes` lanes to the left
      const int lanes = (k + V - 1) / V;
      Real v = __shfl_up_sync(0xffffffffu, value[R][margin + lanes * V - k], lanes);
      if (lane < lanes && x0 < nx) v = cell_at(x0 - k);
      value[R][margin - k] = v;
    }
#pragma unroll
    for (int k = 0; k < r.high; ++k) { // cell x0 + V + k
      const int lanes = k / V + 1;
      Real v = __shfl_down_sync(0xffffffffu, value[R][margin + k % V], lanes);
      if ((lane >= 32 - lanes || x0 + V + k >= nx) && x0 < nx) v = cell_at(x0 + V + k);
      value[R][margin + V + k] = v;
    }
  }
};

/// Cell I of piece Row of a lane's unit as evaluate() sees it.
template <class S, int Stage, class Real, int Rows, int Row, int I> struct lane_cell {
  using window_type = lane_window<S, Stage, Real, Rows>;
  const window_type& window;
  const buffers<S, Real>& now;
  int z, y, x0; // of the unit's first cell
  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int r = window_type::rows.find(F, Dz, Dy + Row);
    return window.value[r][window_type::margin + I + Dx];
  }
  template <int P> __device__ __forceinline__ Real param() const { return now.g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    return static_cast<Real>(Axis == 0 ? z : Axis == 1 ? y + Row : x0 + I);
  }
  __device__ __forceinline__ Real step() const { return now.step_number; }
};

/// One stage for a warp's unit, whose lanes take per_step_unit pieces one above the other from (z, y, x0) on:
/// updates the `active` cells and carries the rim over. Every lane of the warp takes part.
/// \tparam Range with lo[3], hi[3]
template <class S, int Stage, class Real, class Range>
__device__ __forceinline__ void update_unit(const buffers<S, Real>& now, const Range& active,
                                            const row_ends<S>& ends, int z, int y, int x0) {
  using program = step_program<S>;
  constexpr int V = piece_cells<Real>, Rows = per_step_unit<S, Stage, Real>();
  using window_type = lane_window<S, Stage, Real, Rows>;
  constexpr int begin = program::value.first[Stage], count = program::value.first[Stage + 1] - begin;
  const auto& g = now.g;

  Real result[count][Rows][V];
  {
    window_type window;
    constexpr reach around = reach_of(program::value, Stage, field_count<S>);
    const int warp_end = x0 + (32 - int(threadIdx.x % 32)) * V;
    const bool straight = z >= around.low[0] && z + around.high[0] < g.extents[0] && y >= around.low[1] &&
                          y + Rows + around.high[1] <= g.extents[1] &&
                          (warp_end <= g.extents[2] || g.extents[2] % V == 0);
    if (straight)
      window.template load<true>(now, ends, z, y, x0);
    else
      window.template load<false>(now, ends, z, y, x0);
    unrolled<count * Rows * V>([&](auto i) {
      constexpr int k = i / (Rows * V), r = i / V % Rows;
      constexpr target t =
          program::value.targets[begin + k]; // constexpr: or the device would read host memory
      result[k][r][i % V] =
          evaluate<program, t.root, Real>(lane_cell<S, Stage, Real, Rows, r, i % V>{window, now, z, y, x0});
    });
  }
  if (x0 >= g.extents[2]) return;

  const bool plane_active = z >= active.lo[0] && z < active.hi[0];
  if (!plane_active || y < active.lo[1] || y + Rows > active.hi[1] || x0 < active.lo[2] ||
      x0 + V > active.hi[2]) {
    unrolled<count * Rows>([&](auto i) { // the rim keeps its values
      constexpr int k = i / Rows, r = i % Rows;
      constexpr target t = program::value.targets[begin + k];
      if (y + r >= g.extents[1]) return;
      Real old[V];
      load_piece(now.template state<t.field>() + g.at(z, y + r, x0), old);
      const bool row_active = plane_active && y + r >= active.lo[1] && y + r < active.hi[1];
#pragma unroll
      for (int c = 0; c < V; ++c)
        if (!row_active || x0 + c < active.lo[2] || x0 + c >= active.hi[2]) result[k][r][c] = old[c];
    });
  }
  unrolled<count * Rows>([&](auto i) {
    constexpr target t = program::value.targets[begin + i / Rows];
    if (y + i % Rows < g.extents[1])
      store_piece(now.template next<t.field>() + g.at(z, y + i % Rows, x0), result[i / Rows][i % Rows]);
  });
}

} // namespace detail

/// The blocks that cover a grid: numbered along x, then y, then z, since gridDim.y and .z end at 65535.
struct block_count {
  unsigned x, y, z;
  /// \param unit rows of a warp
  template <class Real> static constexpr block_count covering(const std::array<index, 3>& extents, int unit) {
    const index width = 32 * piece_cells<Real>, height = index(per_step_warps) * unit;
    return {static_cast<unsigned>((extents[2] + width - 1) / width),
            static_cast<unsigned>((extents[1] + height - 1) / height), static_cast<unsigned>(extents[0])};
  }
  constexpr index total() const { return index(x) * y * z; }
};

/// Updates the `active` cells of one stage from `g.state` to `g.next`, and carries the rim over.
/// Launch: `blocks.total()` blocks of (32, per_step_warps) threads.
template <class S, int Stage, class Real>
__global__ void __launch_bounds__(32 * per_step_warps, 4)
    per_step_kernel(const __grid_constant__ grid<S, Real> g, const __grid_constant__ cell_range active,
                    const __grid_constant__ row_ends<S> ends, block_count blocks) {
  constexpr int V = piece_cells<Real>, Rows = per_step_unit<S, Stage, Real>();
  const unsigned line = blockIdx.x / blocks.x;
  const int x0 = int((blockIdx.x % blocks.x * 32 + threadIdx.x) * V);
  const int y = int((line % blocks.y * per_step_warps + threadIdx.y) * Rows), z = int(line / blocks.y);
  if (y >= g.extents[1]) return; // whole warps

  detail::update_unit<S, Stage, Real>(buffers<S, Real>{g, g.step_number}, active, ends, z, y, x0);
}

} // namespace stet::cuda
