#pragma once
#if !defined(__CUDACC__)
#error                                                                                                       \
    "stet: stet::persistent_cuda needs a CUDA source file: compile this one as CUDA (nvcc -x cu, or LANGUAGE CUDA)"
#endif
#include <optional>
#include <stet/backend.hpp>
#include <stet/cuda/kernels/per_step.cuh>
#include <stet/cuda/kernels/plane_stream.cuh>
#include <stet/cuda/kernels/reduce.cuh>
#include <stet/cuda/kernels/register_tile.cuh>
#include <stet/cuda/kernels/resident.cuh>
#include <stet/cuda/kernels/temporal_tile.cuh>
#include <stet/cuda/kernels/transfer.cuh>
#include <stet/cuda/plan/plan.hpp>
#include <stet/cuda/runtime/error.hpp>
#include <stet/cuda/runtime/graph.hpp>
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>
#include <stet/cuda/runtime/nvtx.hpp>
#include <stet/cuda/runtime/query_device.hpp>
#include <stet/cuda/runtime/stream.hpp>
#include <stet/cuda/runtime/windowed_launches.hpp>

/// The hand-tuned CUDA backend.
namespace stet {

/// Runs on the device that is current when the simulation is made, on a stream of its own unless one is
/// given.
///
/// Two copies of each written field, one of each coefficient, rows padded to 128 bytes.
struct persistent_cuda {
  static constexpr std::string_view name = "persistent_cuda";

  /// What may be chosen per simulation, from the next run on: `sim.options().strategy = ...`.
  struct options {
    cuda::strategy strategy = cuda::strategy::automatic;
    cuda::cache cache = cuda::cache::both;
    int depth = 0; ///< steps between exchanges, or of a pass of temporal; 0: the plan chooses
    std::optional<cudaStream_t> stream; ///< the caller's; none: the simulation's own
    /// Bytes of an L2 access-policy window over one copy of the field that most stages read and write, or
    /// cuda::l2_off, cuda::l2_auto. The part of L2 that it needs is set aside during a run alone.
    std::int64_t l2_window = cuda::l2_off;
    /// Share of the window's lines that persist, 0 to 1; none: as many as the device can set aside.
    std::optional<double> l2_hit_ratio;
  };

  template <class S, class Real> class engine {
   public:
    explicit engine(const std::array<index, 3>& extents)
        : extents_(extents), pitch_(cuda::row_pitch(extents[2], sizeof(Real))) {
      constexpr index longest =
          std::numeric_limits<int>::max() - 4096; // kernels count along an axis in 32 bits
      if (std::max({extents[0], extents[1], extents[2]}) > longest ||
          cuda::block_count::covering<Real>(extents, 1).total() > longest)
        throw error("extents",
                    stet::detail::to_string(extents, rank_of<S>) +
                        " has an axis, or blocks of threads, beyond 2^31",
                    "use a smaller grid");
      for (int f = 0; f < field_count<S>; ++f) {
        state_[f] = allocate();
        if (f < assigned_count<S>) next_[f] = allocate();
      }
      result_.fill_bytes(0, stream()); // copied as a whole, with the padding that no kernel writes
      STET_CUDA_CHECK(cudaStreamSynchronize(stream()));
    }

    persistent_cuda::options& options() { return options_; }

    /// What run() would do and why. \throws stet::error when the options ask for what cannot be
    cuda::plan plan(const conditions<S, Real>& given, index steps) const {
      return choose(given, steps, false);
    }

    /// Host or device memory.
    void copy_in(int field, const strided<const Real>& source) {
      const auto here = enter("a copy of a field");
      if (cuda::is_device_pointer(source.data)) return transfer<true>(field, source);
      std::vector<Real> rows(static_cast<std::size_t>(buffer_cells()));
      for_rows(
          [&](Real* row, index z, index y) {
            for (index x = 0; x < extents_[2]; ++x) row[x] = source(z, y, x);
          },
          rows);
      copy(state_[field].data(), rows.data(), cudaMemcpyHostToDevice);
    }
    void copy_out(int field, const strided<Real>& sink) const {
      const auto here = enter("a copy of a field");
      if (cuda::is_device_pointer(sink.data)) return transfer<false>(field, sink);
      std::vector<Real> rows(static_cast<std::size_t>(buffer_cells()));
      copy(rows.data(), state_[field].data(), cudaMemcpyDeviceToHost);
      for_rows(
          [&](const Real* row, index z, index y) {
            for (index x = 0; x < extents_[2]; ++x) sink(z, y, x) = row[x];
          },
          rows);
    }

    run_report run(const conditions<S, Real>& given, index first_step, index steps) {
      const auto choice = choose(given, steps, false);
      reserve(choice);
      return timed("a run", choice, [&](run_report& report) {
        report.strategy = name_of(advance(choice, given, first_step, steps));
        report.steps = steps;
      });
    }

    run_report run_until(const conditions<S, Real>& given, index first_step, const stop_rule& rule) {
      const auto choice = choose(given, std::min(rule.every, rule.max_steps), true);
      reserve(choice);
      return timed("a run until a tolerance", choice, [&](run_report& report) {
        if (is_resident(choice.chosen.how) &&
            still_resident([&] { run_in_shared(given, choice, first_step, rule, report); })) {
          report.strategy = name_of(choice.chosen.how);
          return;
        }
        report.strategy = name_of(choice.chosen.how);
        while (report.steps < rule.max_steps && !report.converged) {
          const index stretch = std::min(rule.every, rule.max_steps - report.steps);
          report.strategy = name_of(advance(choice, given, first_step + report.steps, stretch));
          report.steps += stretch;
          if (stretch < rule.every) break;
          report.residual = reduce<residual_program<S>>(given, first_step + report.steps);
          report.converged = report.residual <= rule.tolerance;
        }
      });
    }

    /// \tparam Reduced a reduction_program
    template <class Reduced> double reduce(const conditions<S, Real>& given, index step) const {
      const cuda::nvtx_range range("stet::reduce");
      const auto here = enter("a reduction");
      const auto active = regions_of(Reduced::value, 0, extents_, given.boundaries).active;
      cuda::launch(cuda::reduce_kernel<Reduced, S, Real>, dim3(cuda::reduce_blocks),
                   dim3(cuda::reduce_threads), 0, stream(), "reduce", grid_of(given, step), active,
                   partial_.data());
      std::vector<double> host(static_cast<std::size_t>(partial_.size()));
      partial_.download(host, stream());
      host.resize(cuda::reduce_blocks);
      accumulator total(Reduced::kind);
      for (double v : host) total.take(v);
      return Reduced::kind == reduction_kind::norm2 ? std::sqrt(total.value) : total.value;
    }

   private:
    cudaStream_t stream() const { return options_.stream.value_or(own_stream_.get()); }
    index buffer_cells() const { return extents_[0] * extents_[1] * pitch_; }

    cuda::device_array<Real> allocate() const {
      cuda::device_array<Real> a(buffer_cells());
      a.fill_bytes(0, stream());
      return a;
    }

    template <class F, class Rows> void for_rows(F&& f, Rows& rows) const {
      for (index z = 0; z < extents_[0]; ++z)
        for (index y = 0; y < extents_[1]; ++y) f(rows.data() + (z * extents_[1] + y) * pitch_, z, y);
    }

    void copy(Real* to, const Real* from, cudaMemcpyKind kind) const {
      STET_CUDA_CHECK(
          cudaMemcpyAsync(to, from, static_cast<std::size_t>(buffer_cells()) * sizeof(Real), kind, stream()));
      STET_CUDA_CHECK(cudaStreamSynchronize(stream()));
    }

    template <bool In, class Outside> void transfer(int field, const Outside& outside) const {
      const index cells = extents_[0] * extents_[1] * extents_[2];
      cuda::launch(cuda::transfer_kernel<In, Real>,
                   dim3(unsigned(std::min<index>((cells + 255) / 256, 1 << 16))), dim3(256), 0, stream(),
                   "transfer", const_cast<Real*>(state_[field].data()), pitch_, outside, extents_);
      STET_CUDA_CHECK(cudaStreamSynchronize(stream()));
    }

    grid<S, Real> grid_of(const conditions<S, Real>& given, index step) const {
      grid<S, Real> g{extents_, pitch_, {}, {}, given, static_cast<Real>(step)};
      for (int f = 0; f < field_count<S>; ++f) {
        g.state[f] = state_[f].data();
        g.next[f] = const_cast<Real*>(next_[f].data());
      }
      return g;
    }

    /// For every call: makes the simulation's device current until the end of the scope.
    /// \throws cuda::error when the stream is being captured: all calls wait for the device
    cuda::device_guard enter(const char* what) const {
      cuda::refuse_capture(stream(), what);
      return cuda::device_guard(device_.ordinal);
    }

    /// Tries a cooperative launch. False when its blocks are no longer co-resident (another process holds a
    /// share of the device) and the user left the choice to the plan.
    template <class Launch> bool still_resident(Launch&& launch) const {
      try {
        launch();
        return true;
      } catch (const cuda::error& e) {
        if (e.status() != cudaErrorCooperativeLaunchTooLarge ||
            options_.strategy != cuda::strategy::automatic)
          throw;
        return false;
      }
    }

    /// Times what `body` puts into the stream under the choice's L2 window, and waits for it.
    template <class Body> run_report timed(const char* what, const cuda::plan& choice, Body&& body) {
      const cuda::nvtx_range range(what);
      const auto here = enter(what);
      const struct at_end {
        std::optional<cuda::windowed_launches>& window;
        ~at_end() { window.reset(); }
      } end{window_};
      if (choice.window.bytes > 0) {
        auto policy = choice.window;
        policy.base = choice.strips.in_memory > 0 ? streamed_.data() : state_[choice.busiest].data();
        window_.emplace(policy, device_);
      }
      cuda::event start, stop;
      run_report report;
      start.record(stream());
      body(report);
      stop.record(stream());
      report.seconds = stop.seconds_since(start);
      if (window_) report.notes = cuda::to_text(window_->policy());
      return report;
    }

    /// Memory that the choice needs beside the fields: made before the clock runs, kept for later runs.
    void reserve(const cuda::plan& choice) {
      const auto here = enter("a run");
      const auto grow = [](auto& array, index size) {
        if (array.size() < size) array = std::decay_t<decltype(array)>(size);
      };
      if (!has_loop(choice.chosen.how)) return;
      if (choice.chosen.how == cuda::strategy::temporal)
        grow(progress_, device_.sm_count);
      else if (choice.chosen.where == cuda::cache::registers) {
        grow(exchanged_, 4 * choice.strips.exchange_cells(field_count<S>));
        grow(streamed_, choice.strips.streamed_cells(field_count<S>));
      }
      if (choice.chosen.where == cuda::cache::shared)
        grow(lists_, index(choice.tiles.blocks()) * choice.tiles.exchanged);
    }

    cuda::plan choose(const conditions<S, Real>& given, index steps, bool checks) const {
      return make_plan(cuda::problem_of<S, Real>(extents_, given, steps, checks),
                       cuda::request{options_.strategy, options_.cache, options_.depth, options_.l2_window,
                                     options_.l2_hit_ratio},
                       device_);
    }

    /// Of the launches that take steps.
    std::span<const cudaLaunchAttribute> attributes() const {
      return window_ ? window_->attributes() : std::span<const cudaLaunchAttribute>{};
    }

    /// Takes `steps` steps in stream order, and tells how: per_step when blocks are no longer co-resident.
    cuda::strategy advance(const cuda::plan& choice, const conditions<S, Real>& given, index first_step,
                           index steps) {
      const cuda::strategy how = choice.chosen.how;
      if (has_loop(how) && still_resident([&] { run_loop(given, choice, first_step, steps); })) return how;
      const bool replays = how == cuda::strategy::per_step_graph;
      const index graphs = replays ? steps / cuda::graph_steps : 0;
      if (graphs > 0) replay(given, graphs);
      for (index s = graphs * cuda::graph_steps; s < steps; ++s) take_step(given, first_step + s);
      return replays ? how : cuda::strategy::per_step;
    }

    void run_loop(const conditions<S, Real>& given, const cuda::plan& choice, index first_step, index steps) {
      if (steps == 0) return;
      run_report unused;
      if (choice.chosen.where != cuda::cache::registers)
        run_in_shared(given, choice, first_step, stop_rule{0, 0, steps}, unused);
      else if (choice.chosen.how == cuda::strategy::temporal)
        run_temporal(given, choice, first_step, steps);
      else
        run_in_registers(given, choice.strips, first_step, steps);
    }

    /// temporal in registers.
    void run_temporal(const conditions<S, Real>& given, const cuda::plan& choice, index first_step,
                      index steps) {
      if constexpr (rank_of<S> == 3 && cuda::plane_depth<S, Real> != 0) {
        static constexpr auto shape = cuda::plane_shape_of<S, Real>();
        cuda::plane_arguments<S, Real> a{};
        a.t = choice.planes;
        const auto p = cuda::problem_of<S, Real>(extents_, given, 1, false);
        for (int axis = 0; axis < 3; ++axis) a.periodic[axis] = p.wraps[axis] > 0;
        run_passes(cuda::plane_kernel<S, Real, cuda::plane_depth<S, Real>>, a, a.t.blocks, shape.threads(),
                   shape.shared_bytes(), a.t.rounds(), given, first_step, steps);
      }
      if constexpr (rank_of<S> == 2 && cuda::has_strips<S, Real>) {
        static constexpr auto shape = cuda::strip_shape_of<S, Real>();
        cuda::temporal_arguments<S, Real> a{};
        a.t = choice.strips;
        const int tiles = a.t.blocks(), blocks = std::min(tiles, device_.sm_count);
        run_passes(cuda::temporal_kernel<S, Real>, a, blocks, 32 * shape.warps, shape.temporal_bytes(),
                   (tiles + blocks - 1) / blocks, given, first_step, steps);
      }
    }

    /// Launches a kernel that goes over the grid in passes of `a.t.depth` steps, again if it cannot count so
    /// many rounds in 32 bits. \param rounds of a pass
    template <class Kernel, class Arguments>
    void run_passes(Kernel kernel, Arguments& a, int blocks, int threads, std::int64_t shared, int rounds,
                    const conditions<S, Real>& given, index first_step, index steps) {
      set_active(a, given);
      a.progress.finished = progress_.data();
      const index most = index(a.t.depth) * std::max(1, (1 << 30) / rounds);
      for (index done = 0; done < steps; done += a.steps) {
        a.g = grid_of(given, 0);
        a.first_step = first_step + done;
        a.steps = int(std::min<index>({steps - done, most, 1 << 30}));
        progress_.fill_bytes(0, stream());
        cuda::launch_cooperative(kernel,
                                 {.grid = dim3(unsigned(blocks)),
                                  .block = dim3(unsigned(threads)),
                                  .dynamic_shared = static_cast<std::size_t>(shared),
                                  .stream = stream(),
                                  .name = "temporal in registers",
                                  .attributes = attributes()},
                                 a);
        if ((a.steps + a.t.depth - 1) / a.t.depth % 2 != 0)
          for (int f = 0; f < assigned_count<S>; ++f) std::swap(state_[f], next_[f]);
      }
    }

    /// Tells a kernel whose cells are in registers which are updated.
    template <class Arguments> void set_active(Arguments& a, const conditions<S, Real>& given) const {
      const auto p = cuda::problem_of<S, Real>(extents_, given, 1, false);
      const auto active = regions_of(step_program<S>::value, 0, extents_, given.boundaries).active;
      for (int axis = 0; axis < 3; ++axis) {
        a.active_lo[axis] = p.wraps[axis] > 0 ? -(1 << 30) : int(active.lo[axis]);
        a.active_hi[axis] = p.wraps[axis] > 0 ? 1 << 30 : int(active.hi[axis]);
      }
    }

    void run_in_registers(const conditions<S, Real>& given, const cuda::register_tiling& strips,
                          index first_step, index steps) {
      if (steps == 0) return;
      if constexpr (cuda::has_strips<S, Real>) {
        cuda::register_arguments<S, Real> a{};
        a.g = grid_of(given, 0);
        a.t = strips;
        set_active(a, given);
        a.first_step = first_step;
        // Registers are for cells: the kernel counts in 32 bits, and longer runs take more than one launch.
        a.steps = int(std::min<index>(steps, 1 << 30));
        a.exchanged = exchanged_.data();
        a.streamed = streamed_.data();
        static constexpr auto shape = cuda::strip_shape_of<S, Real>();
        const auto launch = [&](const char* name, auto kernel) {
          cuda::launch_cooperative(kernel,
                                   {.grid = dim3(unsigned(strips.blocks())),
                                    .block = dim3(32 * cuda::strip_warps),
                                    .dynamic_shared = static_cast<std::size_t>(shape.shared_bytes(strips)),
                                    .stream = stream(),
                                    .name = name,
                                    .attributes = attributes()},
                                   a);
        };
        unrolled<int(shape.registers.size())>([&](auto i) {
          constexpr int rows = shape.registers[i];
          if constexpr (shape.first_with(rows) == i)
            if (strips.in_memory == 0 && strips.registers == rows)
              launch("resident in registers", cuda::register_kernel<S, Real, rows, false>);
        });
        if (strips.in_memory > 0)
          launch("resident_partial in registers", cuda::register_kernel<S, Real, shape.streaming, true>);
        for (int f = 0; f < assigned_count<S>; ++f) std::swap(state_[f], next_[f]);
        run_in_registers(given, strips, first_step + a.steps, steps - a.steps);
      }
    }

    /// resident, resident_partial or temporal, in shared memory.
    /// \param rule every = 0: no checks
    void run_in_shared(const conditions<S, Real>& given, const cuda::plan& choice, index first_step,
                       const stop_rule& rule, run_report& report) {
      if (rule.max_steps == 0) return;
      constexpr auto& program = step_program<S>::value;
      const auto p = cuda::problem_of<S, Real>(extents_, given, 1, false);
      const cuda::tiling& tiles = choice.tiles;
      cuda::resident_arguments<S, Real> a{};
      a.g = grid_of(given, 0);
      a.t = tiles;
      const auto box_of = [&](const cell_range& range) {
        cuda::cell_box box;
        for (int axis = 0; axis < 3; ++axis) {
          a.periodic[axis] = p.wraps[axis] > 0;
          box.lo[axis] = a.periodic[axis] ? std::numeric_limits<int>::min() : int(range.lo[axis]);
          box.hi[axis] = a.periodic[axis] ? std::numeric_limits<int>::max() : int(range.hi[axis]);
        }
        return box;
      };
      a.step = p.costs.step;
      for (int s = stage_count<S> - 1; s >= 0; --s) {
        const auto parts = regions_of(program, s, extents_, given.boundaries);
        a.active[s] = box_of(parts.active);
        a.inner[s] = box_of(parts.interior);
        a.folds[s] = folds(parts, p.wraps);
        if (s == 0) break;
        reach r = reach_of(program, s, field_count<S>);
        if (p.mirrors) r = cuda::symmetric(r);
        a.later[s - 1] = cuda::sum(a.later[s], r);
      }
      a.ends = cuda::row_ends<S>::of(extents_[2], given);
      a.first_step = first_step;
      a.steps = rule.max_steps;
      a.check_every = rule.every;
      a.tolerance = rule.tolerance;
      if constexpr (stet::detail::has_residual<S>)
        a.reduced = box_of(regions_of(residual_program<S>::value, 0, extents_, given.boundaries).active);
      if (choice.chosen.how == cuda::strategy::temporal) {
        progress_.fill_bytes(0, stream());
        a.progress.finished = progress_.data();
      }
      a.lists = lists_.data();
      a.partial = partial_.data();
      a.result = result_.data();
      const bool partial = choice.chosen.how == cuda::strategy::resident_partial;
      cuda::launch_cooperative(partial ? cuda::resident_kernel<S, Real, true>
                                       : cuda::resident_kernel<S, Real, false>,
                               {.grid = dim3(unsigned(tiles.blocks())),
                                .block = dim3(cuda::resident_threads),
                                .dynamic_shared = static_cast<std::size_t>(tiles.shared_bytes(p.costs)),
                                .stream = stream(),
                                .name = name_of(choice.chosen.how),
                                .attributes = attributes()},
                               a);
      std::array<cuda::resident_result<S>, 1> told{};
      result_.download(told, stream());
      for (int f = 0; f < assigned_count<S>; ++f)
        if (told[0].swapped[f]) std::swap(state_[f], next_[f]);
      report.steps = told[0].steps;
      report.converged = told[0].converged;
      if (rule.every > 0 && told[0].steps >= rule.every) report.residual = told[0].residual;
    }

    /// Captures cuda::graph_steps steps and replays them.
    void replay(const conditions<S, Real>& given, index times) {
      const auto graph = cuda::graph::captured(stream(), [&] {
        for (index s = 0; s < cuda::graph_steps; ++s) take_step(given, 0);
      });
      for (index i = 0; i < times; ++i) graph.launch(stream());
      STET_CUDA_CHECK(cudaStreamSynchronize(stream())); // before the graph goes
    }

    void take_step(const conditions<S, Real>& given, index step) {
      unrolled<stage_count<S>>([&](auto stage) { take_stage<stage()>(given, step); });
    }

    template <int Stage> void take_stage(const conditions<S, Real>& given, index step) {
      constexpr auto& program = step_program<S>::value;
      const auto blocks = cuda::block_count::covering<Real>(extents_, cuda::per_step_unit<S, Stage, Real>());
      cuda::launch(cuda::per_step_kernel<S, Stage, Real>,
                   {.grid = dim3(unsigned(blocks.total())),
                    .block = dim3(32, cuda::per_step_warps),
                    .stream = stream(),
                    .name = "per_step",
                    .attributes = attributes()},
                   grid_of(given, step), regions_of(program, Stage, extents_, given.boundaries).active,
                   cuda::row_ends<S>::of(extents_[2], given), blocks);
      for (int k = program.first[Stage]; k < program.first[Stage + 1]; ++k)
        std::swap(state_[program.targets[k].field], next_[program.targets[k].field]);
    }

    std::array<index, 3> extents_;
    index pitch_;
    cuda::device_facts device_ = cuda::current_device();
    persistent_cuda::options options_;
    cuda::stream own_stream_;
    std::array<cuda::device_array<Real>, field_count<S>> state_, next_;
    // Made once: cudaMalloc and cudaFree wait for the whole device.
    cuda::device_array<double> partial_{std::max(cuda::reduce_blocks, device_.sm_count)};
    cuda::device_array<cuda::resident_result<S>> result_{1};
    cuda::device_array<Real>
        exchanged_; ///< by blocks whose cells are in registers; as large as a run has needed
    cuda::device_array<Real> streamed_;               ///< their rows in memory; likewise
    cuda::device_array<cuda::exchanged_piece> lists_; ///< of those in shared memory; likewise
    cuda::device_array<unsigned> progress_;           ///< of temporal, per block; likewise
    std::optional<cuda::windowed_launches> window_;   ///< of the run that is under way
  };
};

} // namespace stet
