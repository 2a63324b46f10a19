// The copy bandwidth of the memory in which Kokkos' default execution space works.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <limits>
#include <stet/kokkos_ref.hpp>

#include "suite.hpp"

namespace {

/// Best of a few copies of 256 MiB, far beyond any cache. deep_copy is the fastest copy that Kokkos knows
/// (memcpy on a CPU, whose stores bypass the cache), so the floor is a hard one.
double measure() {
  stet::kokkos_detail::ensure_initialized();
  using view = Kokkos::View<double*>;
  const std::size_t count = std::size_t(32) << 20;
  const view from("from", count), to("to", count);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 6; ++i) { // the first touches the pages
    Kokkos::fence();
    Kokkos::Timer timer;
    Kokkos::deep_copy(to, from);
    Kokkos::fence();
    best = std::min(best, timer.seconds());
  }
  return 2 * double(count) * sizeof(double) / best;
}

const suite::register_copy here("kokkos_ref", measure);

} // namespace
