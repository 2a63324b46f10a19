// The analysis block of docs/language.md: all of it at compile time, without a backend.
#include <stet/analysis.hpp>
#include <stet/helpers.hpp>

// snippet: analysis
inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"c2"> c2; // never assigned: a coefficient
struct wave {
  static constexpr auto step() { return stet::update(u = u + c2 * stet::laplacian<2>(u)); }
};
using facts = stet::analysis<wave>; // <stet/analysis.hpp>; everything is constexpr

static_assert(facts::rank == 2 && facts::fields == 2 && facts::assigned == 1);
static_assert(facts::stages == 1 && facts::params == 0);
static_assert(facts::offsets(u).size() == 5 && facts::offsets(u)[0] == std::array{0, 0, 0}); // (dz, dy, dx)
static_assert(facts::reach_into(u).low == std::array{0, 1, 1} && facts::reach_into(c2).radius() == 0);
static_assert(facts::reach().high == std::array{0, 1, 1}); // into any field
static_assert(facts::shape(u) == stet::shape::star && facts::shape(c2) == stet::shape::point);
static_assert(facts::linearity() == stet::linearity::linear); // coefficients count as given
static_assert(facts::flops() == 7);                           // 3 additions, 2 fma of 2 each
static_assert(facts::reads() == 6 && facts::writes() == 1);   // values per cell, of stage 0
static_assert(facts::bytes<float>() == 12);                   // read u and c2, write u
// end

int main() {}
