#pragma once
// suite::instance for one stencil type, on the backend this file is compiled for. Only stencils/*.cpp include
// it.
#include <array>
#include <stet/analysis.hpp>
#include <stet/stet.hpp>
#include <utility>
#if defined(STET_WITH_PERSISTENT_CUDA)
#include <stet/cuda/plan/plan_text.hpp>
#endif

#include "stencils.hpp"
#include "suite.hpp"

namespace suite {

template <class Stencil, class Real, class Backend> class typed_instance final : public instance {
 public:
  static constexpr int rank = Stencil::rank;
  using extents_type = std::array<index, rank>;

  explicit typed_instance(const extents_type& extents) : extents_(extents), sim_(extents) {}

  void set_boundary(boundary faces) override {
    faces_ = faces;
    switch (faces.rule) {
    case face_rule::fixed:
      return sim_.boundary(u, stet::fixed);
    case face_rule::dirichlet:
      return sim_.boundary(u, stet::dirichlet(faces.outside));
    case face_rule::neumann:
      return sim_.boundary(u, stet::neumann);
    case face_rule::periodic:
      return sim_.boundary(u, stet::periodic);
    }
  }

  void fill(const std::function<double(index, index, index)>& value) override {
    if constexpr (rank == 2)
      sim_.fill(u, [&](index y, index x) { return value(0, y, x); });
    else
      sim_.fill(u, [&](index z, index y, index x) { return value(z, y, x); });
  }

#if defined(STET_WITH_PERSISTENT_CUDA)
  void choose(const way& how) override {
    static_assert(stet::cuda::l2_off == 0 && stet::cuda::l2_auto == -1, "as way::l2_window says");
    auto& options = sim_.options();
    options.strategy =
        how.strategy.empty() ? stet::cuda::strategy{} : stet::cuda::strategy_named(how.strategy);
    options.cache = how.cache.empty() ? stet::cuda::cache{} : stet::cuda::cache_named(how.cache);
    options.l2_window = how.l2_window;
    options.l2_hit_ratio = how.l2_hit_ratio;
  }
  std::string plan(index steps) const override { return to_text(sim_.plan(steps)); }
#else
  void choose(const way&) override {}
  std::string plan(index) const override { return {}; }
#endif

  run_report run(index steps) override {
    const auto report = sim_.run(steps);
    return {index(report.steps), report.seconds, report.strategy, report.notes};
  }

  std::vector<double> copy_out() const override {
    const auto host = sim_.host(u);
    std::vector<double> cells;
    cells.reserve(std::size_t(size()));
    if constexpr (rank == 2) {
      for (index y = 0; y < extents_[0]; ++y)
        for (index x = 0; x < extents_[1]; ++x) cells.push_back(double(host(y, x)));
    } else {
      for (index z = 0; z < extents_[0]; ++z)
        for (index y = 0; y < extents_[1]; ++y)
          for (index x = 0; x < extents_[2]; ++x) cells.push_back(double(host(z, y, x)));
    }
    return cells;
  }

  index updated_cells() const override {
    if (faces_.rule != face_rule::fixed) return size();
    constexpr stet::reach reach = stet::analysis<Stencil>::reach(); // always (z, y, x)
    index cells = 1;
    for (int axis = 0; axis < rank; ++axis) {
      const int rim = reach.low[axis + 3 - rank] + reach.high[axis + 3 - rank];
      cells *= std::max<index>(0, extents_[std::size_t(axis)] - rim);
    }
    return cells;
  }

 private:
  index size() const {
    index cells = 1;
    for (index extent : extents_) cells *= extent;
    return cells;
  }

  extents_type extents_;
  boundary faces_;
  mutable stet::simulation<Stencil, Real, Backend> sim_;
};

template <class Stencil, class Backend>
std::unique_ptr<instance> make_typed(precision precision, const std::vector<index>& extents) {
  std::array<index, Stencil::rank> n{};
  for (std::size_t axis = 0; axis < n.size(); ++axis) n[axis] = extents[axis];
  if (precision == precision::single) return std::make_unique<typed_instance<Stencil, float, Backend>>(n);
  return std::make_unique<typed_instance<Stencil, double, Backend>>(n);
}

/// The entry of a stencil on a backend: `static const suite::register_entry
/// here(suite::entry_of<star_2d5pt>());`
template <class Stencil, class Backend = stet::default_backend> entry entry_of() {
  entry e;
  e.backend = std::string(Backend::name);
  e.name = std::string(Stencil::name);
  e.rank = Stencil::rank;
  constexpr auto taps = Stencil::taps();
  e.taps.assign(taps.begin(), taps.end());
  using analysis = stet::analysis<Stencil>;
  e.flops = analysis::flops();
  e.bytes[int(precision::single)] = analysis::template bytes<float>();
  e.bytes[int(precision::twice)] = analysis::template bytes<double>();
  e.make = make_typed<Stencil, Backend>;
#if defined(STET_WITH_PERSISTENT_CUDA)
  e.strategies.assign(stet::cuda::strategy_names.begin(), stet::cuda::strategy_names.end());
  e.caches.assign(stet::cuda::cache_names.begin(), stet::cuda::cache_names.end());
#endif
  return e;
}

} // namespace suite
