// Each line "FAIL name: text" below is a test: compiled with -DFAIL_name this file must fail with an error
// that holds the text; compiled as it stands, where every mistake is put right, it must pass.
#include <stet/analysis.hpp>
#include <stet/helpers.hpp>

inline constexpr stet::field<"u"> u;
inline constexpr stet::field<"v"> v;
inline constexpr stet::param<"p"> p;
inline constexpr stet::param<"q"> q;

/// Asks for everything that is known of a stencil.
template <class S> constexpr int use() {
  return stet::analysis<S>::flops() + int(stet::analysis<S>::linearity());
}

// FAIL four_offsets: an access takes 1 to 3 offsets, one per axis of the grid
struct four_offsets {
  static constexpr auto step() {
#ifdef FAIL_four_offsets
    return stet::update(u = u(0, 0, 0, 1));
#else
    return stet::update(u = u(0, 0, 1));
#endif
  }
};
static_assert(use<four_offsets>() >= 0);

// FAIL broken_offset: the offsets of an access must be integers
struct broken_offset {
  static constexpr auto step() {
#ifdef FAIL_broken_offset
    return stet::update(u = u(0, 0.5));
#else
    return stet::update(u = u(0, 5));
#endif
  }
};
static_assert(use<broken_offset>() >= 0);

// FAIL far_offset: must be a literal or constexpr \(offsets between -2\^20 and 2\^20\)
struct far_offset {
  static constexpr auto step() {
#ifdef FAIL_far_offset
    return stet::update(u = u(1 << 21));
#else
    return stet::update(u = u(1 << 20));
#endif
  }
};
static_assert(use<far_offset>() >= 0);

// FAIL foreign_operand: an operand must be a number, a field, a parameter
struct foreign_operand {
  static constexpr auto step() {
#ifdef FAIL_foreign_operand
    return stet::update(u = u(1) + "1");
#else
    return stet::update(u = u(1) + 1);
#endif
  }
};
static_assert(use<foreign_operand>() >= 0);

// FAIL if_on_cells: write stet::where\(condition, a, b\) instead
struct if_on_cells {
  static constexpr auto step() {
#ifdef FAIL_if_on_cells
    return (u > 0) ? stet::update(u = u(1)) : stet::update(u = u(2));
#else
    return stet::update(u = stet::where(u > 0, u(1), u(2)));
#endif
  }
};
static_assert(use<if_on_cells>() >= 0);

// FAIL fourth_axis: coord<axis> takes axis 0, 1 or 2; 0 is the first axis
struct fourth_axis {
  static constexpr auto step() {
#ifdef FAIL_fourth_axis
    return stet::update(u = u(0, 0, 1) + stet::coord<3>);
#else
    return stet::update(u = u(0, 0, 1) + stet::coord<2>);
#endif
  }
};
static_assert(use<fourth_axis>() >= 0);

// FAIL missing_axis: names an axis that the grid has not: axes count from 0
struct missing_axis {
  static constexpr auto step() {
#ifdef FAIL_missing_axis
    return stet::update(u = u(0, 1) + stet::coord<2>);
#else
    return stet::update(u = u(0, 1) + stet::coord<1>);
#endif
  }
};
static_assert(use<missing_axis>() >= 0);

// FAIL empty_update: update\(\) assigns nothing: give it field = expression
struct empty_update {
  static constexpr auto step() {
#ifdef FAIL_empty_update
    return stet::update();
#else
    return stet::update(u = u(1));
#endif
  }
};
static_assert(use<empty_update>() >= 0);

// FAIL update_without_assignment: update\(\) takes assignments: field = expression
struct update_without_assignment {
  static constexpr auto step() {
#ifdef FAIL_update_without_assignment
    return stet::update(u(1) + 1);
#else
    return stet::update(u = u(1) + 1);
#endif
  }
};
static_assert(use<update_without_assignment>() >= 0);

// FAIL stages_of_assignments: stages\(\) takes update\(...\), one per stage
struct stages_of_assignments {
  static constexpr auto step() {
#ifdef FAIL_stages_of_assignments
    return stet::stages(u = u(1), v = u);
#else
    return stet::stages(stet::update(u = u(1)), stet::update(v = u));
#endif
  }
};
static_assert(use<stages_of_assignments>() >= 0);

// FAIL no_stages: stages\(\) holds no update\(\)
struct no_stages {
  static constexpr auto step() {
#ifdef FAIL_no_stages
    return stet::stages();
#else
    return stet::stages(stet::update(u = u(1)));
#endif
  }
};
static_assert(use<no_stages>() >= 0);

// FAIL assigned_twice: a field is assigned twice in one update\(\): put the second assignment into a stage of
// its own
struct assigned_twice {
  static constexpr auto step() {
#ifdef FAIL_assigned_twice
    return stet::update(u = u(1), v = u, u = v);
#else
    return stet::stages(stet::update(u = u(1), v = u), stet::update(u = v));
#endif
  }
};
static_assert(use<assigned_twice>() >= 0);

// FAIL no_step: a stencil is a struct with static constexpr auto step\(\)
struct no_step {
#ifndef FAIL_no_step
  static constexpr auto step() { return stet::update(u = u(1)); }
#endif
};
static_assert(use<no_step>() >= 0);

// FAIL step_of_a_number: step\(\) must return stet::update\(...\) or stet::stages\(...\)
struct step_of_a_number {
  static constexpr auto step() {
#ifdef FAIL_step_of_a_number
    return 1;
#else
    return stet::update(u = u(1));
#endif
  }
};
static_assert(use<step_of_a_number>() >= 0);

// FAIL run_time_offset: every offset and every number in it must be a literal or constexpr
#ifdef FAIL_run_time_offset
inline int distance = 2;
#else
inline constexpr int distance = 2;
#endif
struct run_time_offset {
  static constexpr auto step() { return stet::update(u = u(distance)); }
};
static_assert(use<run_time_offset>() >= 0);

// FAIL mixed_ranks: the accesses in step\(\) differ in their number of offsets
struct mixed_ranks {
  static constexpr auto step() {
#ifdef FAIL_mixed_ranks
    return stet::update(u = u(1) + u(0, 1));
#else
    return stet::update(u = u(1, 0) + u(0, 1));
#endif
  }
};
static_assert(use<mixed_ranks>() >= 0);

// FAIL open_rank: the rank is open, since no access gives offsets
struct open_rank {
#ifndef FAIL_open_rank
  static constexpr int rank = 2;
#endif
  static constexpr auto step() { return stet::update(u = 2 * u); }
};
static_assert(use<open_rank>() >= 0);

// FAIL rank_4: the member rank of a stencil must be 1, 2 or 3
struct rank_4 {
#ifdef FAIL_rank_4
  static constexpr int rank = 4;
#else
  static constexpr int rank = 3;
#endif
  static constexpr auto step() { return stet::update(u = 2 * u); }
};
static_assert(use<rank_4>() >= 0);

// FAIL other_rank: the member rank of the stencil differs from the number of offsets in its accesses
struct other_rank {
#ifdef FAIL_other_rank
  static constexpr int rank = 3;
#else
  static constexpr int rank = 2;
#endif
  static constexpr auto step() { return stet::update(u = u(0, 1)); }
};
static_assert(use<other_rank>() >= 0);

// FAIL residual_of_an_expression: residual\(\) must return stet::sum_of, max_of, min_of or norm2_of of an
// expression
struct residual_of_an_expression {
  static constexpr auto step() { return stet::update(u = u(1)); }
  static constexpr auto residual() {
#ifdef FAIL_residual_of_an_expression
    return stet::abs(u(1) - u);
#else
    return stet::max_of(stet::abs(u(1) - u));
#endif
  }
};
static_assert(use<residual_of_an_expression>() >= 0);

// FAIL residual_of_another_rank: the accesses in residual\(\) and step\(\) differ in their number of offsets
struct residual_of_another_rank {
  static constexpr auto step() { return stet::update(u = u(0, 1)); }
  static constexpr auto residual() {
#ifdef FAIL_residual_of_another_rank
    return stet::sum_of(u(1));
#else
    return stet::sum_of(u(1, 0));
#endif
  }
};
static_assert(use<residual_of_another_rank>() >= 0);

// --- Reductions
// -------------------------------------------------------------------------------------------------
struct line {
  static constexpr auto step() { return stet::update(u = u(1) + p); }
};
template <class R> constexpr bool reduces() { return stet::reduction_program<line, R>::value.node_count > 0; }

// FAIL reduction_of_an_expression: value\(\) must return stet::sum_of, max_of, min_of or norm2_of of an
// expression
struct reduction_of_an_expression {
  static constexpr auto value() {
#ifdef FAIL_reduction_of_an_expression
    return stet::abs(u);
#else
    return stet::sum_of(stet::abs(u));
#endif
  }
};
static_assert(reduces<reduction_of_an_expression>());

// FAIL reduction_of_a_foreign_field: the reduction reads a field that the stencil does not have
struct reduction_of_a_foreign_field {
  static constexpr auto value() {
#ifdef FAIL_reduction_of_a_foreign_field
    return stet::sum_of(u * v);
#else
    return stet::sum_of(u * u);
#endif
  }
};
static_assert(reduces<reduction_of_a_foreign_field>());

// FAIL reduction_of_a_foreign_parameter: the reduction reads a parameter that the stencil does not have
struct reduction_of_a_foreign_parameter {
  static constexpr auto value() {
#ifdef FAIL_reduction_of_a_foreign_parameter
    return stet::max_of(u * q);
#else
    return stet::max_of(u * p);
#endif
  }
};
static_assert(reduces<reduction_of_a_foreign_parameter>());

// FAIL reduction_of_another_rank: the accesses of the reduction do not give as many offsets as the grid has
// axes
struct reduction_of_another_rank {
  static constexpr auto value() {
#ifdef FAIL_reduction_of_another_rank
    return stet::min_of(u(0, 1));
#else
    return stet::min_of(u(1));
#endif
  }
};
static_assert(reduces<reduction_of_another_rank>());

// FAIL reduction_over_a_missing_axis: the reduction names an axis that the grid has not
struct reduction_over_a_missing_axis {
  static constexpr auto value() {
#ifdef FAIL_reduction_over_a_missing_axis
    return stet::norm2_of(u * stet::coord<1>);
#else
    return stet::norm2_of(u * stet::coord<0>);
#endif
  }
};
static_assert(reduces<reduction_over_a_missing_axis>());

// --- Helpers
// ----------------------------------------------------------------------------------------------------
template <class Value> constexpr bool is_expression(const Value&) { return stet::is_operand<Value>; }

// FAIL difference_of_an_expression: d<axis>\(u\) takes a field
// FAIL difference_along_a_fourth_axis: d2<axis> takes axis 0, 1 or 2; 0 is the first axis
// FAIL laplacian_of_an_expression: laplacian<rank>\(u\) takes a field
// FAIL laplacian_of_rank_4: laplacian<rank> takes rank 1, 2 or 3
// FAIL star_with_a_missing_weight: star<rank>\(u, weights...\) takes 2 \* rank \* radius \+ 1 weights
// FAIL box_with_a_missing_weight: box<rank>\(u, weights...\) takes \(2 \* radius \+ 1\) to the power of rank
// weights
#ifdef FAIL_difference_of_an_expression
static_assert(is_expression(stet::d<0>(u * u)));
#elif defined(FAIL_difference_along_a_fourth_axis)
static_assert(is_expression(stet::d2<3>(u)));
#elif defined(FAIL_laplacian_of_an_expression)
static_assert(is_expression(stet::laplacian<2>(u(0, 1))));
#elif defined(FAIL_laplacian_of_rank_4)
static_assert(is_expression(stet::laplacian<4>(u)));
#elif defined(FAIL_star_with_a_missing_weight)
static_assert(is_expression(stet::star<2>(u, 1, 2, 3, 4)));
#elif defined(FAIL_box_with_a_missing_weight)
static_assert(is_expression(stet::box<2>(u, 1, 2, 3, 4, 5, 6, 7, 8)));
#else
static_assert(is_expression(stet::d<0>(u)) && is_expression(stet::d2<2>(u)) &&
              is_expression(stet::laplacian<3>(u)));
static_assert(is_expression(stet::star<2>(u, 1, 2, 3, 4, 5)) &&
              is_expression(stet::box<2>(u, 1, 2, 3, 4, 5, 6, 7, 8, 9)));
#endif
