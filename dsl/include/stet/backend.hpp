#pragma once
#include <concepts>
#include <stet/data.hpp>
#include <stet/grid.hpp>
#include <stet/report.hpp>
#include <string_view>

/// The contract between the language and its backends: the one header of the dsl that a backend includes.
///
/// A backend is a type `B` with `B::name` and a class template `B::engine<S, Real>` which owns the fields of
/// one simulation. Arguments have been checked before they get here. All calls return when the work is done.
namespace stet {

/// run_until's arguments: check after every `every`-th step, `value <= tolerance` passes, at most
/// `max_steps`.
struct stop_rule {
  double tolerance;
  index every, max_steps;
};

/// What `Backend::engine<S, Real>` must offer. Cells are (z, y, x), fields numbered as in the program, all 0
/// at first. It also has `template <class R> double reduce(conditions, step)` for any reduction R of the
/// stencil, and `run_report run_until(conditions, first_step, stop_rule)` for a stencil with a residual.
template <class Engine, class S, class Real>
concept engine_for = std::constructible_from < Engine,
        const std::array<index, 3>
& > && // stet::error: out of memory
    requires(Engine e, int field, strided<const Real> source, strided<Real> sink,
             const conditions<S, Real>& c, index first_step, index steps) {
  e.copy_in(field, source);
  e.copy_out(field, sink);
  { e.run(c, first_step, steps) } -> std::same_as<run_report>;
};

} // namespace stet
