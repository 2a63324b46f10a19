#pragma once
#include <array>
#include <stet/operators.hpp>
#include <tuple>
#include <utility>

/// Difference operators, written in the language itself. All emit their terms in (dz, dy, dx) order.
namespace stet {

/// Central first difference along an axis (0 is the first), unit spacing: (u₊₁ − u₋₁) / 2.
template <int Axis, class Field> constexpr auto d(const Field& u) {
  static_assert(is_field<Field>, "stet: d<axis>(u) takes a field");
  static_assert(Axis >= 0 && Axis <= 2, "stet: d<axis> takes axis 0, 1 or 2; 0 is the first axis");
  if constexpr (is_field<Field>)
    return 0.5 * (u.along(Axis, 1) - u.along(Axis, -1));
  else
    return 0;
}

/// Second difference along an axis (0 is the first), unit spacing: u₋₁ − 2 u + u₊₁.
template <int Axis, class Field> constexpr auto d2(const Field& u) {
  static_assert(is_field<Field>, "stet: d2<axis>(u) takes a field");
  static_assert(Axis >= 0 && Axis <= 2, "stet: d2<axis> takes axis 0, 1 or 2; 0 is the first axis");
  if constexpr (is_field<Field>)
    return u.along(Axis, -1) + (-2) * u + u.along(Axis, 1);
  else
    return 0;
}

namespace detail {

/// (2 radius + 1) to the power of rank.
constexpr int box_points(int rank, int radius) {
  int n = 1;
  for (int a = 0; a < rank; ++a) n *= 2 * radius + 1;
  return n;
}
/// The radius of a box of so many points; -1 when there is none.
constexpr int box_radius(int rank, int points) {
  for (int r = 0; box_points(rank, r) <= points; ++r)
    if (box_points(rank, r) == points) return r;
  return -1;
}

/// Offset number `i`, in (dz, dy, dx) order, of a star.
template <int Rank> constexpr std::array<int, Rank> star_offset(int radius, int i) {
  std::array<int, Rank> offset{};
  for (int axis = 0; axis < Rank; ++axis, i -= radius)
    if (i < radius) return offset[axis] = i - radius, offset;
  if (i-- == 0) return offset;
  for (int axis = Rank - 1; axis >= 0; --axis, i -= radius)
    if (i < radius) return offset[axis] = i + 1, offset;
  return offset;
}
/// Offset number `i`, in (dz, dy, dx) order, of a box.
template <int Rank> constexpr std::array<int, Rank> box_offset(int radius, int i) {
  std::array<int, Rank> offset{};
  for (int axis = Rank - 1; axis >= 0; --axis, i /= 2 * radius + 1)
    offset[axis] = i % (2 * radius + 1) - radius;
  return offset;
}

/// Σ weight(i) · u(offset(i)), left to right: the nodes of `w0 * u(o0) + w1 * u(o1) + ...`, put down in one
/// go (operator by operator, the compiler's work would grow with the square of their number).
template <int Rank, class Field, class Offset, int... Sizes>
constexpr auto weighted_sum(const Field& u, const Offset& offset, const expression<Sizes>&... weights) {
  constexpr int count = sizeof...(Sizes), size = (Sizes + ... + 0) + 2 * count + (count - 1);
  expression<size> result;
  int at = 0, sum = -1, i = 0;
  const auto put = [&](op kind, int a, int b) {
    node n;
    n.kind = kind;
    n.child = {a, b, -1};
    result.nodes[at] = n;
    return at++;
  };
  (
      [&](const auto& weight) {
        const int factor = append(result.nodes, at, weight.nodes);
        at += weight.size;
        node cell = u.as_node();
        const std::array<int, Rank> o = offset(i++);
        for (int axis = 0; axis < Rank; ++axis) cell.offset[axis] = o[axis];
        cell.rank = Rank;
        result.nodes[at++] = cell;
        const int term = put(op::mul, factor, at - 1);
        sum = sum < 0 ? term : put(op::add, sum, term);
      }(weights),
      ...);
  return result;
}

} // namespace detail

/// Σ wᵢ u(offsetᵢ) over a star: 2·rank·radius + 1 weights in (dz, dy, dx) order, so for rank 2 and radius 1:
/// north, west, centre, east, south. Weights are numbers or expressions; the radius follows from their count.
template <int Rank, class Field, class... Weights>
  requires(sizeof...(Weights) > 1)
constexpr auto star(const Field& u, const Weights&... weights) {
  static_assert(Rank >= 1 && Rank <= 3, "stet: star<rank> takes rank 1, 2 or 3");
  static_assert(is_field<Field>, "stet: star<rank>(u, weights...) takes a field first");
  static_assert((sizeof...(Weights) - 1) % (2 * Rank) == 0,
                "stet: star<rank>(u, weights...) takes 2 * rank * radius + 1 weights");
  constexpr int count = sizeof...(Weights), radius = (count - 1) / (2 * Rank);
  if constexpr (is_field<Field> && radius * 2 * Rank + 1 == count) {
    return detail::weighted_sum<Rank>(
        u, [](int i) { return detail::star_offset<Rank>(radius, i); }, detail::as_expression(weights)...);
  } else {
    return 0;
  }
}
/// The same with the weights in an array.
template <int Rank, class Field, std::size_t N>
constexpr auto star(const Field& u, const std::array<double, N>& weights) {
  return std::apply([&](auto... w) { return star<Rank>(u, w...); }, weights);
}

/// Σ wᵢ u(offsetᵢ) over a box: (2·radius + 1)^rank weights in (dz, dy, dx) order, first row first.
template <int Rank, class Field, class... Weights>
  requires(sizeof...(Weights) > 1)
constexpr auto box(const Field& u, const Weights&... weights) {
  static_assert(Rank >= 1 && Rank <= 3, "stet: box<rank> takes rank 1, 2 or 3");
  static_assert(is_field<Field>, "stet: box<rank>(u, weights...) takes a field first");
  constexpr int count = sizeof...(Weights), radius = detail::box_radius(Rank, count);
  static_assert(radius >= 0,
                "stet: box<rank>(u, weights...) takes (2 * radius + 1) to the power of rank weights");
  if constexpr (is_field<Field> && radius >= 0) {
    return detail::weighted_sum<Rank>(
        u, [](int i) { return detail::box_offset<Rank>(radius, i); }, detail::as_expression(weights)...);
  } else {
    return 0;
  }
}
/// The same with the weights in an array.
template <int Rank, class Field, std::size_t N>
constexpr auto box(const Field& u, const std::array<double, N>& weights) {
  return std::apply([&](auto... w) { return box<Rank>(u, w...); }, weights);
}

/// The sum of the second differences along all axes, unit spacing (5 points in 2D, 7 in 3D).
template <int Rank, class Field> constexpr auto laplacian(const Field& u) {
  static_assert(is_field<Field>, "stet: laplacian<rank>(u) takes a field");
  static_assert(Rank >= 1 && Rank <= 3, "stet: laplacian<rank> takes rank 1, 2 or 3");
  if constexpr (!is_field<Field>)
    return 0;
  else if constexpr (Rank == 1)
    return u(-1) + (-2) * u + u(1);
  else if constexpr (Rank == 2)
    return u(-1, 0) + u(0, -1) + (-4) * u + u(0, 1) + u(1, 0);
  else
    return u(-1, 0, 0) + u(0, -1, 0) + u(0, 0, -1) + (-6) * u + u(0, 0, 1) + u(0, 1, 0) + u(1, 0, 0);
}

} // namespace stet
