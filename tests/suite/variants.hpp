#pragma once
// How the variants (all weights different) are checked: all boundary kinds, also mixed, both precisions.
#include "../support/simulate.hpp"
#include "stencils.hpp"
#include "tables.hpp"

namespace variants {

using oracle::shape;

template <int Rank, class Stencil, class T>
void follows_the_oracle(const oracle::taps& taps, const shape& n) {
  using oracle::dirichlet, oracle::fixed, oracle::neumann, oracle::periodic;
  const std::pair<const char*, oracle::sides> boundaries[] = {
      {"fixed", oracle::everywhere(fixed)},
      {"dirichlet", oracle::everywhere(dirichlet(-0.5))},
      {"neumann", oracle::everywhere(neumann)},
      {"periodic", oracle::everywhere(periodic)},
      {"mixed", {{{neumann, dirichlet(0.25)}, {fixed, neumann}, {dirichlet(0.75), fixed}}}},
      {"other mixed", {{{periodic, periodic}, {dirichlet(1), neumann}, {periodic, periodic}}}},
  };
  auto sim = support::make_simulation<Rank, Stencil, T>(n);
  for (const auto& [name, sides] : boundaries) {
    SCOPED_TRACE(std::string(name) + (sizeof(T) == 4 ? ", float" : ", double"));
    auto want = oracle::noise_grid<T>(n, 3);
    support::set_sides<Rank>(sim, u, sides);
    support::put<Rank>(sim, u, want);
    for (const int steps : {1, 4}) {
      sim.run(steps);
      want = oracle::linear_run(want, taps, sides, steps);
      EXPECT_TRUE(support::close(support::take<Rank, T>(sim, u, n), want))
          << "after " << steps << " more steps";
    }
  }
}

template <int Rank, class Stencil> void follows_the_oracle(const char* name) {
  const oracle::taps taps = tables::variant(name);
  for (std::size_t i = 0; i < taps.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) ASSERT_NE(taps[i].weight, taps[j].weight);
  const shape n = Rank == 2 ? shape{1, 29, 41} : shape{9, 11, 14};
  follows_the_oracle<Rank, Stencil, float>(taps, n);
  follows_the_oracle<Rank, Stencil, double>(taps, n);
}

} // namespace variants
