#pragma once
#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstdlib>
#include <stet/backend.hpp>
#include <stet/unrolled.hpp>

/// The reference backend: plain loops over two copies of each field, on any Kokkos execution space. It is the
/// oracle for the others, so it is written to be read. It uses only what Kokkos 3.4 to 5 have in common.
namespace stet {

namespace kokkos_detail {

/// Starts Kokkos at the first use and stops it at exit, unless the program is in charge of it.
inline void ensure_initialized() {
  struct owner {
    bool started = !Kokkos::is_initialized();
    owner() {
      if (started) Kokkos::initialize();
    }
    ~owner() {
      if (started && Kokkos::is_initialized()) Kokkos::finalize();
    }
  };
  static owner once;
}

/// Cells are visited in runs along x: long ones on a CPU, where the compiler vectorises them, single cells on
/// a GPU.
template <class ExecutionSpace>
constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;
template <class ExecutionSpace> constexpr index run_length = is_host_space<ExecutionSpace> ? 4096 : 1;

/// Calls `body(z, y, first x, last x)` for all runs of a region. The tiles are explicit: Kokkos' default ones
/// are for cells, not for runs.
template <class ExecutionSpace, index Length = run_length<ExecutionSpace>, class Body>
void for_runs(const char* name, const cell_range& region, const Body& body) {
  if (region.empty()) return;
  using policy =
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<3, Kokkos::Iterate::Right, Kokkos::Iterate::Right>,
                            Kokkos::IndexType<index>>;
  const index runs = (region.length(2) + Length - 1) / Length;
  using tile = typename policy::tile_type;
  const tile tiles = is_host_space<ExecutionSpace> ? tile{{1, 4, 1}} : tile{{1, 4, 64}};
  Kokkos::parallel_for(
      name, policy({region.lo[0], region.lo[1], 0}, {region.hi[0], region.hi[1], runs}, tiles),
      KOKKOS_LAMBDA(index z, index y, index run) {
        const index first = region.lo[2] + run * Length;
        const index last = first + Length < region.hi[2] ? first + Length : region.hi[2];
        body(z, y, first, last);
      });
}

/// One stage on a run of cells: all right-hand sides read `state`, the results go to `next`.
template <class S, class Real, int Stage, bool Checked> struct stage_body {
  using program = step_program<S>;
  grid<S, Real> g;

  /// A function of its own on the host: inlined, the loop over rows would take registers from the loop over
  /// cells.
  STET_HOST_NOINLINE void operator()(index z, index y, index first, index last) const {
    const grid<S, Real> local = g; // in registers: no store can change it
    STET_INDEPENDENT
    for (index x = first; x < last; ++x) {
      const cell<S, Real, Checked> at{local, z, y, x};
      unrolled<count>([&](auto k) {
        constexpr target t = program::value.targets[begin + k];
        local.next[t.field][local.at(z, y, x)] = evaluate<program, t.root, Real>(at);
      });
    }
  }

 private:
  static constexpr int begin = program::value.first[Stage], count = program::value.first[Stage + 1] - begin;
};

/// Carries cells that a stage does not update over to `next`.
template <class Real> struct copy_body {
  const Real* from;
  Real* to;
  std::array<index, 3> extents;
  STET_INLINE void operator()(index z, index y, index first, index last) const {
    const index row = (z * extents[1] + y) * extents[2];
    for (index x = first; x < last; ++x) to[row + x] = from[row + x];
  }
};

/// Strided copy between device-accessible memory and a field.
template <class Real, bool In> struct transfer_body {
  Real* field;
  strided<std::conditional_t<In, const Real, Real>> outside;
  std::array<index, 3> extents;
  STET_INLINE void operator()(index z, index y, index first, index last) const {
    for (index x = first; x < last; ++x) {
      Real& inside = field[(z * extents[1] + y) * extents[2] + x];
      if constexpr (In)
        inside = outside(z, y, x);
      else
        outside(z, y, x) = inside;
    }
  }
};

/// Reduces pieces of rows into `partial`, one number each: the pieces, and so the result, are the same on
/// every execution space.
inline constexpr index reduction_piece = 1024;
STET_INLINE index pieces_per_row(const cell_range& region) {
  return (region.hi[2] - region.lo[2] + reduction_piece - 1) / reduction_piece;
}
template <class Reduced, class S, class Real, bool Checked> struct reduce_body {
  grid<S, Real> g;
  cell_range region;
  double* partial;
  STET_INLINE void operator()(index z, index y, index first, index last) const {
    accumulator sum(Reduced::kind);
    constexpr int root = Reduced::value.targets[0].root;
    for (index x = first; x < last; ++x) {
      const double v = evaluate<Reduced, root, Real>(cell<S, Real, Checked>{g, z, y, x});
      sum.take(Reduced::kind == reduction_kind::norm2 ? v * v : v);
    }
    const index row = (z - region.lo[0]) * region.length(1) + (y - region.lo[1]);
    partial[row * pieces_per_row(region) + (first - region.lo[2]) / reduction_piece] = sum.value;
  }
};

} // namespace kokkos_detail

/// The reference backend on one Kokkos execution space. `stet::kokkos_ref` is the one on Kokkos' default
/// space.
///
/// Starts Kokkos when the program has not, and then stops it at exit. Runs on the default instance of the
/// space.
template <class ExecutionSpace> struct basic_kokkos_ref {
  static constexpr std::string_view name = "kokkos_ref";
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;

  template <class S, class Real> class engine {
   public:
    explicit engine(const std::array<index, 3>& extents) : extents_(extents) {
      kokkos_detail::ensure_initialized();
      for (int f = 0; f < field_count<S>; ++f) {
        state_[f] = allocate(f);
        if (f < assigned_count<S>) next_[f] = allocate(f);
      }
    }

    void copy_in(int field, const strided<const Real>& source) {
      const auto host = Kokkos::create_mirror_view(state_[field]);
      for_host_cells([&](index i, index z, index y, index x) { host(i) = source(z, y, x); });
      Kokkos::deep_copy(state_[field], host);
    }
    void copy_out(int field, const strided<Real>& sink) const {
      const auto host = Kokkos::create_mirror_view(state_[field]);
      Kokkos::deep_copy(host, state_[field]);
      for_host_cells([&](index i, index z, index y, index x) { sink(z, y, x) = host(i); });
    }

    /// Views in memory that the execution space reaches are copied there; others must be host memory.
    template <class View>
    requires Kokkos::is_view<View>::value void copy_in(int field, const strided<const Real>& source,
                                                       const View&) {
      if constexpr (reachable<View>)
        transfer<true>(state_[field].data(), source);
      else
        copy_in(field, source);
    }
    template <class View>
    requires Kokkos::is_view<View>::value void copy_out(int field, const strided<Real>& sink,
                                                        const View&) const {
      if constexpr (reachable<View>)
        transfer<false>(state_[field].data(), sink);
      else
        copy_out(field, sink);
    }

    run_report run(const conditions<S, Real>& given, index first_step, index steps) {
      run_report report;
      const auto start = now();
      for (index s = 0; s < steps; ++s) take_step(given, first_step + s, s == 0);
      report.steps = steps;
      report.seconds = std::chrono::duration<double>(now() - start).count();
      report.strategy = "kokkos";
      return report;
    }

    run_report run_until(const conditions<S, Real>& given, index first_step, const stop_rule& rule) {
      run_report report;
      const auto start = now();
      while (report.steps < rule.max_steps && !report.converged) {
        take_step(given, first_step + report.steps, report.steps == 0);
        ++report.steps;
        if (report.steps % rule.every != 0) continue;
        report.residual = reduce<residual_program<S>>(given, first_step + report.steps);
        report.converged = report.residual <= rule.tolerance;
      }
      report.seconds = std::chrono::duration<double>(now() - start).count();
      report.strategy = "kokkos";
      return report;
    }

    /// \tparam Reduced a reduction_program
    template <class Reduced> double reduce(const conditions<S, Real>& given, index step) const {
      using namespace kokkos_detail;
      const auto g = grid_of(given, step);
      const stage_regions parts = regions_of(Reduced::value, 0, extents_, given.boundaries);
      accumulator total(Reduced::kind);
      take_region<Reduced, false>(total, g, parts.interior);
      for (const cell_range& edge : surround(parts.active, parts.interior))
        take_region<Reduced, true>(total, g, edge);
      return Reduced::kind == reduction_kind::norm2 ? std::sqrt(total.value) : total.value;
    }

   private:
    using buffer = Kokkos::View<Real*, memory_space>;
    template <class View>
    static constexpr bool reachable =
        Kokkos::SpaceAccessibility<ExecutionSpace, typename View::memory_space>::accessible;

    buffer allocate(int field) const {
      const std::string label(field_name<S>(field));
      const index cells = extents_[0] * extents_[1] * extents_[2];
      try {
        return buffer(label, static_cast<std::size_t>(cells));
      } catch (const std::exception&) {
        throw error("extents",
                    "field " + label + " of " + std::to_string(cells) + " cells of " +
                        std::to_string(sizeof(Real)) + " bytes does not fit into the memory space " +
                        memory_space::name(),
                    "use a smaller grid");
      }
    }

    template <class F> void for_host_cells(F&& f) const {
      index i = 0;
      for (index z = 0; z < extents_[0]; ++z)
        for (index y = 0; y < extents_[1]; ++y)
          for (index x = 0; x < extents_[2]; ++x) f(i++, z, y, x);
    }

    cell_range whole() const { return {{0, 0, 0}, extents_}; }

    template <bool In, class Outside> void transfer(Real* field, const Outside& outside) const {
      kokkos_detail::for_runs<ExecutionSpace>(
          "stet::transfer", whole(), kokkos_detail::transfer_body<Real, In>{field, outside, extents_});
      Kokkos::fence();
    }

    static auto now() {
      Kokkos::fence();
      return std::chrono::steady_clock::now();
    }

    grid<S, Real> grid_of(const conditions<S, Real>& given, index step) const {
      grid<S, Real> g{extents_, extents_[2], {}, {}, given, static_cast<Real>(step)};
      for (int f = 0; f < field_count<S>; ++f) {
        g.state[f] = state_[f].data();
        g.next[f] = next_[f].data();
      }
      return g;
    }

    /// \param first of this run: the rims of `next_` are not known to hold what those of `state_` do
    void take_step(const conditions<S, Real>& given, index step, bool first) {
      unrolled<stage_count<S>>([&](auto stage) { take_stage<stage()>(given, step, first); });
    }

   public: // nvcc: no extended lambda in a private member function
    template <int Stage> void take_stage(const conditions<S, Real>& given, index step, bool first) {
      using namespace kokkos_detail;
      constexpr auto& program = step_program<S>::value;
      const auto g = grid_of(given, step);
      const stage_regions parts = regions_of(program, Stage, extents_, given.boundaries);
      for_runs<ExecutionSpace>("stet::interior", parts.interior, stage_body<S, Real, Stage, false>{g});
      for (const cell_range& edge : surround(parts.active, parts.interior))
        for_runs<ExecutionSpace>("stet::edge", edge, stage_body<S, Real, Stage, true>{g});
      for (int k = program.first[Stage]; k < program.first[Stage + 1]; ++k) {
        const int f = program.targets[k].field;
        // The rim never changes: once both copies of a field hold it, it can stay, unless stages differ in
        // theirs.
        if (first || writers(program, f) > 1)
          for (const cell_range& rim : surround(parts.grid, parts.active))
            for_runs<ExecutionSpace>("stet::rim", rim, copy_body<Real>{g.state[f], g.next[f], extents_});
        std::swap(state_[f], next_[f]);
      }
    }

   private:
    template <class Reduced, bool Checked>
    void take_region(accumulator& total, const grid<S, Real>& g, const cell_range& region) const {
      using namespace kokkos_detail;
      if (region.empty()) return;
      const index pieces = region.length(0) * region.length(1) * pieces_per_row(region);
      const Kokkos::View<double*, memory_space> partial("stet::partial", static_cast<std::size_t>(pieces));
      for_runs<ExecutionSpace, reduction_piece>(
          "stet::reduce", region, reduce_body<Reduced, S, Real, Checked>{g, region, partial.data()});
      const auto host = Kokkos::create_mirror_view(partial);
      Kokkos::deep_copy(host, partial);
      for (index i = 0; i < pieces; ++i) total.take(host(static_cast<std::size_t>(i)));
    }

    std::array<index, 3> extents_;
    std::array<buffer, field_count<S>> state_, next_;
  };
};

using kokkos_ref = basic_kokkos_ref<Kokkos::DefaultExecutionSpace>;

} // namespace stet
