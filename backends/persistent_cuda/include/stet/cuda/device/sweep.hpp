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
/// Cells along the slide axis that a thread updates at once, each a piece wide.
template <class S, int Stage, class Real> constexpr int resident_unit() {
  if (rank_of<S> == 1) return 1;
  return unit_length<S, Stage, row_axis<S>>(16 / int(sizeof(Real)), moved_count<S>(Stage), 80);
}

} // namespace stet::cuda::detail
