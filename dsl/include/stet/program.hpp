#pragma once
#include <bit>
#include <cstdint>
#include <stet/update.hpp>

/// Lowering: from the user's description to a `program`, a plain constexpr value without names or pointers
/// that backends evaluate and the analysis inspects.
namespace stet {

/// Positions inside are always (z, y, x): a grid of lower rank has one cell along the leading axes.
inline constexpr int max_rank = 3;

/// A node of a lowered program. Equal subexpressions are one node.
struct instruction {
  op kind = op::literal;
  std::array<int, 3> child{-1, -1, -1}; ///< positions of smaller index
  int index = 0; ///< field of an access, number of a parameter, axis of a coordinate (z, y, x)
  std::array<int, 3> offset{0, 0, 0}; ///< (dz, dy, dx)
  double value = 0;                   ///< of a literal
  /// Literals are compared bit by bit: -0.0 is not 0.0. Written out, since compilers limit the operations of
  /// a constant expression.
  constexpr bool operator==(const instruction& other) const {
    if (kind != other.kind || index != other.index) return false;
    for (int i = 0; i < 3; ++i)
      if (child[i] != other.child[i] || offset[i] != other.offset[i]) return false;
    return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
  }
};

/// A right-hand side: `field` becomes the value of node `root`.
struct target {
  int field = 0;
  int root = 0;
};

/// A lowered step (Stages ≥ 1) or reduction (one stage, one target whose field is −1).
///
/// Arithmetic rule: a + b where one side is a product is one fma (the left product when both are); every
/// other operation rounds by itself. On a GPU the fma rounds once; on a CPU, where it may be a slow library
/// call, its product is rounded first.
template <int Capacity, int Assigns, int Stages> struct program {
  static constexpr int stage_count = Stages;
  std::array<instruction, Capacity> nodes{};
  int node_count = 0;
  std::array<target, Assigns> targets{};
  std::array<int, Stages + 1> first{}; ///< stage s holds the targets [first[s], first[s + 1])
};

namespace detail {

/// Names in order of first use: fields that are assigned first.
template <int Capacity> struct name_table {
  std::array<std::string_view, Capacity> names{};
  int count = 0;
  constexpr int find(std::string_view name) const {
    for (int i = 0; i < count; ++i)
      if (names[i] == name) return i;
    return -1;
  }
  constexpr void insert(std::string_view name) {
    if (find(name) < 0) names[count++] = name;
  }
};

template <class S>
concept has_step = requires {
  S::step();
};
template <class S>
concept has_constant_step = requires {
  typename std::bool_constant<(S::step(), true)>;
};
template <class S>
concept has_residual = requires {
  S::residual();
};
template <class S>
concept has_rank = requires {
  typename std::integral_constant<int, S::rank>;
};

/// Stands for a step that has met its error message, so that no others follow from it.
template <class S> constexpr auto placeholder_step() {
  step_description<1, 1, 1> step;
  step.nodes[0].kind = op::access;
  step.nodes[0].rank = 1;
  if constexpr (has_rank<S>) step.nodes[0].rank = S::rank;
  step.first[1] = 1;
  return step;
}

/// The step of S, checked for its type.
template <class S> constexpr auto step_of() {
  static_assert(has_step<S>, "stet: a stencil is a struct with static constexpr auto step() that returns "
                             "stet::update(...) or stet::stages(...)");
  if constexpr (has_step<S>) {
    static_assert(
        has_constant_step<S>,
        "stet: step() is no constant expression: every offset and every number in it must be a "
        "literal or constexpr (offsets between -2^20 and 2^20); for a number set at run time take a "
        "stet::param");
    if constexpr (has_constant_step<S>) {
      using step = std::remove_cvref_t<decltype(S::step())>;
      static_assert(is_step<step>, "stet: step() must return stet::update(...) or stet::stages(...)");
      if constexpr (is_step<step>)
        return S::step();
      else
        return placeholder_step<S>();
    } else
      return placeholder_step<S>();
  } else
    return placeholder_step<S>();
}

/// The residual of S as a reduction; a literal 0 when it has none.
template <class S> constexpr auto residual_of() {
  if constexpr (has_residual<S>) {
    using residual = std::remove_cvref_t<decltype(S::residual())>;
    static_assert(is_reduction<residual>,
                  "stet: residual() must return stet::sum_of, max_of, min_of or norm2_of of an expression");
    if constexpr (is_reduction<residual>)
      return S::residual();
    else
      return reduction<1>{reduction_kind::sum, leaf(node{})};
  } else
    return reduction<1>{reduction_kind::sum, leaf(node{})};
}

/// The number of offsets that an access in these nodes gives: 0 when none gives any, −1 when two differ.
template <std::size_t N> constexpr int rank_of(const std::array<node, N>& nodes) {
  int rank = 0;
  for (const node& n : nodes)
    if (n.kind == op::access && n.rank > 0) {
      if (rank > 0 && rank != n.rank) return -1;
      rank = n.rank;
    }
  return rank;
}
/// The smallest rank in which these nodes make sense: one more than the largest axis that is named.
template <std::size_t N> constexpr int least_rank(const std::array<node, N>& nodes) {
  int rank = 1;
  for (const node& n : nodes) {
    if (n.kind == op::coordinate && n.offset[0] >= rank) rank = n.offset[0] + 1;
    if (n.kind == op::access)
      for (int axis = 0; axis < 3; ++axis)
        if (n.offset[axis] != 0 && axis >= rank) rank = axis + 1;
  }
  return rank;
}
template <int N, int A, int S> constexpr bool assigns_twice(const step_description<N, A, S>& step) {
  for (int s = 0; s < S; ++s)
    for (int i = step.first[s]; i < step.first[s + 1]; ++i)
      for (int j = step.first[s]; j < i; ++j)
        if (step.assigns[i].field == step.assigns[j].field) return true;
  return false;
}

/// Everything that is known of a stencil by name: its rank, fields and parameters. All checks are here.
template <class S> struct stencil_names {
  static constexpr auto step = step_of<S>();
  static constexpr auto residual = residual_of<S>();
  static constexpr int capacity = step.node_count + step.assign_count + residual.size;

  static constexpr int step_rank = rank_of(step.nodes), residual_rank = rank_of(residual.value.nodes);
  static_assert(step_rank >= 0,
                "stet: the accesses in step() differ in their number of offsets: give each as many as "
                "the grid has axes");
  static_assert(residual_rank == 0 || step_rank <= 0 || residual_rank == step_rank,
                "stet: the accesses in residual() and step() differ in their number of offsets");
  static constexpr int rank = [] {
    if constexpr (has_rank<S>)
      return int(S::rank);
    else
      return step_rank > 0 ? step_rank : residual_rank > 0 ? residual_rank : 0;
  }();
  static_assert(rank != 0 || step_rank < 0,
                "stet: the rank is open, since no access gives offsets: add a member "
                "static constexpr int rank = 1, 2 or 3 to the stencil");
  static_assert(rank >= 0 && rank <= 3, "stet: the member rank of a stencil must be 1, 2 or 3");
  static_assert(step_rank <= 0 || rank == step_rank,
                "stet: the member rank of the stencil differs from the number of offsets in its accesses");
  static_assert(
      rank <= 0 || (least_rank(step.nodes) <= rank && least_rank(residual.value.nodes) <= rank),
      "stet: coord<axis>, d<axis> or d2<axis> names an axis that the grid has not: axes count from 0");
  static_assert(!assigns_twice(step),
                "stet: a field is assigned twice in one update(): put the second assignment into "
                "a stage of its own");

  static constexpr auto fields = [] {
    name_table<capacity> t;
    for (const auto& a : step.assigns) t.insert(a.field);
    for (const node& n : step.nodes)
      if (n.kind == op::access) t.insert(n.name);
    for (const node& n : residual.value.nodes)
      if (n.kind == op::access) t.insert(n.name);
    return t;
  }();
  static constexpr int assigned_count = [] {
    name_table<capacity> t;
    for (const auto& a : step.assigns) t.insert(a.field);
    return t.count;
  }();
  static constexpr auto params = [] {
    name_table<capacity> t;
    for (const node& n : step.nodes)
      if (n.kind == op::parameter) t.insert(n.name);
    for (const node& n : residual.value.nodes)
      if (n.kind == op::parameter) t.insert(n.name);
    return t;
  }();
};

constexpr std::uint64_t hash_of(const instruction& r) {
  std::uint64_t h = std::bit_cast<std::uint64_t>(r.value) ^ (static_cast<std::uint64_t>(r.kind) << 32) ^
                    static_cast<std::uint64_t>(r.index);
  for (int i = 0; i < 3; ++i)
    h = (h * 1000003 + static_cast<std::uint64_t>(r.child[i])) * 1000003 +
        static_cast<std::uint64_t>(r.offset[i]);
  return h ^ (h >> 29);
}

/// Lowers nodes by the name tables of S; `roots` are replaced by the positions in the result.
template <class S, class Program, std::size_t N, std::size_t K>
constexpr void lower_nodes(Program& p, const std::array<node, N>& nodes, std::array<int, K>& roots) {
  using names = stencil_names<S>;
  constexpr int shift = max_rank - (names::rank > 0 ? names::rank : max_rank);
  std::array<instruction, N> all{}; // before unused nodes are dropped
  int count = 0;
  std::array<int, N> at{}, head{}, behind{};
  for (int& h : head) h = -1;
  for (std::size_t i = 0; i < N; ++i) {
    const node& n = nodes[i];
    instruction r;
    r.kind = n.kind;
    for (int c = 0; c < arity(n.kind); ++c) r.child[c] = at[n.child[c]];
    if (n.kind == op::access) {
      r.index = names::fields.find(n.name);
      for (int a = 0; a + shift < max_rank; ++a) r.offset[a + shift] = n.offset[a];
    }
    if (n.kind == op::parameter) r.index = names::params.find(n.name);
    if (n.kind == op::coordinate) r.index = n.offset[0] + shift;
    if (n.kind == op::literal) r.value = n.value;
    if (n.kind == op::add) {
      const instruction left = all[r.child[0]], right = all[r.child[1]];
      if (left.kind == op::mul)
        r = {op::fma, {left.child[0], left.child[1], r.child[1]}};
      else if (right.kind == op::mul)
        r = {op::fma, {right.child[0], right.child[1], r.child[0]}};
    }
    // Equal nodes are found by hash: compilers limit the operations of a constant expression.
    int& bucket = head[hash_of(r) % N];
    int same = bucket;
    while (same >= 0 && !(all[same] == r)) same = behind[same];
    if (same < 0) {
      same = count++;
      all[same] = r;
      behind[same] = bucket;
      bucket = same;
    }
    at[i] = same;
  }
  std::array<bool, N> used{};
  for (int root : roots) used[at[root]] = true;
  for (int i = count - 1; i >= 0; --i)
    if (used[i])
      for (int c = 0; c < arity(all[i].kind); ++c) used[all[i].child[c]] = true;
  std::array<int, N> moved{};
  for (int i = 0; i < count; ++i) {
    if (!used[i]) continue;
    for (int c = 0; c < arity(all[i].kind); ++c) all[i].child[c] = moved[all[i].child[c]];
    moved[i] = p.node_count;
    p.nodes[p.node_count++] = all[i];
  }
  for (int& root : roots) root = moved[at[root]];
}

} // namespace detail

/// The lowered step of a stencil: `step_program<S>::value`. Backends take this type as a template argument.
template <class S> struct step_program {
  using stencil = S;
  static constexpr auto value = [] {
    constexpr auto step = detail::stencil_names<S>::step;
    program<step.node_count, step.assign_count, step.stage_count> p;
    std::array<int, step.assign_count> roots{};
    for (int k = 0; k < step.assign_count; ++k) roots[k] = step.assigns[k].root;
    detail::lower_nodes<S>(p, step.nodes, roots);
    for (int k = 0; k < step.assign_count; ++k)
      p.targets[k] = {detail::stencil_names<S>::fields.find(step.assigns[k].field), roots[k]};
    p.first = step.first;
    return p;
  }();
};

namespace detail {
template <class S, std::size_t N> constexpr bool knows_fields(const std::array<node, N>& nodes) {
  for (const node& n : nodes)
    if (n.kind == op::access && stencil_names<S>::fields.find(n.name) < 0) return false;
  return true;
}
template <class S, std::size_t N> constexpr bool knows_params(const std::array<node, N>& nodes) {
  for (const node& n : nodes)
    if (n.kind == op::parameter && stencil_names<S>::params.find(n.name) < 0) return false;
  return true;
}
template <class S> struct residual_value {
  static constexpr auto value() { return stencil_names<S>::residual; }
};
} // namespace detail

/// The lowered reduction R (a struct with `value()`) over the fields of stencil S.
template <class S, class R> struct reduction_program {
  using stencil = S;
  static constexpr auto source = R::value();
  static_assert(detail::is_reduction<std::remove_cv_t<decltype(source)>>,
                "stet: value() must return stet::sum_of, max_of, min_of or norm2_of of an expression");
  static_assert(detail::knows_fields<S>(source.value.nodes),
                "stet: the reduction reads a field that the stencil does not have");
  static_assert(detail::knows_params<S>(source.value.nodes),
                "stet: the reduction reads a parameter that the stencil does not have");
  static_assert(detail::rank_of(source.value.nodes) == 0 ||
                    detail::rank_of(source.value.nodes) == detail::stencil_names<S>::rank,
                "stet: the accesses of the reduction do not give as many offsets as the grid has axes");
  static_assert(detail::least_rank(source.value.nodes) <= detail::stencil_names<S>::rank,
                "stet: the reduction names an axis that the grid has not: axes count from 0");
  static constexpr reduction_kind kind = source.kind;
  static constexpr auto value = [] {
    program<source.size, 1, 1> p;
    std::array<int, 1> root{source.size - 1};
    detail::lower_nodes<S>(p, source.value.nodes, root);
    p.targets[0] = {-1, root[0]};
    p.first = {0, 1};
    return p;
  }();
};

/// The residual of a stencil as a reduction_program.
template <class S> using residual_program = reduction_program<S, detail::residual_value<S>>;

template <class S> inline constexpr int rank_of = detail::stencil_names<S>::rank;
template <class S> inline constexpr int field_count = detail::stencil_names<S>::fields.count;
/// Fields [0, assigned_count) are written by the step; the rest are coefficients.
template <class S> inline constexpr int assigned_count = detail::stencil_names<S>::assigned_count;
template <class S> inline constexpr int param_count = detail::stencil_names<S>::params.count;
template <class S> inline constexpr int stage_count = detail::stencil_names<S>::step.stage_count;
/// The number of a field in programs, −1 when the stencil does not have it.
template <class S, class Field>
inline constexpr int field_index = detail::stencil_names<S>::fields.find(Field::name);
template <class S, class Param>
inline constexpr int param_index = detail::stencil_names<S>::params.find(Param::name);
template <class S> constexpr std::string_view field_name(int i) {
  return detail::stencil_names<S>::fields.names[i];
}
template <class S> constexpr std::string_view param_name(int i) {
  return detail::stencil_names<S>::params.names[i];
}

} // namespace stet
