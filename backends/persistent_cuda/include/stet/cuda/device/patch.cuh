#pragma once
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/plan/register_tiling.hpp>
#include <stet/unrolled.hpp>

/// Rank 3: the cells beside a lane's patch of a plane (lane_patch). From the lanes around it by shuffles; at
/// the edges of the warp's patch, whose neighbours other blocks own, from a frame (strip_frame) in shared
/// memory.
namespace stet::cuda::detail {

/// Where a lane is in the warp's patch, and in a frame.
template <class S, class Real> struct patch_place {
  using patch = lane_patch<S, Real>;
  using frame = strip_frame<S, Real>;
  int x, y; ///< of the lane
  __device__ __forceinline__ patch_place()
      : x(int(threadIdx.x % 32) % patch::lanes_x), y(int(threadIdx.x % 32) / patch::lanes_x) {}
  __device__ __forceinline__ bool first_x() const { return x == 0; }
  __device__ __forceinline__ bool last_x() const { return x == patch::lanes_x - 1; }
  __device__ __forceinline__ bool first_y() const { return y == 0; }
  __device__ __forceinline__ bool last_y() const { return y == patch::lanes_y - 1; }

  /// The lane's first cell beside the patch in a frame of `rows` rows; the others are beside_step apart.
  template <int F> __device__ __forceinline__ int beside(int rows, int row) const {
    return frame::at(F) * rows + (x < patch::lanes_x / 2 ? row : rows + row) * frame::beside(F) + y;
  }
  static constexpr int beside_step = patch::lanes_y;
  /// The lane's first piece beyond the patch along y; the others are beyond_step apart.
  template <int F> __device__ __forceinline__ int beyond(int rows, int row) const {
    return (frame::at(F) + 2 * frame::beside(F)) * rows +
           (y < patch::lanes_y / 2 ? row : rows + row) * frame::beyond(F) + x * patch::width;
  }
  static constexpr int beyond_step = patch::lanes_x * patch::width;
};

/// The cells around a lane's patch, of all fields.
template <class S, class Real> struct patch_sides {
  using around = strip_reach<S>;
  using patch = lane_patch<S, Real>;
  static constexpr int V = piece_cells<Real>, W = patch::width, H = patch::height, fields = field_count<S>;
  static constexpr int most_beside = around::widest > 0 ? around::widest : 1;
  static constexpr int most_beyond = [] {
    int m = 1;
    for (int f = 0; f < fields; ++f) m = around::lateral(f) > m ? around::lateral(f) : m;
    return m;
  }();
  Real low_x[fields][most_beside][H], high_x[fields][most_beside][H]; // k cells beside at [k − 1]
  Real low_y[fields][most_beyond][W], high_y[fields][most_beyond][W];

  /// Every lane of the warp takes part. \param frame of the strip, which has so many rows
  template <int F>
  __device__ __forceinline__ void gather(const Real (&cell)[W * H], const patch_place<S, Real>& lane,
                                         const Real* frame, int rows, int row) {
    constexpr unsigned all = 0xffffffffu;
    constexpr int nx = around::centre(F), ny = around::lateral(F);
    const Real* const beside = frame + lane.template beside<F>(rows, row);
    const Real* const beyond = frame + lane.template beyond<F>(rows, row);
    unrolled<nx * H>([&](auto i) {
      constexpr int k = i / H, r = i % H;
      const Real other = beside[i * patch_place<S, Real>::beside_step];
      const Real low = __shfl_up_sync(all, cell[r * W + W - 1 - k], 1);
      const Real high = __shfl_down_sync(all, cell[r * W + k], 1);
      low_x[F][k][r] = lane.first_x() ? other : low;
      high_x[F][k][r] = lane.last_x() ? other : high;
    });
    unrolled<ny>([&](auto k) {
      Real other[W];
#pragma unroll
      for (int p = 0; p < W / V; ++p)
        load_piece(beyond + k * patch_place<S, Real>::beyond_step + p * V,
                   *reinterpret_cast<Real(*)[V]>(other + p * V));
#pragma unroll
      for (int c = 0; c < W; ++c) {
        const Real low = __shfl_up_sync(all, cell[(H - 1 - k) * W + c], patch::lanes_x);
        const Real high = __shfl_down_sync(all, cell[k * W + c], patch::lanes_x);
        low_y[F][k][c] = lane.first_y() ? other[c] : low;
        high_y[F][k][c] = lane.last_y() ? other[c] : high;
      }
    });
  }

  /// The cell at (Y, X) of the lane's patch, which is beside it.
  template <int F, int Y, int X> __device__ __forceinline__ Real at() const {
    if constexpr (X < 0)
      return low_x[F][-1 - X][Y];
    else if constexpr (X >= W)
      return high_x[F][X - W][Y];
    else if constexpr (Y < 0)
      return low_y[F][-1 - Y][X];
    else
      return high_y[F][Y - H][X];
  }
};

/// Shows the cells of a field at the edges of the warp's patch to the blocks beside, laid out as frames are:
/// to each what it finds at its opposite side. \param frame of the strip, in global memory
template <int F, class S, class Real>
__device__ __forceinline__ void show_edges(const Real (&cell)[lane_patch<S, Real>::cells],
                                           const patch_place<S, Real>& lane, Real* frame, int rows, int row) {
  using sides = patch_sides<S, Real>;
  constexpr int W = sides::W, H = sides::H, V = sides::V;
  Real* const beside = frame + lane.template beside<F>(rows, row);
  Real* const beyond = frame + lane.template beyond<F>(rows, row);
  const bool at_x = lane.first_x() || lane.last_x(), at_y = lane.first_y() || lane.last_y();
  unrolled<sides::around::centre(F) * H>([&](auto i) {
    constexpr int k = i / H, r = i % H;
    const Real v = lane.first_x() ? cell[r * W + k] : cell[r * W + W - 1 - k];
    store_if(at_x, beside + i * patch_place<S, Real>::beside_step, v);
  });
  unrolled<sides::around::lateral(F) * (W / V)>([&](auto i) {
    constexpr int k = i / (W / V), p = i % (W / V) * V;
    Real v[V];
#pragma unroll
    for (int c = 0; c < V; ++c) v[c] = lane.first_y() ? cell[k * W + p + c] : cell[(H - 1 - k) * W + p + c];
    store_piece_if(at_y, beyond + k * patch_place<S, Real>::beyond_step + p, v);
  });
}

} // namespace stet::cuda::detail
