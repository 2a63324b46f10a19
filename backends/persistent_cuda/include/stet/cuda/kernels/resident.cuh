#pragma once
#include <cooperative_groups.h>
#include <stet/cuda/device/held_sweep.cuh>
#include <stet/cuda/kernels/reduce.cuh>

/// The whole time loop in one cooperative launch, on tiles in shared memory with a ring deep enough for
/// several steps. Two strategies:
///
/// Resident: every block keeps one tile of all fields, and after `depth` steps the blocks exchange rings.
/// After PERKS (Zhang et al., ICS 2023). Bytes per cell between first load and last store: none from memory
/// but the rings.
///
/// Temporal: a block loads a tile, takes `depth` steps, writes the cells it owns to the other buffer and goes
/// on to its next tile; so pass after pass. Bytes per cell and pass: each field read once and, if assigned,
/// written once, if the L2 cache keeps the rings.
///
/// Both are one loop over passes, tiles and steps: resident has one pass, one tile and exchanges.
///
/// Partial: the tiles cover the grid's first cells along its slowest axis only. The blocks update the rest in
/// memory, stage by stage, as per_step does, and exchange after every stage.
namespace stet::cuda {

namespace detail {

/// How many pieces a block exchanges with the others, in every field alike; in shared memory. They stand in
/// its part of the arguments' lists: published, fetched, and from the end backwards those apart.
struct exchange_counts {
  int published; ///< of the tile, that others read
  int fetched;   ///< of the ring, that are pieces of a field, too
  int apart;     ///< the others, for fetch_cells
};

template <class S, class Real>
__device__ __forceinline__ exchanged_piece* list_of(const resident_arguments<S, Real>& a) {
  return a.lists + index(blockIdx.x) * a.t.exchanged;
}

/// No inlining: once per run, but its registers would be the sweeps'.
template <class S, class Real>
__device__ __noinline__ void list_pieces(const resident_arguments<S, Real>& a, const tile_bounds& bounds,
                                         exchange_counts& counts) {
  constexpr int V = piece_cells<Real>;
  const held_tile<S, Real> tile{a, nullptr, bounds};
  int inner_lo[3], inner_hi[3]; // of the tile: cells that nobody else reads
  for (int axis = 0; axis < 3; ++axis) {
    inner_lo[axis] = ::min(tile.bounds.tile_lo[axis] + a.t.ring_high[axis], tile.bounds.tile_hi[axis]);
    inner_hi[axis] = ::max(tile.bounds.tile_hi[axis] - a.t.ring_low[axis], inner_lo[axis]);
  }
  inner_lo[2] = ::min((inner_lo[2] + V - 1) / V * V, (tile.bounds.tile_hi[2] + V - 1) / V * V);
  inner_hi[2] = ::max(inner_hi[2] / V * V, inner_lo[2]);
  int owned_hi[3] = {tile.bounds.tile_hi[0], tile.bounds.tile_hi[1],
                     (tile.bounds.tile_hi[2] + V - 1) / V * V};

  if (threadIdx.x == 0) counts = {0, 0, 0};
  __syncthreads();
  exchanged_piece* const list = list_of(a);
  for_pieces_around<V>(tile.bounds.tile_lo, owned_hi, inner_lo, inner_hi, [&](int z, int y, int x) {
    list[atomicAdd(&counts.published, 1)] = {tile.at(z, y, x), unsigned(a.g.at(z, y, x) / V)};
  });
  __syncthreads();
  exchanged_piece *const fetched = list + counts.published, *const end = list + a.t.exchanged;
  // Where the axis wraps, the last piece may hold owned cells and, behind them, cells of the ring.
  if (a.periodic[2]) owned_hi[2] = tile.bounds.tile_hi[2] / V * V;
  for_pieces_around<V>(tile.bounds.lo, tile.bounds.hi, tile.bounds.tile_lo, owned_hi,
                       [&](int z, int y, int x) {
                         const int wx = tile.wrapped(2, x);
                         const index piece = a.g.at(tile.wrapped(0, z), tile.wrapped(1, y), wx) / V;
                         if (is_whole(tile, wx) && piece <= index(~0u))
                           fetched[atomicAdd(&counts.fetched, 1)] = {tile.at(z, y, x), unsigned(piece)};
                         else
                           *(end - 1 - atomicAdd(&counts.apart, 1)) = {tile.at(z, y, x), 0};
                       });
  __syncthreads();
}

/// `Count` pieces of a list for each thread of the block.
template <int Count> struct piece_batch {
  exchanged_piece items[Count];
  bool there[Count];
  __device__ __forceinline__ void load(const exchanged_piece* list, int count, int first) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int at = first + i * resident_threads;
      there[i] = at < count;
      items[i] = there[i] ? list[at] : exchanged_piece{0, 0};
    }
  }
};

/// The K-th field that is exchanged after a stage, or (−1) after whole steps, and whether it has changed.
template <class S> constexpr int exchanged_count(int stage) {
  return stage < 0 ? assigned_count<S> : moved_count<S>(stage);
}
template <class S> constexpr int exchanged_field(int stage, int k) {
  return stage < 0 ? k : moved_target<S>(stage, k).field;
}
template <class S> constexpr bool has_changed(int stage, int k) {
  return stage < 0 || moved_target<S>(stage, k).root >= 0;
}

/// Fresh rings, after a stage or (−1) after whole steps: each block publishes what it has changed and others
/// read. From then on `now` is the buffers with these fields.
template <class S, int Stage, class Real>
__device__ void exchange(const held_tile<S, Real>& tile, buffers<S, Real>& now, const exchange_counts& counts,
                         cooperative_groups::grid_group& all) {
  constexpr int V = piece_cells<Real>;
  constexpr int fields = exchanged_count<S>(Stage);
  constexpr int together = fields > 6 ? 1 : 6 / fields; // pieces of each field in flight

  const exchanged_piece *const published = list_of(tile.a), *const fetched = published + counts.published;
  const exchanged_piece* const apart = published + tile.a.t.exchanged - counts.apart;
  piece_batch<together> batch;
  for (int i = threadIdx.x; i < counts.published; i += together * resident_threads) {
    batch.load(published, counts.published, i);
    Real v[fields][together][V];
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if constexpr (has_changed<S>(Stage, k))
        load_piece(tile.array(f) + batch.items[j].held + tile.place[f], v[k][j]);
    });
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if constexpr (has_changed<S>(Stage, k))
        if (batch.there[j]) store_piece(now.template next<f>() + index(batch.items[j].piece) * V, v[k][j]);
    });
  }
  unrolled<fields>([&](auto k) {
    constexpr int f = exchanged_field<S>(Stage, k);
    if constexpr (has_changed<S>(Stage, k)) now.swapped[f] = !now.swapped[f];
  });
  batch.load(fetched, counts.fetched, threadIdx.x); // before the barrier: one trip to memory less
  all.sync();
  for (int i = threadIdx.x; i < counts.fetched;) {
    Real v[fields][together][V];
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      load_piece_if(batch.there[j], now.template state<f>() + index(batch.items[j].piece) * V, v[k][j]);
    });
    unrolled<fields * together>([&](auto n) {
      constexpr int k = n / together, j = n % together, f = exchanged_field<S>(Stage, k);
      if (batch.there[j]) store_piece_shared(tile.array(f) + batch.items[j].held + tile.place[f], v[k][j]);
    });
    i += together * resident_threads;
    batch.load(fetched, counts.fetched, i);
  }
  for (int i = threadIdx.x; i < counts.apart; i += resident_threads) {
    const int at = apart[i].held - tile.a.t.guard;
    unrolled<fields>([&](auto k) {
      constexpr int f = exchanged_field<S>(Stage, k);
      fetch_cells(tile, f, now.template state<f>(), tile.bounds.origin[0] + at / tile.plane(),
                  tile.bounds.origin[1] + at % tile.plane() / tile.pitch(),
                  tile.bounds.origin[2] + at % tile.pitch());
    });
  }
  __syncthreads();
}

/// The block's share of a stage on the cells that are not in tiles, from memory to memory.
template <class S, int Stage, class Real>
__device__ void stream_stage(const resident_arguments<S, Real>& a, const buffers<S, Real>& now) {
  constexpr int Rows = per_step_unit<S, Stage, Real>(), axis = slide_axis<S>, warps = resident_threads / 32;
  constexpr int size[3] = {1, Rows, 32 * piece_cells<Real>}; // of a unit
  const int z0 = axis == 0 ? a.t.cells[0] : 0, y0 = axis == 1 ? a.t.cells[1] : 0;
  const int x0 = axis == 2 ? a.t.cells[2] : 0;
  const int nz = int(a.g.extents[0]) - z0, ny = (int(a.g.extents[1]) - y0 + size[1] - 1) / size[1];
  const int nx = (int(a.g.extents[2]) - x0 + size[2] - 1) / size[2];
  // The warps of a block take units one above the other: neighbours find each other's rows in L1. Every other
  // time the block goes backwards, beginning with what L2 still holds.
  const index units = index(nz) * ny * nx;
  const int begin = int(units * blockIdx.x / gridDim.x), end = int(units * (blockIdx.x + 1) / gridDim.x);
  constexpr target written = step_program<S>::value.targets[step_program<S>::value.first[Stage]];
  const bool backwards = now.swapped[written.field];
  for (int i = int(threadIdx.x) / 32; i < end - begin; i += warps) {
    const int u = backwards ? end - 1 - i : begin + i, strip = u / ny;
    update_unit<S, Stage, Real>(now, a.active[Stage], a.ends, z0 + strip / nx, y0 + u % ny * size[1],
                                x0 + strip % nx * size[2] + int(threadIdx.x) % 32 * piece_cells<Real>);
  }
}

/// The cells of a box, one after another for each thread: f(z, y, x).
template <class F>
__device__ __forceinline__ void for_cells(const cell_box& box, index first, index stride, F&& f) {
  const index nx = ::max(0, box.hi[2] - box.lo[2]), ny = ::max(0, box.hi[1] - box.lo[1]);
  const index cells = nx * ny * ::max(0, box.hi[0] - box.lo[0]);
  for (index i = first; i < cells; i += stride)
    f(box.lo[0] + int(i / nx / ny), box.lo[1] + int(i / nx % ny), box.lo[2] + int(i % nx));
}

/// A block's share of the residual.
template <class S, bool Partial, class Real>
__device__ double residual_share(const held_tile<S, Real>& tile, const buffers<S, Real>& now) {
  using reduced = residual_program<S>;
  constexpr int root = reduced::value.targets[0].root, axis = slide_axis<S>;
  const auto& a = tile.a;
  accumulator sum(reduced::kind);
  const auto take = [&](double v) { sum.take(reduced::kind == reduction_kind::norm2 ? v * v : v); };
  cell_box own = a.reduced, rest = a.reduced;
  for (int i = 0; i < 3; ++i) {
    own.lo[i] = ::max(a.reduced.lo[i], tile.bounds.tile_lo[i]);
    own.hi[i] = ::min(a.reduced.hi[i], tile.bounds.tile_hi[i]);
    rest.lo[i] = ::max(a.reduced.lo[i], i == axis ? a.t.cells[i] : 0);
    rest.hi[i] = ::min(a.reduced.hi[i], int(a.g.extents[i]));
  }
  for_cells(own, threadIdx.x, resident_threads, [&](int z, int y, int x) {
    take(evaluate<reduced, root, Real>(held_cell<S, Real>{tile, now.step_number, z, y, x}));
  });
  if constexpr (Partial) {
    grid<S, Real> g = a.g;
    g.step_number = now.step_number;
    unrolled<field_count<S>>([&](auto f) { g.state[f] = now.template state<f()>(); });
    for_cells(rest, index(blockIdx.x) * resident_threads + threadIdx.x, index(gridDim.x) * resident_threads,
              [&](int z, int y, int x) {
                take(evaluate<reduced, root, Real>(cell<S, Real, true>{g, z, y, x}));
              });
  }
  return combine_block<resident_threads>(sum);
}

/// A block's tile and pass; in shared memory.
struct pass_place {
  index begin, end;        ///< steps before and after this pass
  int tile;                ///< its number
  bool exchanges;          ///< resident: there are rings
  bool last;               ///< of the block's in this pass
  unsigned before, needed; ///< rounds of all passes before, and those that all blocks must have finished
  unsigned after;          ///< rounds of this block after the tile
  tile_bounds bounds;

  /// Turns to a tile of a pass. By one thread. No inlining: or what it computes stays in registers.
  template <class S, class Real>
  __device__ __noinline__ void turn(const resident_arguments<S, Real>& a, bool partial, int number,
                                    index steps, unsigned rounds_before) {
    const int tiles = int(a.t.tiles()), blocks = int(gridDim.x), next = number + blocks;
    const unsigned rounds = unsigned((tiles + blocks - 1) / blocks); // of a pass
    begin = steps;
    const bool in_passes = a.progress.finished != nullptr;
    end = in_passes ? ::min(steps + a.t.depth, a.steps) : a.steps;
    tile = number;
    const bool alone = tiles == 1 && !a.periodic[0] && !a.periodic[1] && !a.periodic[2];
    exchanges = !in_passes && (partial || !alone);
    last = next >= tiles;
    before = rounds_before;
    after = before + (last ? rounds : unsigned(next / blocks));
    // Those that the tile overlaps are through the pass before.
    const int overlapping = number + ::min(a.t.overlaps, tiles - 1 - number);
    needed = begin > 0 ? before - rounds + unsigned(overlapping / blocks) + 1 : 0;
    bounds = bounds_of(a, number);
  }
};

} // namespace detail

/// Launch: cooperative, `t.blocks()` blocks of `resident_threads` threads, `t.shared_bytes()` of dynamic
/// shared memory. Resident: a block per tile.
/// \tparam Partial the tiles cover a part of the grid
template <class S, class Real, bool Partial>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_arguments<S, Real> a) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ detail::pass_place at;
  __shared__ detail::exchange_counts lists;
  auto all = cooperative_groups::this_grid();
  detail::held_tile<S, Real> tile{a, reinterpret_cast<Real*>(shared_bytes), at.bounds};
  buffers<S, Real> now{a.g, Real(0)};
  index done = 0;
  bool converged = false;
  double residual = 0;
  if (threadIdx.x == 0) at.turn(a, Partial, int(blockIdx.x), 0, 0);
  __syncthreads();
  for (;;) { // tiles: one in resident
    detail::load_tile(tile, now);
    if (at.exchanges) detail::list_pieces(a, at.bounds, lists);

    int since = 0; // steps since the rings were fresh
    const auto refresh = [&] {
      if (!Partial && at.exchanges) detail::exchange<S, -1>(tile, now, lists, all);
      since = 0;
    };
    while (done < at.end) {
      if (since == a.t.depth) refresh();
      now.step_number = static_cast<Real>(a.first_step + done);
      // Steps until the rings are fresh again, but for this one.
      const int more = int(::min(index(a.t.depth - since), at.end - done)) - 1;
      unrolled<stage_count<S>>([&](auto stage) {
        const auto sweep = [&] {
          detail::resident_stage<S, stage(), Real>(tile, now.step_number,
                                                   detail::needed_after<S, stage(), Partial>(tile, more));
        };
        if constexpr (Partial) {
#pragma unroll 1
          for (unsigned turn = 0; turn < 2; ++turn) // half of the blocks stream while the others sweep
            if ((turn + blockIdx.x) % 2 == 0)
              detail::stream_stage<S, stage()>(a, now);
            else
              sweep();
          detail::exchange<S, stage()>(tile, now, lists, all);
        } else {
          sweep();
        }
      });
      ++done;
      ++since;
      if constexpr (stet::detail::has_residual<S>) {
        if (a.check_every == 0 || done % a.check_every != 0) continue;
        refresh();
        now.step_number = static_cast<Real>(a.first_step + done);
        const double mine = detail::residual_share<S, Partial>(tile, now);
        if (threadIdx.x == 0) a.partial[blockIdx.x] = mine;
        all.sync();
        constexpr auto kind = residual_program<S>::kind;
        accumulator total(kind); // every block adds up alike, so all decide alike
        for (unsigned b = 0; b < gridDim.x; ++b) total.take(__ldcg(a.partial + b));
        residual = kind == reduction_kind::norm2 ? ::sqrt(total.value) : total.value;
        converged = residual <= a.tolerance;
        all.sync(); // before `partial` is written again
        if (converged) break;
      }
    }

    if constexpr (Partial) {
      all.sync(); // before tiles are written: others may still read rings from there
      detail::store_tile<true>(tile, now);
      break;
    } else {
      // Whoever has read from there has done so before the last barrier of all blocks, or pass.
      detail::store_tile<false>(tile, now);
      const bool last = at.last;
      if (last) unrolled<assigned_count<S>>([&](auto f) { now.swapped[f] = !now.swapped[f]; });
      if (last && (converged || done == a.steps)) break;
      a.progress.publish(at.after);
      if (threadIdx.x == 0) {
        const int next = last ? int(blockIdx.x) : at.tile + int(gridDim.x);
        at.turn(a, Partial, next, last ? at.end : at.begin, last ? at.after : at.before);
      }
      __syncthreads();
      done = at.begin;
      a.progress.wait(at.needed);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *a.result = {done, residual, converged};
    unrolled<field_count<S>>([&](auto f) { a.result->swapped[f] = now.swapped[f]; });
  }
}

} // namespace stet::cuda
