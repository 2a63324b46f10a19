#pragma once
// From a stencil's description to a subject:
//
//   struct heat_case {
//     using stencil = heat;
//     static constexpr int rank = 2;
//     static constexpr auto fields = std::make_tuple(u);   // numbered as in the recipe
//     static double start(int field, double noise) { return noise; }
//     template <class T> static oracle::recipe<T> recipe() { ... }
//     // Optional: template <class Simulation> static void set_params(Simulation&);
//     //           template <class T> static T measured(const oracle::sight<T>&), the types sum, max, min,
//     norm,
//     //           and static constexpr reduction residual
//     // Optional: static constexpr bool reads_step = true;
//   };
//   const strategies::listed<heat_case> heat_listed("heat");
#include "../../support/simulate.hpp"
#include "machine.hpp"
#include <algorithm>

namespace strategies {

template <class Case, class T> class simulated final : public machine<T> {
 public:
  explicit simulated(const shape& n)
      : strides_{n[1] * n[2], n[2], 1}, sim_(support::make_simulation<rank, stencil, T>(n)) {
    if constexpr (requires { Case::set_params(sim_); }) Case::set_params(sim_);
  }

  void choose([[maybe_unused]] const way& how) override {
#if defined(STET_WITH_PERSISTENT_CUDA)
    sim_.options().strategy = value_called<stet::cuda::strategy>(stet::cuda::strategy_names, how.strategy);
    sim_.options().cache = value_called<stet::cuda::cache>(stet::cuda::cache_names, how.cache);
#endif
  }
  void use_stream([[maybe_unused]] void* stream) override {
#if defined(STET_WITH_PERSISTENT_CUDA)
    sim_.options().stream = static_cast<cudaStream_t>(stream);
#endif
  }
  void use_window([[maybe_unused]] idx bytes) override {
#if defined(STET_WITH_PERSISTENT_CUDA)
    sim_.options().l2_window = bytes;
#endif
  }
  void set_sides(int field, const sides& wanted) override {
    with(field, [&](auto f) { support::set_sides<rank>(sim_, f, wanted); });
  }
  void copy_in(int field, const T* cells) override {
    with(field, [&](auto f) {
      if constexpr (rank == 1) sim_.copy_in(f, cells, {strides_[2]});
      if constexpr (rank == 2) sim_.copy_in(f, cells, {strides_[1], strides_[2]});
      if constexpr (rank == 3) sim_.copy_in(f, cells, {strides_[0], strides_[1], strides_[2]});
    });
  }
  void copy_out(int field, T* cells) const override {
    with(field, [&](auto f) {
      if constexpr (rank == 1) sim_.copy_out(f, cells, {strides_[2]});
      if constexpr (rank == 2) sim_.copy_out(f, cells, {strides_[1], strides_[2]});
      if constexpr (rank == 3) sim_.copy_out(f, cells, {strides_[0], strides_[1], strides_[2]});
    });
  }
  stet::run_report run(idx steps) override { return sim_.run(steps); }
  stet::run_report run_until(double tolerance, idx every, idx max_steps) override {
    if constexpr (measures)
      return sim_.run_until(tolerance, every, max_steps);
    else
      throw std::logic_error("this stencil has no residual");
  }
  double reduce(reduction kind) const override {
    if constexpr (measures) {
      if (kind == reduction::sum) return sim_.template reduce<typename Case::sum>();
      if (kind == reduction::max) return sim_.template reduce<typename Case::max>();
      if (kind == reduction::min) return sim_.template reduce<typename Case::min>();
      return sim_.template reduce<typename Case::norm>();
    } else
      throw std::logic_error("this stencil has no reductions");
  }
  idx step() const override { return sim_.step(); }

 private:
  using stencil = typename Case::stencil;
  static constexpr int rank = Case::rank;
  static constexpr bool measures = requires { Case::residual; };

  template <class F> static void with(int field, F&& f) {
    std::apply(
        [&](auto... one) {
          int i = 0;
          ((i++ == field ? f(one) : void()), ...);
        },
        Case::fields);
  }
  template <class Enum, class Names> static Enum value_called(const Names& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw std::logic_error("nothing is called " + name);
    return Enum(at - names.begin());
  }

  std::array<idx, 3> strides_;
  stet::simulation<stencil, T, stet::default_backend> sim_;
};

template <class Case> struct listed {
  explicit listed(const char* name) { (add<float>(name), add<double>(name)); }

 private:
  template <class T> static void add(const char* name) {
    subject<T> s{name, Case::template recipe<T>(), &Case::start};
    if constexpr (requires { Case::reads_step; }) s.reads_step = Case::reads_step;
    if constexpr (requires { Case::residual; }) {
      s.measured = [](const oracle::sight<T>& at) { return Case::template measured<T>(at); };
      s.residual = Case::residual;
    }
    s.make = [](const shape& n) -> std::unique_ptr<machine<T>> {
      return std::make_unique<simulated<Case, T>>(n);
    };
    subjects<T>().push_back(std::move(s));
  }
};

} // namespace strategies
