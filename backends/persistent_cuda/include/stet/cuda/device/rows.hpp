#pragma once
#include <stet/analysis.hpp>

/// The rows of cells that a stage reads around a cell, as a compile-time list: what kernels load into
/// registers.
namespace stet::cuda {

/// Row (dz, dy) of a field, needed from `low` cells before to `high` cells after the cell along x; both ≥ 0.
struct row {
  int field = 0, dz = 0, dy = 0, low = 0, high = 0;
};

template <int Capacity> struct row_list {
  std::array<row, Capacity> items{};
  int count = 0;
  constexpr int find(int field, int dz, int dy) const {
    for (int i = 0; i < count; ++i)
      if (items[i].field == field && items[i].dz == dz && items[i].dy == dy) return i;
    return -1;
  }
  /// The largest number of cells that a row needs beyond the cell.
  constexpr int margin() const {
    int m = 0;
    for (int i = 0; i < count; ++i) {
      m = items[i].low > m ? items[i].low : m;
      m = items[i].high > m ? items[i].high : m;
    }
    return m;
  }
};

/// All rows that a stage (−1: the whole program) reads.
template <class Program> constexpr auto rows_of(const Program& p, int stage) {
  row_list<int(std::tuple_size_v<decltype(p.nodes)>)> list;
  const auto used = stet::detail::needed(p, stage);
  for (int i = 0; i < p.node_count; ++i) {
    const instruction& n = p.nodes[i];
    if (!used[i] || n.kind != op::access) continue;
    int at = list.find(n.index, n.offset[0], n.offset[1]);
    if (at < 0) list.items[at = list.count++] = {n.index, n.offset[0], n.offset[1], 0, 0};
    row& r = list.items[at];
    if (-n.offset[2] > r.low) r.low = -n.offset[2];
    if (n.offset[2] > r.high) r.high = n.offset[2];
  }
  return list;
}

/// Rows that a unit of `Rows` cells along an axis (0: z, 1: y) reads in a stage, each once.
template <class S, int Stage, int Rows, int Axis> constexpr auto unit_rows() {
  constexpr auto single = rows_of(step_program<S>::value, Stage);
  row_list<(single.count > 0 ? single.count : 1) * Rows> all;
  for (int b = 0; b < Rows; ++b)
    for (int i = 0; i < single.count; ++i) {
      row r = single.items[i];
      (Axis == 0 ? r.dz : r.dy) += b;
      const int at = all.find(r.field, r.dz, r.dy);
      if (at < 0) {
        all.items[all.count++] = r;
      } else {
        row& known = all.items[at];
        known.low = r.low > known.low ? r.low : known.low;
        known.high = r.high > known.high ? r.high : known.high;
      }
    }
  return all;
}

/// 32-bit registers that a unit takes whose cells along x are `V` to a piece of 16 bytes: its rows as whole
/// pieces, and `results` right-hand sides.
template <class S, int Stage, int Rows, int Axis> constexpr int unit_registers(int V, int results) {
  constexpr auto rows = unit_rows<S, Stage, Rows, Axis>();
  int pieces = results * Rows;
  for (int i = 0; i < rows.count; ++i)
    pieces += 1 + (rows.items[i].low + V - 1) / V + (rows.items[i].high + V - 1) / V;
  return pieces * 4;
}
/// The longest unit, up to 4 cells along the axis, that takes at most `limit` registers.
template <class S, int Stage, int Axis> constexpr int unit_length(int V, int results, int limit) {
  if (unit_registers<S, Stage, 4, Axis>(V, results) <= limit) return 4;
  if (unit_registers<S, Stage, 2, Axis>(V, results) <= limit) return 2;
  return 1;
}

} // namespace stet::cuda
