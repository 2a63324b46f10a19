#pragma once
#include <algorithm>
#include <bitset>
#include <initializer_list>
#include <memory>
#include <stet/backend.hpp>
#include <stet/helpers.hpp>

namespace stet {

namespace detail {

/// A view with pointer, strides and extents of its own: Kokkos::View, std::mdspan and their like.
template <class View>
concept strided_view = requires(const View& v) {
  v.stride(0);
  v.extent(0);
  requires requires { v.data(); } || requires {
    v.data_handle();
  };
};
template <class View> auto* data_of(const View& v) {
  if constexpr (requires { v.data(); })
    return v.data();
  else
    return v.data_handle();
}
template <class View> constexpr int rank_of_view() {
  if constexpr (requires { View::rank(); })
    return static_cast<int>(View::rank());
  else
    return static_cast<int>(View::rank);
}

} // namespace detail

/// A stencil on a grid: its fields, boundaries and parameters, advanced by a backend.
///
///     stet::simulation<heat, float> sim({1024, 1024});    // extents (y, x); all fields 0, all faces fixed
///     sim.fill(u, [](auto y, auto x) { return ...; });
///     sim.set(alpha, 0.2);
///     stet::run_report report = sim.run(1000);
///     auto h = sim.host(u);                               // h(y, x)
///
/// \tparam S        the stencil: a struct with `static constexpr auto step()`, optionally `residual()` and
/// `rank` \tparam Real     float or double: the precision of fields, literals and parameters \tparam Backend
/// kokkos_ref or persistent_cuda
///
/// Every call returns when its work is done (host and device are synchronised). Errors are stet::error and
/// leave the simulation as it was. Movable, not copyable; not for concurrent use by several threads.
template <class S, class Real, class Backend> class simulation {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>,
                "stet: the precision of a simulation is float or double");

 public:
  using value_type = Real;
  using backend = Backend;
  static constexpr int rank = rank_of<S>;
  using engine = typename Backend::template engine<S, Real>;

  /// A grid of these extents, first axis first, x last: `simulation<S, Real> sim({nz, ny, nx})`.
  /// \throws stet::error extents below 1, fields beyond 2^63 bytes, or out of memory
  template <std::size_t N> explicit simulation(const index (&extents)[N]) : simulation(to_array(extents)) {}
  template <std::integral Integer, std::size_t N>
  explicit simulation(const Integer (&extents)[N]) : simulation(to_array(extents)) {}
  explicit simulation(const std::array<index, rank>& extents)
      : extents_(checked(extents)), engine_(std::make_unique<engine>(extents_)) {}

  /// Sets the boundary of a field at every face, or at one. Applies from the next run on.
  /// \throws stet::error a face of an axis that the grid does not have
  template <class Field> void boundary(Field, const stet::boundary& b) {
    for (int side = 2 * (3 - rank); side < face_count; ++side) boundaries_[index_of<Field>()][side] = b;
  }
  template <class Field> void boundary(Field, face where, const stet::boundary& b) {
    const int side = static_cast<int>(where);
    if (side / 2 < 3 - rank)
      throw error(std::string("face ") + face_name(side),
                  "a grid of rank " + std::to_string(rank) + " has no such axis",
                  rank == 1 ? "use x_low or x_high" : "use the faces of y and x");
    boundaries_[index_of<Field>()][side] = b;
  }

  /// Sets a parameter. Applies from the next run on; NaN is a value like any other.
  template <class Param> void set(Param, double value) {
    static_assert(
        is_operand<Param> && requires { Param::name; } && !is_field<Param>,
        "stet: set(param, value) takes a stet::param first");
    static_assert(param_index<S, Param> >= 0, "stet: the stencil does not use this parameter");
    params_[param_index<S, Param>] = static_cast<Real>(value);
    is_set_[param_index<S, Param>] = true;
  }

  /// Fills a field with `f(z, y, x)` (or two, or one index), called on the host for every cell, or with a
  /// number.
  template <class Field, class F> void fill(Field u, F&& f) {
    std::vector<Real> values(static_cast<std::size_t>(cells()));
    auto out = values.begin();
    for (index z = 0; z < extents_[0]; ++z)
      for (index y = 0; y < extents_[1]; ++y)
        for (index x = 0; x < extents_[2]; ++x) *out++ = static_cast<Real>(value_at(f, z, y, x));
    engine_->copy_in(index_of<Field>(), strided<const Real>{values.data(), contiguous()});
    (void)u;
  }

  /// Copies a field in from, or out to, host memory: a pointer to cell 0 and strides in elements, first axis
  /// first. copy_out writes the cells of the view and no other byte. \throws stet::error a null pointer,
  /// strides that overflow, or (copy_out) under which two cells share an address
  template <class Field, std::size_t N> void copy_in(Field, const Real* data, const index (&strides)[N]) {
    engine_->copy_in(index_of<Field>(), view_of(data, to_array(strides)));
  }
  template <class Field, std::size_t N> void copy_out(Field, Real* data, const index (&strides)[N]) const {
    engine_->copy_out(index_of<Field>(), distinct(view_of(data, to_array(strides))));
  }
  /// The same for a view that knows its strides and extents (Kokkos::View, std::mdspan, ...).
  /// \throws stet::error extents that differ from the grid's
  template <class Field, detail::strided_view View> void copy_in(Field, const View& view) {
    if constexpr (holds<View>()) {
      const auto source = view_of(static_cast<const Real*>(detail::data_of(view)), strides_of(view));
      if constexpr (requires { engine_->copy_in(0, source, view); })
        engine_->copy_in(index_of<Field>(), source, view);
      else
        engine_->copy_in(index_of<Field>(), source);
    }
  }
  template <class Field, detail::strided_view View> void copy_out(Field, const View& view) const {
    constexpr bool writable = !std::is_const_v<std::remove_pointer_t<decltype(detail::data_of(view))>>;
    static_assert(writable, "stet: copy_out writes into the view: its elements must not be const");
    if constexpr (holds<View>() && writable) {
      const auto sink = distinct(view_of(static_cast<Real*>(detail::data_of(view)), strides_of(view)));
      if constexpr (requires { engine_->copy_out(0, sink, view); })
        engine_->copy_out(index_of<Field>(), sink, view);
      else
        engine_->copy_out(index_of<Field>(), sink);
    }
  }

  /// A copy of a field on the host.
  template <class Field> host_array<Real, rank> host(Field) const {
    std::vector<Real> values(static_cast<std::size_t>(cells()));
    engine_->copy_out(index_of<Field>(), strided<Real>{values.data(), contiguous()});
    return {extents(), std::move(values)};
  }

  /// Takes exactly `steps` steps.
  /// \throws stet::error steps < 0, a parameter that was not set, or boundaries that do not go together
  run_report run(index steps) {
    if (steps < 0) throw error("steps", std::to_string(steps) + " is negative", "give 0 or more");
    run_report report = engine_->run(checked_conditions(step_program<S>::value), step_, steps);
    step_ += report.steps;
    return report;
  }

  /// Steps until the stencil's `residual()`, checked after every `check_every`-th step of this call, is at
  /// most `tolerance` (NaN never is), or until `max_steps` steps are taken: then no check unless it is a
  /// multiple. \throws stet::error as run(); check_every < 1; max_steps < 0
  run_report run_until(double tolerance, index check_every, index max_steps) {
    static_assert(detail::has_residual<S>,
                  "stet: run_until needs a member static constexpr auto residual() in the "
                  "stencil, such as return stet::max_of(...)");
    if (check_every < 1)
      throw error("check_every", std::to_string(check_every) + " is no interval", "give 1 or more");
    if (max_steps < 0) throw error("max_steps", std::to_string(max_steps) + " is negative", "give 0 or more");
    checked_conditions(residual_program<S>::value);
    run_report report = engine_->run_until(checked_conditions(step_program<S>::value), step_,
                                           stop_rule{tolerance, check_every, max_steps});
    step_ += report.steps;
    return report;
  }

  /// The reduction `R::value()` over the present state.
  template <class R> double reduce() const {
    using reduced = reduction_program<S, R>;
    return engine_->template reduce<reduced>(checked_conditions(reduced::value), step_);
  }

  /// What the backend lets the caller choose, from the next run on; absent when it has no options.
  auto& options() requires requires(engine& e) { e.options(); }
  { return engine_->options(); }

  /// What run(steps) would do and why, as the backend tells; absent when it has no choice.
  /// \throws stet::error as run(), and when the options ask for what cannot be
  auto plan(index steps) const requires requires(const engine& e, const conditions<S, Real>& c, index n) {
    e.plan(c, n);
  }
  {
    if (steps < 0) throw error("steps", std::to_string(steps) + " is negative", "give 0 or more");
    return engine_->plan(checked_conditions(step_program<S>::value), steps);
  }

  /// Extents, first axis first.
  std::array<index, rank> extents() const {
    std::array<index, rank> e{};
    std::copy_n(extents_.begin() + (3 - rank), rank, e.begin());
    return e;
  }
  index cells() const { return extents_[0] * extents_[1] * extents_[2]; }
  /// Steps taken so far: the next one's step_index.
  index step() const { return step_; }

 private:
  static_assert(engine_for<engine, S, Real>);
  using condition = conditions<S, Real>;

  template <class Field> static constexpr int index_of() {
    static_assert(is_field<Field>, "stet: the first argument must be a stet::field");
    static_assert(field_index<S, Field> >= 0, "stet: the stencil neither reads nor assigns this field");
    return field_index<S, Field>;
  }

  template <class Integer, std::size_t N>
  static std::array<index, rank> to_array(const Integer (&values)[N]) {
    static_assert(N == rank, "stet: extents and strides need one number per axis of the stencil, x last");
    std::array<index, rank> a{};
    for (int i = 0; i < rank && i < static_cast<int>(N); ++i) {
      if constexpr (std::is_unsigned_v<Integer>)
        if (values[i] > static_cast<std::uint64_t>(std::numeric_limits<index>::max()))
          throw error("extents", std::to_string(values[i]) + " is beyond 64-bit signed integers",
                      "give less");
      a[i] = static_cast<index>(values[i]);
    }
    return a;
  }

  static std::array<index, 3> checked(const std::array<index, rank>& extents) {
    const auto e = detail::padded<rank>(extents, 1);
    for (index n : e)
      if (n < 1)
        throw error("extents", detail::to_string(e, rank) + " has an extent below 1",
                    "give at least one cell per axis");
    const index cells = detail::product(detail::product(e[0], e[1]), e[2]);
    if (cells < 0 || detail::product(cells, static_cast<index>(sizeof(Real)) * 4 * field_count<S>) < 0)
      throw error("extents", detail::to_string(e, rank) + " needs more than 2^63 bytes",
                  "use a smaller grid");
    return e;
  }

  std::array<index, 3> contiguous() const { return {extents_[1] * extents_[2], extents_[2], 1}; }

  template <class F> static auto value_at(F& f, index z, index y, index x) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<F>>)
      return f;
    else if constexpr (rank == 1)
      return f(x);
    else if constexpr (rank == 2)
      return f(y, x);
    else
      return f(z, y, x);
  }

  template <class T> strided<T> view_of(T* data, const std::array<index, rank>& strides) const {
    const auto s = detail::padded<rank>(strides, 0);
    if (data == nullptr) throw error("data", "the pointer is null", "give the address of cell 0");
    if (!detail::strides_fit(extents_, s, sizeof(Real)))
      throw error("strides", detail::to_string(s, rank) + " reach beyond 2^63 bytes",
                  "strides count elements");
    return {data, s};
  }
  strided<Real> distinct(const strided<Real>& sink) const {
    if (detail::cells_overlap(extents_, sink.strides))
      throw error("strides", "under " + detail::to_string(sink.strides, rank) + " two cells share an address",
                  "give copy_out strides that keep the cells apart");
    return sink;
  }
  /// Whether the view has the right kind of elements and number of axes.
  template <class View> static constexpr bool holds() {
    using element =
        std::remove_const_t<std::remove_pointer_t<decltype(detail::data_of(std::declval<View>()))>>;
    static_assert(std::is_same_v<element, Real>,
                  "stet: the elements of the view must have the precision of the simulation");
    static_assert(detail::rank_of_view<View>() == rank, "stet: the view must have as many axes as the grid");
    return std::is_same_v<element, Real> && detail::rank_of_view<View>() == rank;
  }
  template <class View> std::array<index, rank> strides_of(const View& view) const {
    std::array<index, rank> strides{};
    for (int a = 0; a < rank; ++a) {
      const index n = static_cast<index>(view.extent(a)), want = extents_[3 - rank + a];
      if (n != want)
        throw error("view", "its extent along axis " + std::to_string(a) + " is " + std::to_string(n),
                    "give it the grid's, " + std::to_string(want));
      strides[a] = static_cast<index>(view.stride(a));
    }
    return strides;
  }

  static std::string face_name(int side) {
    constexpr const char* names[face_count] = {"z_low", "z_high", "y_low", "y_high", "x_low", "x_high"};
    return names[side];
  }

  /// Parameters and boundaries for kernels, after checking that `program` can run with them.
  template <class Program> condition checked_conditions(const Program& program) const {
    condition c{};
    for (int p = 0; p < param_count<S>; ++p) {
      if (!is_set_[p] && reads_param(program, p))
        throw error("parameter " + std::string(param_name<S>(p)), "it has no value yet",
                    "call set() before the run");
      c.param[p] = params_[p];
    }
    for (int f = 0; f < field_count<S>; ++f) {
      const auto name = "boundary of field " + std::string(field_name<S>(f));
      const reach r = merge(reach_into(step_program<S>::value, -1, f), reach_into(program, -1, f));
      for (int a = 0; a < 3; ++a) {
        const stet::boundary &low = boundaries_[f][2 * a], &high = boundaries_[f][2 * a + 1];
        if ((low.kind == boundary_kind::periodic) != (high.kind == boundary_kind::periodic))
          throw error(name, "periodic at only one of " + face_name(2 * a) + " and " + face_name(2 * a + 1),
                      "make both faces of the axis periodic, or neither");
        if ((low.kind == boundary_kind::fixed) != (high.kind == boundary_kind::fixed) &&
            extents_[a] < std::max(r.low[a], r.high[a]))
          throw error(name,
                      "fixed at one of " + face_name(2 * a) + " and " + face_name(2 * a + 1) +
                          " on an axis of " + std::to_string(extents_[a]) +
                          " cells, shorter than the stencil's reach " +
                          std::to_string(std::max(r.low[a], r.high[a])),
                      "make both faces fixed, or neither, or lengthen the axis");
        for (int side : {2 * a, 2 * a + 1}) {
          c.boundaries.kind[f][side] = boundaries_[f][side].kind;
          c.boundaries.value[f][side] = static_cast<Real>(boundaries_[f][side].value);
        }
      }
    }
    return c;
  }

  std::array<index, 3> extents_;
  std::unique_ptr<engine> engine_;
  std::array<std::array<stet::boundary, face_count>, field_count<S>> boundaries_{};
  std::array<Real, param_count<S>> params_{};
  std::bitset<param_count<S>> is_set_{};
  index step_ = 0;
};

} // namespace stet
