#pragma once
// Simulations without their types: the checks are compiled once per precision, the stencils one by one.
#include "../../support/compare.hpp"
#include "../../support/stepwise.hpp"
#include <memory>
#include <stdexcept>
#include <stet/report.hpp>
#include <string>

namespace strategies {

using oracle::grid;
using oracle::idx;
using oracle::shape;
using oracle::sides;

/// How runs are asked for, by the names of stet::cuda::strategy and stet::cuda::cache. No name: the backend
/// has no choice.
struct way {
  std::string strategy, cache = "both";
  std::string name() const { return cache == "both" ? strategy : strategy + " in " + cache; }
};

enum class reduction { sum, max, min, norm };

/// A simulation of one stencil.
template <class T> class machine {
 public:
  virtual ~machine() = default;
  virtual void choose(const way& how) = 0;
  virtual void use_stream(void* stream) = 0; ///< a cudaStream_t
  virtual void use_window(idx bytes) = 0;    ///< of L2, or stet::cuda::l2_off, l2_auto
  virtual void set_sides(int field, const sides& wanted) = 0;
  virtual void copy_in(int field, const T* cells) = 0;  ///< contiguous, on the host or the device
  virtual void copy_out(int field, T* cells) const = 0; ///< likewise
  virtual stet::run_report run(idx steps) = 0;
  virtual stet::run_report run_until(double tolerance, idx every, idx max_steps) = 0;
  virtual double reduce(reduction kind) const = 0;
  virtual idx step() const = 0;
};

/// A stencil under test.
template <class T> struct subject {
  std::string name;
  oracle::recipe<T> recipe;
  double (*start)(int field, double noise); ///< a cell's first value, from noise in [-1, 1)
  bool reads_step = false;
  oracle::right_side<T> measured = {}; ///< what residual and reductions are made of; none: there are none
  reduction residual = reduction::max;
  std::unique_ptr<machine<T>> (*make)(const shape&) = nullptr;
};

/// Those of the translation units that are linked in.
template <class T> std::vector<subject<T>>& subjects() {
  static std::vector<subject<T>> all;
  return all;
}
template <class T> const subject<T>& find_subject(const std::string& name) {
  for (const subject<T>& s : subjects<T>())
    if (s.name == name) return s;
  throw std::logic_error("no stencil under test is called " + name);
}

/// One grid, with boundaries per field and first values.
template <class T> struct setting {
  std::string name;
  std::vector<sides> boundaries;
  std::vector<grid<T>> start;
};

/// First values of all fields.
template <class T> std::vector<grid<T>> start_of(const subject<T>& s, const shape& n) {
  std::vector<grid<T>> fields;
  for (int f = 0; f < s.recipe.field_count; ++f)
    fields.push_back(oracle::make_grid<T>(
        n, [&](idx z, idx y, idx x) { return s.start(f, oracle::noise(z, y, x, std::uint64_t(f) + 1)); }));
  return fields;
}

/// A simulation at its start.
template <class T>
std::unique_ptr<machine<T>> prepared(const subject<T>& s, const setting<T>& given, const way& how) {
  auto m = s.make(given.start[0].n);
  for (int f = 0; f < s.recipe.field_count; ++f) {
    m->set_sides(f, given.boundaries[std::size_t(f)]);
    m->copy_in(f, given.start[std::size_t(f)].cells.data());
  }
  m->choose(how);
  return m;
}

template <class T> std::vector<grid<T>> fields_of(const subject<T>& s, const machine<T>& m, const shape& n) {
  std::vector<grid<T>> fields(std::size_t(s.recipe.field_count), grid<T>(n));
  for (int f = 0; f < s.recipe.field_count; ++f) m.copy_out(f, fields[std::size_t(f)].cells.data());
  return fields;
}

template <class T>
::testing::AssertionResult same(const std::vector<grid<T>>& got, const std::vector<grid<T>>& want) {
  for (std::size_t f = 0; f < want.size(); ++f)
    if (const auto result = support::same(got[f], want[f]); !result)
      return ::testing::AssertionFailure() << "field " << f << ": " << result.message();
  return ::testing::AssertionSuccess();
}
template <class T>
::testing::AssertionResult close(const std::vector<grid<T>>& got, const std::vector<grid<T>>& want) {
  for (std::size_t f = 0; f < want.size(); ++f)
    if (const auto result = support::close(got[f], want[f]); !result)
      return ::testing::AssertionFailure() << "field " << f << ": " << result.message();
  return ::testing::AssertionSuccess();
}

/// Whether the backend under test has strategies to choose from, and no device to run them on.
#if defined(STET_WITH_PERSISTENT_CUDA)
inline constexpr bool has_strategies = true;
#else
inline constexpr bool has_strategies = false;
#endif
bool lacks_device();

} // namespace strategies
