#pragma once
#include <stet/expression.hpp>

/// What a step does: `update` and `stages`; what a reduction yields: `sum_of`, `max_of`, `min_of`,
/// `norm2_of`.
namespace stet {

namespace detail {

/// One assignment inside a step_description: the node array is shared.
struct written {
  std::string_view field;
  int root = 0;
};

/// A whole step as the user wrote it: Nodes in one array, Assigns right-hand sides, Stages groups of them.
template <int Nodes, int Assigns, int Stages> struct step_description {
  static constexpr int node_count = Nodes, assign_count = Assigns, stage_count = Stages;
  std::array<node, Nodes> nodes{};
  std::array<written, Assigns> assigns{};
  std::array<int, Stages + 1> first{}; ///< stage s holds the assignments [first[s], first[s + 1])
};

template <class T> inline constexpr bool is_assignment = false;
template <int N> inline constexpr bool is_assignment<assignment<N>> = true;
template <class T> inline constexpr bool is_step = false;
template <int N, int A, int S> inline constexpr bool is_step<step_description<N, A, S>> = true;

} // namespace detail

/// One stage: every right-hand side reads the state before it (Jacobi), then all assigned fields change at
/// once.
///
///     stet::update(u = u + 0.1 * stet::laplacian<2>(u), v = 0.5 * u)
template <class... Assignments> constexpr auto update(const Assignments&... assignments) {
  static_assert(sizeof...(Assignments) > 0, "stet: update() assigns nothing: give it field = expression");
  static_assert((detail::is_assignment<Assignments> && ...),
                "stet: update() takes assignments: field = expression");
  if constexpr (sizeof...(Assignments) > 0 && (detail::is_assignment<Assignments> && ...)) {
    detail::step_description<(Assignments::size + ...), sizeof...(Assignments), 1> step;
    int at = 0, k = 0;
    (
        [&](const auto& a) {
          step.assigns[k++] = {a.name, detail::append(step.nodes, at, a.value.nodes)};
          at += a.size;
        }(assignments),
        ...);
    step.first[1] = k;
    return step;
  }
}

/// Several updates, one after another within a step: each reads what the one before it left.
template <class... Updates> constexpr auto stages(const Updates&... updates) {
  static_assert(sizeof...(Updates) > 0, "stet: stages() holds no update()");
  static_assert((detail::is_step<Updates> && ...), "stet: stages() takes update(...), one per stage");
  if constexpr (sizeof...(Updates) > 0 && (detail::is_step<Updates> && ...)) {
    detail::step_description<(Updates::node_count + ...), (Updates::assign_count + ...),
                             (Updates::stage_count + ...)>
        step;
    int at = 0, k = 0, s = 0;
    (
        [&](const auto& u) {
          detail::append(step.nodes, at, u.nodes);
          for (int i = 0; i < u.stage_count; ++i) step.first[++s] = k + u.first[i + 1];
          for (const auto& a : u.assigns) step.assigns[k++] = {a.field, a.root + at};
          at += u.node_count;
        }(updates),
        ...);
    return step;
  }
}

enum class reduction_kind : unsigned char { sum, max, min, norm2 };

namespace detail {
template <int N> struct reduction {
  static constexpr int size = N;
  reduction_kind kind;
  expression<N> value;
};
template <class T> inline constexpr bool is_reduction = false;
template <int N> inline constexpr bool is_reduction<reduction<N>> = true;

template <class T> constexpr auto reduce_as(reduction_kind kind, const T& value) {
  return reduction<expression_of<T>::size>{kind, as_expression(value)};
}
} // namespace detail

/// Reductions of an expression over the cells for which it crosses no `fixed` face. The value is computed in
/// the field's precision, the result is double: sums accumulate in double, any NaN gives NaN. Over no cells:
/// sum and norm2 are 0, max is −∞, min is +∞.
template <class T> constexpr auto sum_of(const T& value) {
  return detail::reduce_as(reduction_kind::sum, value);
}
template <class T> constexpr auto max_of(const T& value) {
  return detail::reduce_as(reduction_kind::max, value);
}
template <class T> constexpr auto min_of(const T& value) {
  return detail::reduce_as(reduction_kind::min, value);
}
/// The root of the sum of squares.
template <class T> constexpr auto norm2_of(const T& value) {
  return detail::reduce_as(reduction_kind::norm2, value);
}

} // namespace stet
