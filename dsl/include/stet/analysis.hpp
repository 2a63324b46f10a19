#pragma once
#include <stet/program.hpp>

/// What a stencil touches and computes, as plain constexpr functions on its program. Halos, plans, bytes in
/// benchmarks and boundary checks all come from here.
namespace stet {

/// How far a program reads beyond a cell, per axis (z, y, x): `low` towards smaller indices, both ≥ 0.
struct reach {
  std::array<int, 3> low{0, 0, 0}, high{0, 0, 0};
  constexpr bool operator==(const reach&) const = default;
  /// The radius: the larger side of the largest axis.
  constexpr int radius() const {
    int r = 0;
    for (int a = 0; a < 3; ++a) r = low[a] > r ? low[a] : r, r = high[a] > r ? high[a] : r;
    return r;
  }
  constexpr int side(int face) const { return face % 2 == 0 ? low[face / 2] : high[face / 2]; }
};
constexpr reach merge(const reach& a, const reach& b) {
  reach r = a;
  for (int i = 0; i < 3; ++i) {
    if (b.low[i] > r.low[i]) r.low[i] = b.low[i];
    if (b.high[i] > r.high[i]) r.high[i] = b.high[i];
  }
  return r;
}

/// point: the cell alone; star: along the axes; box: anything else.
enum class shape { point, star, box };

/// How a step depends on the fields that it writes: not at all, as a linear form, with an added term, or
/// otherwise. Coefficient fields, parameters, coordinates and the step number count as given.
enum class linearity { constant, linear, affine, nonlinear };

namespace detail {

/// Which nodes a stage (or, with stage −1, the whole program) needs.
template <class Program> constexpr auto needed(const Program& p, int stage) {
  std::array<bool, std::tuple_size_v<decltype(p.nodes)>> used{};
  for (int s = 0; s < p.stage_count; ++s)
    if (stage < 0 || s == stage)
      for (int k = p.first[s]; k < p.first[s + 1]; ++k) used[p.targets[k].root] = true;
  for (int i = p.node_count - 1; i >= 0; --i)
    if (used[i])
      for (int c = 0; c < arity(p.nodes[i].kind); ++c) used[p.nodes[i].child[c]] = true;
  return used;
}

/// Floating-point operations of one node: fma 2, selections and leaves 0, everything else 1.
constexpr int flops_of(op kind) {
  if (arity(kind) == 0 || kind == op::select) return 0;
  return kind == op::fma ? 2 : 1;
}

constexpr linearity sum_of_kinds(linearity a, linearity b) {
  using enum linearity;
  if (a == nonlinear || b == nonlinear) return nonlinear;
  if (a == b) return a;
  return affine; // linear + constant, affine + anything that is not nonlinear
}

} // namespace detail

/// Offsets (dz, dy, dx) at which a stage (−1: any) reads a field, in order of first use, each once.
template <int Capacity> struct offset_list {
  std::array<std::array<int, 3>, Capacity> items{};
  int count = 0;
  constexpr const std::array<int, 3>& operator[](int i) const { return items[i]; }
  constexpr int size() const { return count; }
};
template <class Program> constexpr auto offsets(const Program& p, int stage, int field) {
  offset_list<int(std::tuple_size_v<decltype(p.nodes)>)> list;
  const auto used = detail::needed(p, stage);
  for (int i = 0; i < p.node_count; ++i)
    if (used[i] && p.nodes[i].kind == op::access && p.nodes[i].index == field)
      list.items[list.count++] = p.nodes[i].offset;
  return list;
}

/// How far a stage (−1: any) reads into a field.
template <class Program> constexpr reach reach_into(const Program& p, int stage, int field) {
  reach r;
  const auto list = offsets(p, stage, field);
  for (int i = 0; i < list.size(); ++i)
    for (int a = 0; a < 3; ++a) {
      if (-list[i][a] > r.low[a]) r.low[a] = -list[i][a];
      if (list[i][a] > r.high[a]) r.high[a] = list[i][a];
    }
  return r;
}
/// How far a stage (−1: any) reads into whichever of the first `fields` fields.
template <class Program> constexpr reach reach_of(const Program& p, int stage, int fields) {
  reach r;
  for (int f = 0; f < fields; ++f) r = merge(r, reach_into(p, stage, f));
  return r;
}

/// The shape of the accesses of a stage (−1: any) to a field.
template <class Program> constexpr shape shape_of(const Program& p, int stage, int field) {
  shape s = shape::point;
  const auto list = offsets(p, stage, field);
  for (int i = 0; i < list.size(); ++i) {
    const int off_axis = (list[i][0] != 0) + (list[i][1] != 0) + (list[i][2] != 0);
    if (off_axis > 1) return shape::box;
    if (off_axis == 1) s = shape::star;
  }
  return s;
}

/// Floating-point operations per cell of a stage (−1: the whole step): shared subexpressions once.
template <class Program> constexpr int flops(const Program& p, int stage = -1) {
  int n = 0;
  for (int s = 0; s < p.stage_count; ++s)
    if (stage < 0 || s == stage) {
      const auto used = detail::needed(p, s);
      for (int i = 0; i < p.node_count; ++i)
        if (used[i]) n += detail::flops_of(p.nodes[i].kind);
    }
  return n;
}

/// Values read per cell by a stage: distinct (field, offset) pairs.
template <class Program> constexpr int reads(const Program& p, int stage) {
  int n = 0;
  const auto used = detail::needed(p, stage);
  for (int i = 0; i < p.node_count; ++i) n += used[i] && p.nodes[i].kind == op::access;
  return n;
}
/// Values written per cell by a stage.
template <class Program> constexpr int writes(const Program& p, int stage) {
  return p.first[stage + 1] - p.first[stage];
}

/// Whether a stage (−1: any) reads, or writes, a field.
template <class Program> constexpr bool reads_field(const Program& p, int stage, int field) {
  return offsets(p, stage, field).size() > 0;
}
template <class Program> constexpr bool writes_field(const Program& p, int stage, int field) {
  for (int s = 0; s < p.stage_count; ++s)
    if (stage < 0 || s == stage)
      for (int k = p.first[s]; k < p.first[s + 1]; ++k)
        if (p.targets[k].field == field) return true;
  return false;
}

/// How many stages write a field.
template <class Program> constexpr int writers(const Program& p, int field) {
  int n = 0;
  for (int s = 0; s < p.stage_count; ++s) n += writes_field(p, s, field);
  return n;
}

/// Whether a program reads a parameter.
template <class Program> constexpr bool reads_param(const Program& p, int param) {
  for (int i = 0; i < p.node_count; ++i)
    if (p.nodes[i].kind == op::parameter && p.nodes[i].index == param) return true;
  return false;
}

/// Whether a program reads stet::step_index.
template <class Program> constexpr bool reads_step(const Program& p) {
  for (int i = 0; i < p.node_count; ++i)
    if (p.nodes[i].kind == op::step) return true;
  return false;
}

/// Bytes per cell that a step must move when every stage streams memory: each field that a stage reads or
/// writes once each way.
template <class Program>
constexpr int bytes(const Program& p, int fields, int bytes_per_value, int stage = -1) {
  int n = 0;
  for (int s = 0; s < p.stage_count; ++s)
    if (stage < 0 || s == stage)
      for (int f = 0; f < fields; ++f) n += reads_field(p, s, f) + writes_field(p, s, f);
  return n * bytes_per_value;
}

/// How a step depends on its first `assigned` fields, the ones that it writes.
template <class Program> constexpr linearity linearity_of(const Program& p, int assigned) {
  using enum linearity;
  std::array<linearity, std::tuple_size_v<decltype(p.nodes)>> of{};
  for (int i = 0; i < p.node_count; ++i) {
    const instruction& n = p.nodes[i];
    const auto child = [&](int c) { return of[n.child[c]]; };
    bool given = true;
    for (int c = 0; c < arity(n.kind); ++c) given = given && child(c) == constant;
    const auto product = [&](linearity a, linearity b) {
      return a == constant ? b : b == constant ? a : nonlinear;
    };
    switch (n.kind) {
    case op::access:
      of[i] = n.index < assigned ? linear : constant;
      break;
    case op::add:
    case op::sub:
      of[i] = detail::sum_of_kinds(child(0), child(1));
      break;
    case op::neg:
      of[i] = child(0);
      break;
    case op::mul:
      of[i] = product(child(0), child(1));
      break;
    case op::fma:
      of[i] = detail::sum_of_kinds(product(child(0), child(1)), child(2));
      break;
    case op::div:
      of[i] = child(1) == constant ? child(0) : nonlinear;
      break;
    case op::select:
      of[i] = child(0) == constant ? detail::sum_of_kinds(child(1), child(2)) : nonlinear;
      break;
    default:
      of[i] = given ? constant : nonlinear;
    }
  }
  linearity result = of[p.targets[0].root];
  for (const target& t : p.targets) result = detail::sum_of_kinds(result, of[t.root]);
  return result;
}

/// The same facts for a stencil, with fields by name: `stet::analysis<heat>::reach_into(u).radius()`.
template <class S> struct analysis {
  static constexpr auto& program = step_program<S>::value;
  static constexpr int rank = rank_of<S>, fields = field_count<S>, assigned = assigned_count<S>;
  static constexpr int stages = stage_count<S>, params = param_count<S>;

  template <class Field> static constexpr auto offsets(Field, int stage = -1) {
    return stet::offsets(program, stage, field_index<S, Field>);
  }
  template <class Field> static constexpr stet::reach reach_into(Field, int stage = -1) {
    return stet::reach_into(program, stage, field_index<S, Field>);
  }
  static constexpr stet::reach reach(int stage = -1) { return reach_of(program, stage, fields); }
  template <class Field> static constexpr stet::shape shape(Field, int stage = -1) {
    return shape_of(program, stage, field_index<S, Field>);
  }
  static constexpr stet::linearity linearity() { return linearity_of(program, assigned); }
  static constexpr int flops(int stage = -1) { return stet::flops(program, stage); }
  static constexpr int reads(int stage = 0) { return stet::reads(program, stage); }
  static constexpr int writes(int stage = 0) { return stet::writes(program, stage); }
  /// Bytes per cell and step (or stage), fields of Real streamed from memory.
  template <class Real> static constexpr int bytes(int stage = -1) {
    return stet::bytes(program, fields, int(sizeof(Real)), stage);
  }
};

} // namespace stet
