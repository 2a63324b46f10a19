#pragma once
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>

/// Expressions are values: a tree of N operations and leaves is an `expression<N>`, an array of nodes in
/// postfix order. Only the size is in the type, so trees are inspected by ordinary constexpr functions.
namespace stet {

/// What a node computes. The first five are leaves.
enum class op : unsigned char {
  literal,    ///< a number, in the field's precision
  access,     ///< a field at an offset from the cell
  parameter,  ///< a scalar set at run time
  coordinate, ///< the cell's index along an axis
  step,       ///< the number of the step
  add,
  sub,
  mul,
  div,
  neg,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,
  either,
  invert,
  select,
  min,
  max,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tanh,
  pow,
  floor,
  mod,
  parity,
  fma, ///< a * b + c with one rounding; made by the lowering only
};

/// How many children a node of this kind has.
constexpr int arity(op kind) {
  switch (kind) {
  case op::literal:
  case op::access:
  case op::parameter:
  case op::coordinate:
  case op::step:
    return 0;
  case op::neg:
  case op::invert:
  case op::abs:
  case op::sqrt:
  case op::exp:
  case op::log:
  case op::sin:
  case op::cos:
  case op::tanh:
  case op::floor:
  case op::parity:
    return 1;
  case op::select:
  case op::fma:
    return 3;
  default:
    return 2;
  }
}

/// One node of an expression as the user wrote it.
struct node {
  op kind = op::literal;
  std::array<int, 3> child{-1, -1, -1}; ///< positions in the node array, all smaller than the node's own
  std::string_view name{};              ///< of the field or the parameter
  std::array<int, 3> offset{0, 0, 0};   ///< of an access, first axis first; [0] is the axis of a coordinate
  int rank = 0;                         ///< number of offsets given; 0: the rank of the rest of the stencil
  double value = 0;                     ///< of a literal
};

/// Base of everything that can stand in an expression.
struct operand {};
/// Base of every field.
struct field_base : operand {};

/// An expression of N nodes; the last one is the root.
template <int N> struct expression : operand {
  static constexpr int size = N;
  std::array<node, N> nodes{};

  template <class Bool>
    requires std::is_same_v<Bool, bool>
  explicit constexpr operator Bool() const {
    static_assert(!std::is_same_v<Bool, bool>,
                  "stet: a comparison is known only cell by cell: write stet::where(condition, a, b) instead "
                  "of if or ?:");
    return false;
  }
};

template <class T> inline constexpr bool is_operand = std::is_base_of_v<operand, std::remove_cvref_t<T>>;
template <class T> inline constexpr bool is_field = std::is_base_of_v<field_base, std::remove_cvref_t<T>>;

namespace detail {

constexpr expression<1> leaf(node n) {
  expression<1> e;
  e.nodes[0] = n;
  return e;
}

template <class T> inline constexpr bool is_expression = false;
template <int N> inline constexpr bool is_expression<expression<N>> = true;

/// Anything that can stand in an expression, as an expression: a number becomes a literal, a bare field an
/// access at offset zero.
template <class T> constexpr auto as_expression(const T& value) {
  if constexpr (is_expression<T>) {
    return value;
  } else if constexpr (is_operand<T>) {
    return leaf(value.as_node());
  } else {
    static_assert(std::is_arithmetic_v<T>, "stet: an operand must be a number, a field, a parameter, "
                                           "stet::coord<axis>, stet::step_index or an expression of these");
    node n;
    n.value = static_cast<double>(value);
    return leaf(n);
  }
}

template <class T>
using expression_of = decltype(as_expression(std::declval<const std::remove_cvref_t<T>&>()));

/// Appends the nodes of `part` to `whole` at position `at`; returns the position of its root.
template <std::size_t N, std::size_t M>
constexpr int append(std::array<node, N>& whole, int at, const std::array<node, M>& part) {
  for (std::size_t i = 0; i < M; ++i) {
    node n = part[i];
    for (int& c : n.child)
      if (c >= 0) c += at;
    whole[at + int(i)] = n;
  }
  return at + int(M) - 1;
}

/// The expression `kind(parts...)`.
template <class... Parts> constexpr auto combine(op kind, const Parts&... parts) {
  constexpr int size = (expression_of<Parts>::size + ... + 1);
  expression<size> result;
  node root;
  root.kind = kind;
  int at = 0, child = 0;
  (
      [&](const auto& part) {
        root.child[child++] = append(result.nodes, at, part.nodes);
        at += part.size;
      }(as_expression(parts)),
      ...);
  result.nodes[size - 1] = root;
  return result;
}

/// A string literal as a template argument.
template <std::size_t N> struct fixed_string {
  char text[N]{};
  constexpr fixed_string(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// One right-hand side: `field = expression`.
template <int N> struct assignment {
  static constexpr int size = N;
  std::string_view name;
  expression<N> value;
};

} // namespace detail

/// A field of the stencil: one number per cell. Identity is the name.
///
///     inline constexpr stet::field<"u"> u;
///
/// `u` alone is the cell itself, `u(dz, dy, dx)` (or two, or one offset) a neighbour: index order is (z, y,
/// x), x contiguous. `u = expression` is an assignment for stet::update. A field that no update assigns is a
/// coefficient: read-only.
template <detail::fixed_string Name> struct field : field_base {
  static constexpr std::string_view name = Name.view();
  constexpr field() = default;
  constexpr field(const field&) = default;

  constexpr node as_node() const {
    node n;
    n.kind = op::access;
    n.name = name;
    return n;
  }

  /// The neighbour at these offsets, first axis first; as many as the grid has axes.
  template <class... Offsets> constexpr expression<1> operator()(Offsets... offsets) const {
    static_assert(sizeof...(Offsets) >= 1 && sizeof...(Offsets) <= 3,
                  "stet: an access takes 1 to 3 offsets, one per axis of the grid, first axis first");
    static_assert((std::is_integral_v<Offsets> && ...), "stet: the offsets of an access must be integers");
    if constexpr (sizeof...(Offsets) >= 1 && sizeof...(Offsets) <= 3 &&
                  (std::is_integral_v<Offsets> && ...)) {
      node n = as_node();
      int axis = 0;
      ((n.offset[axis++] = checked(offsets)), ...);
      n.rank = sizeof...(Offsets);
      return detail::leaf(n);
    } else {
      return {};
    }
  }

  /// The neighbour `distance` cells along `axis` (0 is the first axis), whatever the rank of the grid.
  constexpr expression<1> along(int axis, int distance) const {
    node n = as_node();
    n.offset[axis] = distance;
    return detail::leaf(n);
  }

  template <class T> constexpr auto operator=(const T& value) const {
    return detail::assignment<detail::expression_of<T>::size>{name, detail::as_expression(value)};
  }
  constexpr auto operator=(const field& value) const {
    return detail::assignment<1>{name, detail::as_expression(value)};
  }

 private:
  template <class Integer> static constexpr int checked(Integer offset) {
    constexpr int limit = 1 << 20;
    // Not a constant expression when it throws: the compiler points here.
    if (offset > Integer(limit < std::numeric_limits<Integer>::max() ? limit
                                                                     : std::numeric_limits<Integer>::max()) ||
        (std::is_signed_v<Integer> && static_cast<long long>(offset) < -limit))
      throw "stet: an offset must be between -2^20 and 2^20";
    return static_cast<int>(offset);
  }
};

/// A scalar that is set at run time: `inline constexpr stet::param<"alpha"> alpha;`, `sim.set(alpha, 0.2)`.
template <detail::fixed_string Name> struct param : operand {
  static constexpr std::string_view name = Name.view();
  constexpr node as_node() const {
    node n;
    n.kind = op::parameter;
    n.name = name;
    return n;
  }
};

namespace detail {
template <int Axis> struct coordinate : operand {
  static_assert(Axis >= 0 && Axis <= 2, "stet: coord<axis> takes axis 0, 1 or 2; 0 is the first axis");
  constexpr node as_node() const {
    node n;
    n.kind = op::coordinate;
    n.offset[0] = Axis;
    return n;
  }
};
struct step_number : operand {
  constexpr node as_node() const {
    node n;
    n.kind = op::step;
    return n;
  }
};
} // namespace detail

/// The cell's index along an axis (0 is the first axis), in the field's precision.
template <int Axis> inline constexpr detail::coordinate<Axis> coord{};
/// The number of the step, from 0 over the life of the simulation, in the field's precision.
inline constexpr detail::step_number step_index{};

} // namespace stet
