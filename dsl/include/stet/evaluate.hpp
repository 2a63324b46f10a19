#pragma once
#include <cmath>
#include <stet/macros.hpp>
#include <stet/program.hpp>

/// Evaluation of a lowered program at one cell, on host and device.
namespace stet {

/// Arithmetic by the rule of program.hpp. On CUDA devices the intrinsics keep the compiler from fusing by
/// itself.
template <class Real> struct arithmetic {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>,
                "stet: the precision of a simulation is float or double");
#if defined(__CUDA_ARCH__)
  static STET_INLINE Real add(Real a, Real b) {
    if constexpr (sizeof(Real) == 4)
      return __fadd_rn(a, b);
    else
      return __dadd_rn(a, b);
  }
  static STET_INLINE Real sub(Real a, Real b) {
    if constexpr (sizeof(Real) == 4)
      return __fsub_rn(a, b);
    else
      return __dsub_rn(a, b);
  }
  static STET_INLINE Real mul(Real a, Real b) {
    if constexpr (sizeof(Real) == 4)
      return __fmul_rn(a, b);
    else
      return __dmul_rn(a, b);
  }
  static STET_INLINE Real fma(Real a, Real b, Real c) {
    if constexpr (sizeof(Real) == 4)
      return __fmaf_rn(a, b, c);
    else
      return __fma_rn(a, b, c);
  }
#else
  static STET_INLINE Real add(Real a, Real b) { return a + b; }
  static STET_INLINE Real sub(Real a, Real b) { return a - b; }
  static STET_INLINE Real mul(Real a, Real b) { return a * b; }
  static STET_INLINE Real fma(Real a, Real b, Real c) { return a * b + c; }
#endif
};

namespace detail {

/// Remainder with the sign of b; exact.
template <class Real> STET_INLINE Real floored_mod(Real a, Real b) {
  const Real r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r + Real(0); // + 0: no negative zero
}

template <op Kind, class Real> STET_INLINE Real apply(Real a) {
  if constexpr (Kind == op::neg)
    return -a;
  else if constexpr (Kind == op::invert)
    return a == Real(0) ? Real(1) : Real(0);
  else if constexpr (Kind == op::abs)
    return std::fabs(a);
  else if constexpr (Kind == op::sqrt)
    return std::sqrt(a);
  else if constexpr (Kind == op::exp)
    return std::exp(a);
  else if constexpr (Kind == op::log)
    return std::log(a);
  else if constexpr (Kind == op::sin)
    return std::sin(a);
  else if constexpr (Kind == op::cos)
    return std::cos(a);
  else if constexpr (Kind == op::tanh)
    return std::tanh(a);
  else if constexpr (Kind == op::floor)
    return std::floor(a);
  else
    return floored_mod(a, Real(2)); // parity
}

template <op Kind, class Real> STET_INLINE Real apply(Real a, Real b) {
  if constexpr (Kind == op::add)
    return arithmetic<Real>::add(a, b);
  else if constexpr (Kind == op::sub)
    return arithmetic<Real>::sub(a, b);
  else if constexpr (Kind == op::mul)
    return arithmetic<Real>::mul(a, b);
  else if constexpr (Kind == op::div)
    return a / b;
  else if constexpr (Kind == op::less)
    return a < b ? Real(1) : Real(0);
  else if constexpr (Kind == op::less_equal)
    return a <= b ? Real(1) : Real(0);
  else if constexpr (Kind == op::greater)
    return a > b ? Real(1) : Real(0);
  else if constexpr (Kind == op::greater_equal)
    return a >= b ? Real(1) : Real(0);
  else if constexpr (Kind == op::equal)
    return a == b ? Real(1) : Real(0);
  else if constexpr (Kind == op::not_equal)
    return a != b ? Real(1) : Real(0);
  else if constexpr (Kind == op::both)
    return a != Real(0) && b != Real(0) ? Real(1) : Real(0);
  else if constexpr (Kind == op::either)
    return a != Real(0) || b != Real(0) ? Real(1) : Real(0);
  else if constexpr (Kind == op::min)
    return a < b || a != a ? a : b;
  else if constexpr (Kind == op::max)
    return a > b || a != a ? a : b;
  else if constexpr (Kind == op::pow)
    return std::pow(a, b);
  else
    return floored_mod(a, b);
}

} // namespace detail

/// The value of node `Node` of `Program::value` (a step_program or reduction_program) at the cell of `at`.
///
/// `at` supplies the leaves: `at.template field<F, dz, dy, dx>()`, `at.template param<P>()`,
/// `at.template coord<Axis>()` (axes z, y, x) and `at.step()`, each a Real. Everything about the program is a
/// compile-time constant: offsets and literals end up as immediates.
template <class Program, int Node, class Real, class Cell> STET_INLINE Real evaluate(const Cell& at) {
  constexpr instruction n = Program::value.nodes[Node];
  if constexpr (n.kind == op::literal) {
    constexpr Real value = static_cast<Real>(n.value);
    return value;
  } else if constexpr (n.kind == op::access) {
    return at.template field<n.index, n.offset[0], n.offset[1], n.offset[2]>();
  } else if constexpr (n.kind == op::parameter) {
    return at.template param<n.index>();
  } else if constexpr (n.kind == op::coordinate) {
    return at.template coord<n.index>();
  } else if constexpr (n.kind == op::step) {
    return at.step();
  } else {
    const Real a = evaluate<Program, n.child[0], Real>(at);
    if constexpr (arity(n.kind) == 1) {
      return detail::apply<n.kind>(a);
    } else {
      const Real b = evaluate<Program, n.child[1], Real>(at);
      if constexpr (arity(n.kind) == 2) {
        return detail::apply<n.kind>(a, b);
      } else {
        const Real c = evaluate<Program, n.child[2], Real>(at);
        if constexpr (n.kind == op::fma)
          return arithmetic<Real>::fma(a, b, c);
        else
          return a != Real(0) ? b : c; // select
      }
    }
  }
}

} // namespace stet
