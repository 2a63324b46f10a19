#pragma once
// The 13 stencils of the suite as types: name, rank, taps() and the step() made of them.
//
//   stet::simulation<suite::star_2d5pt, float> sim({1024, 1024});
//   sim.fill(suite::u, ...);
//
#include <stet/helpers.hpp>
#include <stet/update.hpp>
#include <string_view>
#include <utility>

#include "tables.hpp"

namespace suite {

inline constexpr stet::field<"u"> u;

namespace detail {

/// Σ weight · u(dz, dy, dx) in the table's order, for shapes that are neither star nor box.
template <std::size_t I, std::size_t N> constexpr auto sum(const table<N>& taps) {
  const auto term = taps[I].weight * u(taps[I].dz, taps[I].dy, taps[I].dx);
  if constexpr (I == 0)
    return term;
  else
    return sum<I - 1>(taps) + term;
}

} // namespace detail

template <int Radius> struct star_2d {
  static constexpr int rank = 2;
  static constexpr auto taps() { return normalised(published::star_2d<Radius>()); }
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, weights(taps()))); }
};

struct star_2d5pt : star_2d<1> {
  static constexpr std::string_view name = "2d5pt";
};
struct star_2ds9pt : star_2d<2> {
  static constexpr std::string_view name = "2ds9pt";
};
struct star_2d13pt : star_2d<3> {
  static constexpr std::string_view name = "2d13pt";
};
struct star_2d17pt : star_2d<4> {
  static constexpr std::string_view name = "2d17pt";
};
struct star_2d21pt : star_2d<5> {
  static constexpr std::string_view name = "2d21pt";
};
struct star_2ds25pt : star_2d<6> {
  static constexpr std::string_view name = "2ds25pt";
};

struct box_2d9pt {
  static constexpr std::string_view name = "2d9pt";
  static constexpr int rank = 2;
  static constexpr auto taps() { return normalised(published::box_9); }
  static constexpr auto step() { return stet::update(u = stet::box<2>(u, weights(taps()))); }
};

struct box_2d25pt {
  static constexpr std::string_view name = "2d25pt";
  static constexpr int rank = 2;
  static constexpr auto taps() { return normalised(published::box_25); }
  static constexpr auto step() { return stet::update(u = stet::box<2>(u, weights(taps()))); }
};

struct star_3d7pt {
  static constexpr std::string_view name = "3d7pt";
  static constexpr int rank = 3;
  static constexpr auto taps() { return normalised(published::star_3d_7); }
  static constexpr auto step() { return stet::update(u = stet::star<3>(u, weights(taps()))); }
};

struct star_3d13pt {
  static constexpr std::string_view name = "3d13pt";
  static constexpr int rank = 3;
  static constexpr auto taps() { return normalised(published::star_3d_13()); }
  static constexpr auto step() { return stet::update(u = stet::star<3>(u, weights(taps()))); }
};

struct corners_3d17pt {
  static constexpr std::string_view name = "3d17pt";
  static constexpr int rank = 3;
  static constexpr auto taps() { return normalised(published::corners_3d_17()); }
  static constexpr auto step() { return stet::update(u = detail::sum<16>(taps())); }
};

struct box_3d27pt {
  static constexpr std::string_view name = "3d27pt";
  static constexpr int rank = 3;
  static constexpr auto taps() { return normalised(published::box_3d_27()); }
  static constexpr auto step() { return stet::update(u = stet::box<3>(u, weights(taps()))); }
};

struct poisson {
  static constexpr std::string_view name = "poisson";
  static constexpr int rank = 3;
  static constexpr auto taps() { return normalised(published::poisson_19()); }
  static constexpr auto step() { return stet::update(u = detail::sum<18>(taps())); }
};

} // namespace suite
