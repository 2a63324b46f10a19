// All stencils of the suite on all backends, by Google Benchmark:
//
//   suite/<stencil>/<float|double>/<size>/<backend>[:<strategy>[/<cache>]]
//   bar/<stencil>/<float|double>/<size>/<raw|kokkos_ref>         64 MB fields: the library against
//   hand-written loops
//
// Google Benchmark puts "/manual_time" behind each name, since the time is not its own measurement.
//
//   stencil_bench                                  sizes small enough for a laptop
//   stencil_bench --suite=full                     the published sizes
//   stencil_bench --benchmark_filter='suite/.*/float/'
//
// Without a strategy the backend chooses. A strategy that cannot hold the problem is an error that says why.
// The label is the strategy that ran.
//
// One iteration is one run of so many steps; its time is the run's device time, as the library reports it.
//
// Counters:
//   GCells/s   steps · updated cells / time; rim cells not counted
//   GB/s       that rate times the bytes a cell must move per step, from the library's analysis
//   flops/s    that rate times the operations per cell, from the library's analysis
//   %floor     how near the run comes to the floor: the time that one read and one write of the whole field
//   per step
//              take at the copy bandwidth of the backend's memory. That bandwidth is measured once per
//              backend, at the start, with a copy far bigger than any cache. Fields that fit in a cache, or
//              several steps per pass over memory, go beyond 100%.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "raw_loops.hpp"
#include "suite.hpp"

namespace {

using suite::index;
using suite::precision;

struct grid {
  std::vector<index> extents;
  index steps; ///< per run

  std::string name() const {
    std::string text;
    for (index extent : extents) text.append(text.empty() ? "" : "x").append(std::to_string(extent));
    return text;
  }
  index cells() const {
    index all = 1;
    for (index extent : extents) all *= extent;
    return all;
  }
};

/// By --suite= and rank. The full ones are those that results are published for.
std::vector<grid> grids(bool full, int rank) {
  if (!full)
    return rank == 2 ? std::vector<grid>{{{1024, 1024}, 20}} : std::vector<grid>{{{128, 128, 128}, 10}};
  if (rank == 2)
    return {{{8192, 8192}, 1000}, {{3072, 3072}, 1000}, {{2048, 2048}, 1000}, {{4099, 8191}, 1000}};
  return {{{512, 512, 512}, 200}, {{256, 256, 256}, 1000}, {{192, 192, 192}, 1000}, {{251, 509, 383}, 200}};
}

const char* name_of(precision p) { return p == precision::single ? "float" : "double"; }
int bytes_of(precision p) { return p == precision::single ? 4 : 8; }

/// Values in [0, 1) that neither decay nor grow, since weights sum to one.
double first_state(index z, index y, index x) {
  auto h = std::uint64_t(z) * 0x9E3779B97F4A7C15ull + std::uint64_t(y) * 0xC2B2AE3D27D4EB4Full +
           std::uint64_t(x) * 0x165667B19E3779F9ull;
  h = (h ^ h >> 31) * 0xBF58476D1CE4E5B9ull;
  return double((h ^ h >> 29) >> 40) / double(1 << 24);
}

double copy_bandwidth(const std::string& backend) {
  static std::map<std::string, double> known;
  const auto [at, is_new] = known.try_emplace(backend, 0);
  if (is_new) at->second = suite::copy_bandwidth(backend);
  return at->second;
}

/// `seconds`: of all iterations together, each of which was one run.
void count(benchmark::State& state, const suite::entry& stencil, precision p, const grid& grid, index updated,
           double seconds) {
  const double steps = double(grid.steps) * double(state.iterations());
  const double rate = steps * double(updated) / seconds;
  const double floor = steps * 2 * double(grid.cells()) * bytes_of(p) / copy_bandwidth(stencil.backend);
  state.counters["GCells/s"] = rate * 1e-9;
  state.counters["GB/s"] = rate * stencil.bytes[int(p)] * 1e-9;
  state.counters["flops/s"] = rate * stencil.flops;
  state.counters["%floor"] = 100 * floor / seconds;
}

void run_suite(benchmark::State& state, const suite::entry& stencil, precision p, const grid& grid,
               const suite::way& how = {}) {
  try {
    const auto sim = stencil.make(p, grid.extents);
    sim->choose(how);
    (void)sim->plan(grid.steps); // what cannot run is refused here, before the long filling
    sim->fill(first_state);
    sim->run(1); // first touches and compilations of whatever kind are not measured
    double seconds = 0;
    std::string strategy;
    for (auto _ : state) {
      const suite::run_report report = sim->run(grid.steps);
      state.SetIterationTime(report.seconds);
      seconds += report.seconds;
      strategy = report.strategy;
      if (!how.strategy.empty() && strategy != how.strategy)
        throw std::logic_error(strategy + " ran instead of " + how.strategy);
    }
    count(state, stencil, p, grid, sim->updated_cells(), seconds);
    state.SetLabel(strategy);
  } catch (const std::exception& error) { state.SkipWithError(error.what()); }
}

template <class Real>
void run_raw(benchmark::State& state, const suite::entry& stencil, precision p, const grid& grid) {
  raw::buffers<Real> field;
  field.now.resize(std::size_t(grid.cells()));
  const index ny = grid.extents[grid.extents.size() - 2], nx = grid.extents.back();
  for (index i = 0; i < grid.cells(); ++i)
    field.now[std::size_t(i)] = Real(first_state(i / nx / ny, i / nx % ny, i % nx));
  field.next = field.now;
  const auto run = stencil.rank == 2 ? raw::run_2d5pt<Real> : raw::run_3d7pt<Real>;
  run(field, grid.extents, 1);
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    run(field, grid.extents, grid.steps);
    benchmark::ClobberMemory();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    state.SetIterationTime(took);
    seconds += took;
  }
  index updated = 1;
  for (index extent : grid.extents) updated *= extent - 2;
  count(state, stencil, p, grid, updated, seconds);
}

template <class Body> void add(const std::string& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMillisecond);
}

/// The stencils that a backend has: the short suite leaves some out where compiling takes long.
bool has(const std::string& backend, const std::string& name) {
  try {
    return suite::find(name, backend).make != nullptr;
  } catch (const std::invalid_argument&) { return false; }
}

/// The automatic choice, every strategy, and those that keep fields on the chip (all are called resident...)
/// also on each cache level.
std::vector<suite::way> ways_of(const suite::entry& stencil) {
  std::vector<suite::way> ways{{}};
  for (std::size_t s = 1; s < stencil.strategies.size(); ++s) {
    ways.push_back({stencil.strategies[s]});
    if (stencil.strategies[s].rfind("resident", 0) == 0)
      for (std::size_t c = 1; c < stencil.caches.size(); ++c)
        ways.push_back({stencil.strategies[s], stencil.caches[c]});
  }
  return ways;
}
std::string variant(const suite::way& how) {
  return (how.strategy.empty() ? "" : ":" + how.strategy) + (how.cache.empty() ? "" : "/" + how.cache);
}

void add_suite(const std::vector<std::string>& backends, bool full) {
  for (const std::string& name : suite::names())
    for (const precision p : {precision::single, precision::twice})
      for (const std::string& backend : backends) {
        if (!has(backend, name)) continue;
        const suite::entry& stencil = suite::find(name, backend);
        for (const grid& grid : grids(full, stencil.rank))
          for (const suite::way& how : ways_of(stencil))
            add("suite/" + name + "/" + name_of(p) + "/" + grid.name() + "/" + backend + variant(how),
                [&stencil, p, grid, how](benchmark::State& state) {
                  run_suite(state, stencil, p, grid, how);
                });
      }
}

/// Fields of 64 MB, beyond the caches of most machines, 2d5pt and 3d7pt.
void add_bar() {
  const std::string backend = "kokkos_ref";
  const std::vector<std::string> there = suite::backends();
  if (std::find(there.begin(), there.end(), backend) == there.end()) return;
  struct bar {
    const char* stencil;
    precision p;
    grid size;
  };
  const bar bars[] = {{"2d5pt", precision::single, {{4096, 4096}, 10}},
                      {"2d5pt", precision::twice, {{2048, 4096}, 10}},
                      {"3d7pt", precision::single, {{256, 256, 256}, 10}},
                      {"3d7pt", precision::twice, {{128, 256, 256}, 10}}};
  for (const bar& b : bars) {
    const suite::entry& stencil = suite::find(b.stencil, backend);
    const std::string prefix =
        std::string("bar/") + b.stencil + "/" + name_of(b.p) + "/" + b.size.name() + "/";
    add(prefix + "raw", [&stencil, b](benchmark::State& state) {
      b.p == precision::single ? run_raw<float>(state, stencil, b.p, b.size)
                               : run_raw<double>(state, stencil, b.p, b.size);
    });
    add(prefix + backend, [&stencil, b](benchmark::State& state) { run_suite(state, stencil, b.p, b.size); });
  }
}

} // namespace

int main(int argc, char** argv) {
  // Our own option first; the rest is Google Benchmark's.
  bool full = false, lists_only = false;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--suite" || word.rfind("--suite=", 0) == 0) {
      const std::string value = word == "--suite" ? "" : word.substr(std::strlen("--suite="));
      if (value != "small" && value != "full") {
        std::fprintf(stderr,
                     "stencil_bench: --suite=%s: allowed are --suite=small (the default) and --suite=full\n",
                     value.c_str());
        return 2;
      }
      full = value == "full";
    } else {
      lists_only = lists_only || word.rfind("--benchmark_list_tests", 0) == 0;
      rest.push_back(argv[i]);
    }
  }
  int count = int(rest.size());
  rest.push_back(nullptr);
  benchmark::Initialize(&count, rest.data());
  if (count > 1) {
    std::fprintf(stderr,
                 "stencil_bench: %s: no such option; there are --suite=small|full and --benchmark_..., see "
                 "--help\n",
                 rest[1]);
    return 2;
  }
  std::vector<std::string> backends = suite::backends();
  if (!lists_only) // a backend that cannot copy, as one without a device, cannot run either
    std::erase_if(backends, [](const std::string& backend) {
      try {
        benchmark::AddCustomContext("copy bandwidth of " + backend,
                                    std::to_string(copy_bandwidth(backend) * 1e-9) + " GB/s, read + written");
        return false;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "stencil_bench: %s is left out: %s\n", backend.c_str(), error.what());
        return true;
      }
    });
  add_suite(backends, full);
  add_bar();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
