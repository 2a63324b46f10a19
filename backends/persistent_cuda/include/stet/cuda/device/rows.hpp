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

} // namespace stet::cuda
