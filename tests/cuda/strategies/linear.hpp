#pragma once
// The suite's shapes with all weights different (tests/suite/stencils.hpp), as subjects.
#include "../../suite/stencils.hpp"
#include "../../suite/tables.hpp"
#include "simulated.hpp"

namespace strategies {

/// \tparam Name a struct with `static constexpr const char* name`, one of the suite's
template <class Name, class Stencil, int Rank> struct linear_case {
  using stencil = Stencil;
  static constexpr int rank = Rank;
  static constexpr auto fields = std::make_tuple(variants::u);
  static double start(int, double noise) { return noise; }
  template <class T> static oracle::recipe<T> recipe() {
    const oracle::taps taps = tables::variant(Name::name);
    const auto right = [taps](const oracle::sight<T>& at) {
      T sum = 0;
      for (const oracle::tap& t : taps) {
        if constexpr (rank == 2) sum += T(t.weight) * at(0, t.dy, t.dx);
        if constexpr (rank == 3) sum += T(t.weight) * at(0, t.dz, t.dy, t.dx);
      }
      return sum;
    };
    return {rank, 1, {{{0, right}}}};
  }
};

} // namespace strategies

/// Lists variants::v<shape> as s<shape>.
#define STET_LIST_LINEAR(shape, rank)                                                                        \
  struct name_##shape {                                                                                      \
    static constexpr const char* name = #shape;                                                              \
  };                                                                                                         \
  const strategies::listed<strategies::linear_case<name_##shape, variants::v##shape, rank>> listed_##shape(  \
      "s" #shape)
