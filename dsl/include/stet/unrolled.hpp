#pragma once
#include <stet/macros.hpp>
#include <type_traits>
#include <utility>

namespace stet {

namespace detail {
template <class F, int... I> STET_INLINE void unroll(F& f, std::integer_sequence<int, I...>) {
  (f(std::integral_constant<int, I>{}), ...);
}
} // namespace detail

/// Calls f(i) for i = 0 … N − 1, where each i is a compile-time constant: `constexpr auto x = table[i];`.
template <int N, class F> STET_INLINE void unrolled(F&& f) {
  detail::unroll(f, std::make_integer_sequence<int, N>{});
}

} // namespace stet
