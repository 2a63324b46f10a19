#pragma once
#include <stet/cuda/device/rows.hpp>

/// What a stage of the strategies in shared memory moves, and in what units. Host and device.
namespace stet::cuda::detail {

/// Fields that a stage writes anew: its targets. When stages share some targets but not all, every assigned
/// field (those without a right-hand side are carried over), so that fields of one stage always lie at the
/// same place.
template <class S> constexpr bool moves(int stage, int field) {
  constexpr auto& p = step_program<S>::value;
  bool separate = true;
  for (int s = 0; s < p.stage_count; ++s)
    for (int r = 0; r < p.stage_count; ++r) {
      int common = 0;
      for (int f = 0; f < assigned_count<S>; ++f) common += writes_field(p, s, f) && writes_field(p, r, f);
      if (common != 0 && (common != writes(p, s) || common != writes(p, r))) separate = false;
    }
  return field < assigned_count<S> && (!separate || writes_field(p, stage, field));
}
template <class S> constexpr int moved_count(int stage) {
  int n = 0;
  for (int f = 0; f < assigned_count<S>; ++f) n += moves<S>(stage, f);
  return n;
}
/// The number of the K-th field that a stage moves, and the node of its right-hand side (−1: carried over).
template <class S> constexpr target moved_target(int stage, int k) {
  constexpr auto& p = step_program<S>::value;
  for (int f = 0; f < assigned_count<S>; ++f)
    if (moves<S>(stage, f) && k-- == 0) {
      for (int i = p.first[stage]; i < p.first[stage + 1]; ++i)
        if (p.targets[i].field == f) return {f, p.targets[i].root};
      return {f, -1};
    }
  return {-1, -1};
}

/// Axis along which units lie and updates sweep; for rank 1 units are single pieces.
template <class S> inline constexpr int slide_axis = 3 - rank_of<S>;
template <class S> inline constexpr int row_axis = rank_of<S> == 3 ? 0 : 1;
/// Whether so many cells beside a piece come from the lane beside, by a shuffle, which takes a quarter of the
/// cycles of a 16-byte load. Lanes lie along x but for rank 1.
template <class S> constexpr bool shuffled(int cells) { return rank_of<S> > 1 && cells == 1; }

/// 32-bit registers of a unit: the rows that it reads, and its results.
template <class S, int Stage, int Rows, class Real> constexpr int resident_registers() {
  constexpr int V = 16 / int(sizeof(Real));
  constexpr auto rows = unit_rows<S, Stage, Rows, row_axis<S>>();
  const auto beside = [](int cells) {
    return shuffled<S>(cells) ? int(sizeof(Real)) / 4 : (cells + V - 1) / V * 4;
  };
  int n = moved_count<S>(Stage) * Rows * 4;
  for (int i = 0; i < rows.count; ++i) n += 4 + beside(rows.items[i].low) + beside(rows.items[i].high);
  return n;
}
/// Cells along the slide axis that a thread updates at once, each a piece wide: up to 4, by their registers.
template <class S, int Stage, class Real> constexpr int resident_unit() {
  constexpr int limit = 80;
  if (rank_of<S> == 1) return 1;
  if (resident_registers<S, Stage, 4, Real>() <= limit) return 4;
  return resident_registers<S, Stage, 2, Real>() <= limit ? 2 : 1;
}

} // namespace stet::cuda::detail
