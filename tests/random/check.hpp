#pragma once
// Runs a generated stencil on the backend and in the interpreter and compares every field on the whole grid.
#include "../support/simulate.hpp"
#include "program.hpp"
#include <string_view>
#include <tuple>

namespace random_stencils {

/// Every generated program, for the test that the language is covered.
struct entry {
  entry(const oracle::program& p, std::string_view type) { all().push_back({&p, type}); }
  static std::vector<std::pair<const oracle::program*, std::string_view>>& all();
};

template <int Rank, class Stencil, class T, class Fields, class Params>
void check(const oracle::program& p, const Fields& fields, const std::vector<int>& numbers,
           const Params& params) {
  ASSERT_FALSE(p.settings.empty());
  for (std::size_t i = 0; i < p.settings.size(); ++i) {
    const oracle::setting& s = p.settings[i];
    SCOPED_TRACE("setting " + std::to_string(i));
    auto sim = support::make_simulation<Rank, Stencil, T>(s.n);
    oracle::state<T> want = oracle::start<T>(p, s);
    std::apply([&](const auto&... param) { (sim.set(param.first, param.second), ...); }, params);
    const auto each_field = [&](auto&& f) {
      std::size_t at = 0;
      std::apply([&](const auto&... field) { (f(field, std::size_t(numbers[at++])), ...); }, fields);
    };
    each_field([&](auto field, std::size_t f) {
      support::set_sides<Rank>(sim, field, s.boundaries[f]);
      support::put<Rank>(sim, field, want.fields[f]);
    });
    for (const int steps : s.runs) {
      sim.run(steps);
      for (int k = 0; k < steps; ++k) oracle::advance(p, s, want);
    }
    each_field([&](auto field, std::size_t f) {
      EXPECT_TRUE(support::close(support::take<Rank, T>(sim, field, s.n), want.fields[f]))
          << p.fields[f].name;
    });
  }
}

} // namespace random_stencils
