#pragma once
#include <cuda_pipeline.h>
#include <stet/cuda/device/patch.cuh>
#include <stet/cuda/device/vector.cuh>
#include <stet/cuda/plan/register_tiling.hpp>
#include <stet/grid.hpp>
#include <stet/unrolled.hpp>

/// A tile of a plane in registers, in shared memory where registers end, and in global memory where that
/// ends: for stencils with one stage.
///
/// A warp owns a strip of 32 lanes by some rows, a lane `Pieces` 16-byte pieces of each row. x-neighbours
/// come by shuffles, y-neighbours from the lane's own rows and, at the ends of the strip, from the warps
/// above and below through shared memory, between two block barriers per step.
///
/// In rank 3 a row is a patch of a plane (patch.cuh), and strips run along z.
///
///     warp 0   row 0           |cells of lane 0|cells of lane 1| ... |cells of lane 31|
///              ...             in_memory rows in memory of the lane's own: they stream,
///              ...             in_shared rows in the lane's own slots of shared memory,
///              ...             the others in registers
///     warp 1   row 0   ...
///
/// Each kind of row is numbered from 0 where no other is said. Rows in memory come through a ring of slots,
/// `ahead` rows before they are used, without passing registers; new rows are stored straight away.
///
/// A sweep updates the rows in place, one after the other. Where sweeps down and up alternate, a new row
/// takes the registers of an old one whose last use is over, and after two sweeps all rows are where they
/// were: no value is moved. Where all go down, a value is moved per cell, and the code is half as long.
namespace stet::cuda::detail {

/// The old rows around the one that is updated, each widened once by the cells beside it. Row r is at place
/// r modulo the number of rows, a constant in straight code.
template <class S, class Real, int C> struct strip_window {
  using around = strip_reach<S>;
  static constexpr int count = around::window;
  static constexpr int place(int row) { return (row % count + count) % count; }
  static constexpr int sides = around::widest > 0 ? around::widest : 1;

  Real cell[field_count<S>][count][C];
  Real low[field_count<S>][count][sides], high[field_count<S>][count][sides]; // k cells beside at [k − 1]

  template <int F, int Place, int Margin> __device__ __forceinline__ void widen() {
#pragma unroll
    for (int k = 1; k <= Margin; ++k) {
      const int lanes = (k + C - 1) / C;
      low[F][Place][k - 1] = __shfl_up_sync(0xffffffffu, cell[F][Place][lanes * C - k], lanes);
      high[F][Place][k - 1] = __shfl_down_sync(0xffffffffu, cell[F][Place][(k - 1) % C], lanes);
    }
  }
  template <int F, int Place> __device__ __forceinline__ void enter(const Real (&row)[C]) {
#pragma unroll
    for (int i = 0; i < C; ++i) cell[F][Place][i] = row[i];
    widen<F, Place, around::beside(F)>();
  }
};

/// Cell I of a lane's in the row at place K of the window as evaluate() sees it.
template <class S, class Real, int C, int K, int I> struct strip_cell {
  using window_type = strip_window<S, Real, C>;
  static constexpr int width = lane_width, height = C / width, iy = I / width, ix = I % width;
  const window_type& rows;
  const patch_sides<S, Real>& sides; // in rank 3
  const grid<S, Real>& g;
  Real step_number;
  int row, y, x; // of the lane's first cell

  template <int F, int Dz, int Dy, int Dx> __device__ __forceinline__ Real field() const {
    constexpr int place = window_type::place(K + (rank_of<S> == 3 ? Dz : Dy));
    constexpr int cy = rank_of<S> == 3 ? iy + Dy : 0, cx = ix + Dx;
    if constexpr (cy >= 0 && cy < height && cx >= 0 && cx < width)
      return rows.cell[F][place][cy * width + cx];
    else if constexpr (rank_of<S> == 3)
      return sides.template at<F, cy, cx>();
    else if constexpr (cx < 0)
      return rows.low[F][place][-1 - cx];
    else
      return rows.high[F][place][cx - width];
  }
  template <int P> __device__ __forceinline__ Real param() const { return g.given.param[P]; }
  template <int Axis> __device__ __forceinline__ Real coord() const {
    if constexpr (Axis < strip_axis<S>) return Real(0);
    const int n = int(g.extents[Axis]), i = Axis == strip_axis<S> ? row : Axis == 1 ? y + iy : x + ix;
    return static_cast<Real>(i < 0 ? i + n : i >= n ? i - n : i); // wrapped in rings beyond periodic faces
  }
  __device__ __forceinline__ Real step() const { return step_number; }
};

/// How many of a lane's first and last cells along x may keep their values.
template <int Low, int High> struct lane_ends { static constexpr int low = Low, high = High; };

/// Where a lane's cells and the ends of its block's strips are. \tparam Rows of a strip in registers
/// \tparam Streams whether there are rows in memory: then all sweeps go down \tparam Warps of the block
template <class S, class Real, int Pieces, int Rows, bool Streams, int Warps = strip_warps> struct strip {
  using around = strip_reach<S>;
  using window_type = strip_window<S, Real, Pieces * piece_cells<Real>>;
  static constexpr int V = piece_cells<Real>, C = Pieces * V, fields = field_count<S>;
  static constexpr int up = around::up, down = around::down, early = around::early, window = around::window;
  static constexpr int first = down + early,
                       last = up + early; ///< rows ahead at which rows enter, down and up
  static constexpr bool alternate = !Streams && around::template alternate<Real>;
  static constexpr int ahead = strip_shape_of<S, Real>().ahead; ///< rows in memory under way, a power of two
  /// Frames stay until their row is updated, which is up to `ahead` rows later.
  static constexpr int frames_ahead = strip_shape_of<S, Real>().frames_ahead();
  static_assert(ahead > first && (ahead & (ahead - 1)) == 0, "a sweep looks `first` rows ahead");
  static constexpr int row_cells = 32 * C; ///< from row to row in shared memory and in memory
  static constexpr int frame_cells = strip_frame<S, Real>::cells; ///< of a strip's frame, per row
  static_assert(Rows >= up && Rows >= down, "a strip holds at least what its neighbours read");

  Real cells[fields][Rows][C];
  Real* slots;   ///< the lane's, of row 0
  Real* ends;    ///< the lane's, of all strips of the block
  Real* memory;  ///< the lane's, of row 0
  int streaming; ///< rows in memory, a multiple of `window`
  int in_shared; ///< rows in shared memory, likewise
  int warp;
  Real* frame;       ///< of the strip's rows that are not in memory, in shared memory; in rank 3
  Real* shown_frame; ///< of all rows, where blocks show them each other
  /// A lane's piece of the frame of each row in memory: from where others have shown it to where it passes.
  struct frame_piece {
    const Real* from;
    Real* to;
    int step, rows; ///< from row to row; rows in memory, 0 where nobody is beside
  };
  static constexpr int shares = Streams ? (frame_cells / V + 31) / 32 : 0; ///< of a lane
  frame_piece pieces[shares > 0 ? shares : 1];
  patch_place<S, Real> lane;

  /// \param streamed `register_tiling::streamed_cells()` for all blocks
  __device__ __forceinline__ strip(Real* shared, Real* streamed, const register_tiling& t)
      : streaming(t.in_memory), in_shared(t.in_shared), warp(threadIdx.x / 32) {
    const int slot_rows = strip_shape_of<S, Real>().slots(in_memory(), in_shared), at = threadIdx.x % 32 * V;
    ends = shared + at;
    memory = streamed + index(blockIdx.x * Warps + warp) * fields * in_memory() * row_cells + at;
    slots = ends + (strip_ends<S, Warps>() + warp * slot_rows) * row_cells;
    frame = shared + (strip_ends<S, Warps>() + Warps * slot_rows) * row_cells +
            warp * (framed() + (in_memory() > 0 ? frames_ahead : 0)) * frame_cells;
  }
  __device__ __forceinline__ int in_memory() const { return Streams ? streaming : 0; }
  /// Rows before those in registers, and all.
  __device__ __forceinline__ int before_registers() const { return in_memory() + in_shared; }
  __device__ __forceinline__ int rows() const { return before_registers() + Rows; }

  /// Rows of the frame: of rows in memory it comes with them, through one of frames_ahead rows behind the
  /// other.
  __device__ __forceinline__ int framed() const { return in_shared + Rows; }
  __device__ __forceinline__ Real* passing_frame() const { return frame + framed() * frame_cells; }

  /// Where a row of a field is in memory.
  __device__ __forceinline__ Real* in_memory_at(int field, int row) const {
    return memory + index(field * in_memory() + row) * row_cells;
  }
  /// The slots through which rows in memory come, `ahead` of all fields, and that of one row.
  __device__ __forceinline__ Real* passing(int i) const {
    return slots + (fields * (in_shared + first) + i) * row_cells;
  }
  __device__ __forceinline__ Real* passing(int field, int row) const {
    return passing(fields * (row & (ahead - 1)) + field);
  }
  /// Slot of a row of a field: in_shared of them, and copies of the first rows that are in registers.
  __device__ __forceinline__ Real* slot(int field, int row) const {
    return slots + (field * (in_shared + first) + row) * row_cells;
  }
  /// Where strip w (−1: what lies above the block) shows its last rows of a field.
  template <int F> __device__ __forceinline__ Real* last_rows(int w) const {
    return ends + (strip_ends_at<S, Warps>(F) + (w + 1) * around::up_of(F)) * row_cells;
  }
  /// Where strip w (Warps: what lies below the block) shows its first rows.
  template <int F> __device__ __forceinline__ Real* first_rows(int w) const {
    return ends +
           (strip_ends_at<S, Warps>(F) + (Warps + 1) * around::up_of(F) + w * around::down_of(F)) * row_cells;
  }

  static __device__ __forceinline__ void load(const Real* from, Real (&to)[C]) {
#pragma unroll
    for (int p = 0; p < Pieces; ++p) load_piece(from + p * 32 * V, part(to, p));
  }
  static __device__ __forceinline__ void store(Real* to, const Real (&from)[C]) {
#pragma unroll
    for (int p = 0; p < Pieces; ++p) store_piece_shared(to + p * 32 * V, part(from, p));
  }
  static __device__ __forceinline__ Real (&part(Real (&row)[C], int p))[V] {
    return *reinterpret_cast<Real(*)[V]>(row + p * V);
  }
  static __device__ __forceinline__ const Real (&part(const Real (&row)[C], int p))[V] {
    return *reinterpret_cast<const Real(*)[V]>(row + p * V);
  }

  /// Before a sweep: shows the other warps the ends of the strip. Block barriers are needed before and after.
  __device__ __forceinline__ void show_ends() const {
    unrolled<fields>([&](auto f) {
      constexpr int up_f = around::up_of(f), down_f = around::down_of(f);
      unrolled<up_f>([&](auto i) { store(last_rows<f>(warp) + i * row_cells, cells[f][Rows - up_f + i]); });
      if (before_registers() > 0)
        unrolled<down_f>([&](auto i) {
          Real v[C];
          if constexpr (Streams) // what this lane, or its warp in an exchange, has stored
            unrolled<Pieces>(
                [&](auto p) { load_piece_if(true, in_memory_at(f, i) + p * 32 * V, part(v, p)); });
          else
            load(slot(f, i), v);
          store(first_rows<f>(warp) + i * row_cells, v);
        });
      else
        unrolled<down_f>([&](auto i) { store(first_rows<f>(warp) + i * row_cells, cells[f][i]); });
    });
  }

  /// Which of a lane's cells keep their values, of each row the same. Where they are in the grid.
  struct keep_type {
    bool cell[C];
    unsigned cells; ///< rank 3: a bit for each
    int row_end;    ///< rank 3: rows from here on keep all
    int row, y, x;  ///< of the strip's first row and the lane's first cell; y in rank 3
  };
  /// Before a sweep, after the block barrier that follows the last one: sends for the first rows in memory.
  ///
  /// A lane reads what it stored itself in the last sweep, or what another lane of its warp did in an
  /// exchange. The barrier in between makes these stores visible to all of the block, so also to the copies
  /// that are sent off after it, whoever performs them; they read at L2, where stores go.
  __device__ __forceinline__ void send_for_first() const {
    if constexpr (Streams) unrolled<ahead - 1>([&](auto i) { send_for(i); });
  }

  /// One step for all rows. \tparam Down or up. \tparam Ends lane_ends: these keep their values where `keep`
  /// is set
  template <bool Down, class Ends>
  __device__ __forceinline__ void sweep(const grid<S, Real>& g, Real step_number, const keep_type& keep) {
    window_type w;
    if constexpr (Down) {
      unrolled<up>([&](auto i) { enter_above<i() - up>(w); });
      if (before_registers() > 0) {
        unrolled<fields>(
            [&](auto f) { unrolled<first>([&](auto i) { store(slot(f, in_shared + i), cells[f][i]); }); });
        unrolled<first>([&](auto i) {
          Real v[fields][C];
          if constexpr (Streams)
            take<true>(i, v);
          else
            load_slots(i, v);
          enter_row<i()>(w, v);
        });
        if constexpr (first > 0) prepare<0>(w);
        if constexpr (Streams) {
#pragma unroll 1
          for (int base = 0; base < in_memory(); base += window) {
            Real next[fields][C];
            take<(first >= window)>(base + first, next);
            unrolled<window>([&](auto k) {
              enter_row<k() + first>(w, next);
              if constexpr (k() + 1 < window) take<(k() + 1 + first >= window)>(base + k + 1 + first, next);
              prepare<k() + (first > 0)>(w);
              update_memory<k(), Ends>(w, g, step_number, keep, base + k);
            });
          }
        }
#pragma unroll 1
        for (int base = 0; base < in_shared; base += window) {
          Real ahead[fields][C];
          load_slots(base + first, ahead);
          unrolled<window>([&](auto k) {
            enter_row<k() + first>(w, ahead);
            if constexpr (k() + 1 < window) load_slots(base + k + 1 + first, ahead);
            prepare<k() + (first > 0)>(w);
            update_slots<k(), Ends>(w, g, step_number, keep, base + k);
          });
        }
      } else {
        unrolled<first>([&](auto i) { enter_register<i()>(w); });
        if constexpr (first > 0) prepare<0>(w);
      }
      unrolled<Rows>([&](auto j) {
        enter_register<j() + first>(w);
        if constexpr (first == 0 || j() + 1 < Rows) prepare<j() + (first > 0)>(w);
        update_registers<Ends, j()>(w, g, step_number, keep);
      });
    } else {
      unrolled<down + last>([&](auto i) { enter_register<Rows + down - 1 - i()>(w); });
      if constexpr (last > 0) prepare<Rows - 1>(w);
      unrolled<Rows>([&](auto i) {
        constexpr int j = Rows - 1 - i();
        enter_register<j - last>(w);
        prepare<j - (last > 0)>(w);
        update_registers<Ends, j>(w, g, step_number, keep);
      });
#pragma unroll 1
      for (int base = in_shared - window; base >= 0; base -= window) {
        Real ahead[fields][C];
        load_slots_or_above<window - 1 < last>(base + window - 1 - last, ahead);
        unrolled<window>([&](auto i) {
          constexpr int k = window - 1 - i();
          enter_row<k - last>(w, ahead);
          if constexpr (k > 0) load_slots_or_above<k - 1 < last>(base + k - 1 - last, ahead);
          prepare<k - (last > 0)>(w);
          update_slots<k, Ends>(w, g, step_number, keep, base + k);
        });
      }
    }
  }

 private:
  /// Starts to copy a row, if there is such a one, into the slot through which it passes. Without a branch:
  /// all cells are live.
  __device__ __forceinline__ void send_for(int row) const {
    unrolled<fields * Pieces>([&](auto i) {
      constexpr int f = i / Pieces, p = i % Pieces;
      send_piece_if(row, in_memory(), passing(f, row) + p * 32 * V, in_memory_at(f, row) + p * 32 * V);
    });
    unrolled<shares>([&](auto i) {
      const frame_piece& p = pieces[i];
      send_piece_if(row, p.rows, p.to + (row & (frames_ahead - 1)) * p.step, p.from + row * p.step);
    });
    __pipeline_commit();
  }
  /// The next row in memory of a sweep. The one before it has been used: its slot is free for the row that
  /// is sent for. \tparam MayBeBehind it may also be one of those behind
  template <bool MayBeBehind> __device__ __forceinline__ void take(int row, Real (&to)[fields][C]) const {
    send_for(row + ahead - 1);
    __pipeline_wait_prior(ahead - 1);
    unrolled<fields>([&](auto f) {
      const Real* from = passing(f, row);
      if constexpr (MayBeBehind) from = row < in_memory() ? from : slot(f, row - in_memory());
      load(from, to[f]);
    });
  }
  template <int Row> __device__ __forceinline__ void enter_above(window_type& w) const {
    unrolled<fields>([&](auto f) {
      if constexpr (-Row <= around::up_of(f)) {
        Real v[C];
        load(last_rows<f>(warp - 1) + (around::up_of(f) + Row) * row_cells, v);
        w.template enter<f, window_type::place(Row)>(v);
      }
    });
  }
  template <int K>
  static __device__ __forceinline__ void enter_row(window_type& w, const Real (&v)[fields][C]) {
    unrolled<fields>([&](auto f) { w.template enter<f, window_type::place(K)>(v[f]); });
  }
  __device__ __forceinline__ void load_slots(int row, Real (&to)[fields][C]) const {
    unrolled<fields>([&](auto f) { load(slot(f, row), to[f]); });
  }
  /// Where a row above the strip is; one that nothing reads may be any.
  template <int F> __device__ __forceinline__ const Real* row_above(int row) const {
    constexpr int up_f = around::up_of(F);
    return up_f > 0 ? last_rows<F>(warp - 1) + ::max(0, up_f + row) * row_cells : ends;
  }
  template <bool MayBeAbove>
  __device__ __forceinline__ void load_slots_or_above(int row, Real (&to)[fields][C]) const {
    unrolled<fields>([&](auto f) { load(MayBeAbove && row < 0 ? row_above<f>(row) : slot(f, row), to[f]); });
  }
  /// Row `Row` of those in registers, or beyond.
  template <int Row> __device__ __forceinline__ void enter_register(window_type& w) const {
    unrolled<fields>([&](auto f) {
      if constexpr (Row >= 0 && Row < Rows) {
        w.template enter<f, window_type::place(Row)>(cells[f][Row]);
      } else if constexpr (Row < Rows + around::down_of(f)) {
        Real v[C];
        if constexpr (Row < 0)
          load(in_shared > 0 ? slot(f, in_shared + Row) : row_above<f>(Row), v);
        else
          load(first_rows<f>(warp + 1) + (Row - Rows) * row_cells, v);
        w.template enter<f, window_type::place(Row)>(v);
      }
    });
  }

  /// Fetches the cells beside those of row K, one row before they are used: shuffles take a while.
  template <int K> static __device__ __forceinline__ void prepare(window_type& w) {
    prepare_place<window_type::place(K)>(w);
  }
  // By place, not by row, as far as can be: the compiler reads it once for all rows.
  template <int Place> static __device__ __forceinline__ void prepare_place(window_type& w) {
    unrolled<fields>([&](auto f) {
      if constexpr (around::centre(f) > around::beside(f)) w.template widen<f, Place, around::centre(f)>();
    });
  }
  /// A row of a frame of so many.
  struct row_frame {
    const Real* cells;
    int rows, row;
  };
  __device__ __forceinline__ row_frame frame_of(int row) const { return {frame, framed(), row}; }
  template <int Place, class Ends>
  __device__ __forceinline__ void update(window_type& w, const grid<S, Real>& g, Real step_number,
                                         const keep_type& keep, int row, const row_frame& around_row,
                                         Real (&result)[assigned_count<S>][C]) {
    using program = step_program<S>;
    patch_sides<S, Real> sides;
    unsigned kept = 0;
    if constexpr (rank_of<S> == 3) {
      unrolled<fields>([&](auto f) {
        sides.template gather<f>(w.cell[f][Place], lane, around_row.cells, around_row.rows, around_row.row);
      });
      kept = row < keep.row_end ? keep.cells : ~0u;
    }
    unrolled<assigned_count<S> * C>([&](auto i) {
      constexpr int c = i % C;
      constexpr target t = program::value.targets[i / C];
      const Real v = evaluate<program, t.root, Real>(
          strip_cell<S, Real, C, Place, c>{w, sides, g, step_number, keep.row + row, keep.y, keep.x});
      bool keeps = false;
      if constexpr (rank_of<S> == 3)
        keeps = (kept >> c & 1) != 0;
      else if constexpr (c < Ends::low || c >= C - Ends::high)
        keeps = keep.cell[c];
      result[t.field][c] = keeps ? w.cell[t.field][Place][c] : v;
    });
    if constexpr (rank_of<S> == 3)
      unrolled<assigned_count<S>>(
          [&](auto f) { show_edges<f, S, Real>(result[f], lane, shown_frame, rows(), row); });
  }
  template <class Ends, int J>
  __device__ __forceinline__ void update_registers(window_type& w, const grid<S, Real>& g, Real step_number,
                                                   const keep_type& keep) {
    Real result[assigned_count<S>][C];
    update<window_type::place(J), Ends>(w, g, step_number, keep, before_registers() + J,
                                        frame_of(in_shared + J), result);
#pragma unroll
    for (int f = 0; f < assigned_count<S>; ++f)
#pragma unroll
      for (int c = 0; c < C; ++c) cells[f][J][c] = result[f][c];
  }
  template <int K, class Ends>
  __device__ __forceinline__ void update_slots(window_type& w, const grid<S, Real>& g, Real step_number,
                                               const keep_type& keep, int row) {
    Real result[assigned_count<S>][C];
    update<window_type::place(K), Ends>(w, g, step_number, keep, in_memory() + row, frame_of(row), result);
    unrolled<assigned_count<S>>([&](auto f) { store(slot(f, row), result[f]); });
  }
  template <int K, class Ends>
  __device__ __forceinline__ void update_memory(window_type& w, const grid<S, Real>& g, Real step_number,
                                                const keep_type& keep, int row) {
    Real result[assigned_count<S>][C];
    const row_frame passing_row{passing_frame(), frames_ahead, row & (frames_ahead - 1)};
    update<window_type::place(K), Ends>(w, g, step_number, keep, row, passing_row, result);
    unrolled<assigned_count<S> * Pieces>([&](auto i) {
      constexpr int f = i / Pieces, p = i % Pieces;
      store_piece(in_memory_at(f, row) + p * 32 * V, part(result[f], p));
    });
  }
};

} // namespace stet::cuda::detail
