#pragma once
#include <stet/expression.hpp>

/// Operators and functions on expressions. Each takes numbers, fields, parameters, coord, step_index and
/// expressions of these. Comparisons and logic give 1 or 0; any value but 0 counts as true.
namespace stet {

namespace detail {
template <class A, class B>
concept operands = is_operand<A> || is_operand<B>;
}

template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator+(const A& a, const B& b) { return detail::combine(op::add, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator-(const A& a, const B& b) { return detail::combine(op::sub, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator*(const A& a, const B& b) { return detail::combine(op::mul, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator/(const A& a, const B& b) { return detail::combine(op::div, a, b); }
template <class A>
  requires is_operand<A>
constexpr auto operator-(const A& a) { return detail::combine(op::neg, a); }
template <class A>
  requires is_operand<A>
constexpr auto operator+(const A& a) { return detail::as_expression(a); }

template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator<(const A& a, const B& b) { return detail::combine(op::less, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator<=(const A& a, const B& b) { return detail::combine(op::less_equal, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator>(const A& a, const B& b) { return detail::combine(op::greater, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator>=(const A& a, const B& b) { return detail::combine(op::greater_equal, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator==(const A& a, const B& b) { return detail::combine(op::equal, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator!=(const A& a, const B& b) { return detail::combine(op::not_equal, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator&&(const A& a, const B& b) { return detail::combine(op::both, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto operator||(const A& a, const B& b) { return detail::combine(op::either, a, b); }
template <class A>
  requires is_operand<A>
constexpr auto operator!(const A& a) { return detail::combine(op::invert, a); }

/// `a` where the condition is not 0, else `b`. Both are evaluated, and both count for the reach.
template <class C, class A, class B> constexpr auto where(const C& condition, const A& a, const B& b) {
  return detail::combine(op::select, condition, a, b);
}

/// The smaller and the larger of two; NaN when either is NaN.
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto min(const A& a, const B& b) { return detail::combine(op::min, a, b); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto max(const A& a, const B& b) { return detail::combine(op::max, a, b); }

template <class A>
  requires is_operand<A>
constexpr auto abs(const A& a) { return detail::combine(op::abs, a); }
template <class A>
  requires is_operand<A>
constexpr auto sqrt(const A& a) { return detail::combine(op::sqrt, a); }
template <class A>
  requires is_operand<A>
constexpr auto exp(const A& a) { return detail::combine(op::exp, a); }
/// Natural logarithm.
template <class A>
  requires is_operand<A>
constexpr auto log(const A& a) { return detail::combine(op::log, a); }
template <class A>
  requires is_operand<A>
constexpr auto sin(const A& a) { return detail::combine(op::sin, a); }
template <class A>
  requires is_operand<A>
constexpr auto cos(const A& a) { return detail::combine(op::cos, a); }
template <class A>
  requires is_operand<A>
constexpr auto tanh(const A& a) { return detail::combine(op::tanh, a); }
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto pow(const A& a, const B& b) { return detail::combine(op::pow, a, b); }
template <class A>
  requires is_operand<A>
constexpr auto floor(const A& a) { return detail::combine(op::floor, a); }
/// The remainder of a / b with the sign of b (as in Python): exact, mod(-1, 3) is 2.
template <class A, class B>
  requires detail::operands<A, B>
constexpr auto mod(const A& a, const B& b) { return detail::combine(op::mod, a, b); }
/// 0 for an even integer, 1 for an odd one, also a negative one.
template <class A>
  requires is_operand<A>
constexpr auto parity(const A& a) { return detail::combine(op::parity, a); }

} // namespace stet
