#pragma once
// Problems for the plan, posed without a GPU.
#include <stdexcept>
#include <stet/cuda/plan/devices.hpp>
#include <stet/cuda/plan/plan.hpp>
#include <stet/helpers.hpp>

namespace {

using stet::boundary_kind;
using stet::index;
using namespace stet::cuda;

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
struct star7 {
  static constexpr auto step() { return stet::update(u = u + 0.1 * stet::laplacian<3>(u)); }
};

device_facts device(std::string_view key) {
  for (const auto& d : known_devices())
    if (d.key == key) return d.facts;
  throw std::runtime_error("no such device");
}

template <class S, class Real = float>
problem pose(const std::array<index, 3>& extents, boundary_kind kind = boundary_kind::fixed,
             index steps = 1000) {
  stet::conditions<S, Real> given{};
  for (int f = 0; f < stet::field_count<S>; ++f)
    for (int side = 2 * (3 - stet::rank_of<S>); side < stet::face_count; ++side)
      given.boundaries.kind[f][side] = kind;
  return problem_of<S, Real>(extents, given, steps, false);
}

} // namespace
