#pragma once
// Boundaries of all kinds for a subject on a grid.
#include "machine.hpp"

namespace strategies {

/// How far a recipe reads into a field along an axis.
template <class T> idx reach_of(const subject<T>& s, int field, std::size_t axis) {
  idx reach = 0;
  const auto take = [&](const oracle::right_side<T>& right) {
    for (const oracle::access& a : oracle::accesses_of(right, s.recipe.rank))
      if (a.field == field) reach = std::max<idx>(reach, std::abs(a.offset[axis]));
  };
  for (const auto& stage : s.recipe.stages)
    for (const auto& w : stage) take(w.right);
  if (s.measured) take(s.measured);
  return reach;
}

/// Whether the library allows these boundaries: fixed opposite another kind needs an axis as long as the
/// reach.
template <class T> bool allowed(const subject<T>& s, const setting<T>& given) {
  for (int f = 0; f < s.recipe.field_count; ++f)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto& ends = given.boundaries[std::size_t(f)][axis];
      const bool half = (ends[0].what == oracle::kind::fixed) != (ends[1].what == oracle::kind::fixed);
      if (half && given.start[0].n[axis] < reach_of(s, f, axis)) return false;
    }
  return true;
}

/// Names: fixed, periodic, neumann, dirichlet, mixed (another kind on each face), periodic_x and periodic_y
/// (fixed otherwise), torus_x (periodic but for other kinds along y), differing (a field is periodic, the
/// others are not), nan.
template <class T>
std::vector<setting<T>> settings_of(const subject<T>& s, const shape& n,
                                    const std::vector<std::string>& names) {
  using oracle::dirichlet, oracle::everywhere, oracle::fixed, oracle::neumann, oracle::periodic;
  const auto sides_of = [&](const std::string& name, int f) -> sides {
    if (name == "periodic") return everywhere(periodic);
    if (name == "neumann") return everywhere(neumann);
    if (name == "dirichlet") return everywhere(dirichlet(0.25 + 0.125 * f));
    if (name == "mixed") return {{{neumann, dirichlet(0.25)}, {fixed, neumann}, {dirichlet(0.375), fixed}}};
    if (name == "periodic_x") return {{{fixed, fixed}, {fixed, fixed}, {periodic, periodic}}};
    if (name == "periodic_y") return {{{fixed, fixed}, {periodic, periodic}, {fixed, fixed}}};
    if (name == "torus_x") return {{{periodic, periodic}, {dirichlet(0.25), neumann}, {periodic, periodic}}};
    if (name == "differing") return everywhere(f == 0 ? periodic : neumann);
    return everywhere(fixed); // and nan
  };
  std::vector<setting<T>> result;
  for (const std::string& name : names) {
    if (name == "differing" && s.recipe.field_count < 2) continue;
    setting<T> one{name, {}, start_of(s, n)};
    for (int f = 0; f < s.recipe.field_count; ++f) one.boundaries.push_back(sides_of(name, f));
    if (name == "nan")
      for (grid<T>& field : one.start)
        field(n[0] / 2, n[1] / 3, n[2] / 2) = field(0, 0, n[2] - 1) = std::numeric_limits<T>::quiet_NaN();
    if (allowed(s, one)) result.push_back(std::move(one));
  }
  return result;
}

} // namespace strategies
