#pragma once
// The suite by name, without templates: any stencil, precision and size, chosen at run time, on any backend
// that is linked in. Nothing here needs the library's headers.
//
//   auto heat = suite::make("2d5pt", suite::precision::single, {1024, 1024});   // on the one backend linked
//   in heat->fill([](auto z, auto y, auto x) { return ...; }); const suite::run_report report =
//   heat->run(1000); const std::vector<double> cells = heat->copy_out();
//
// Each backend's object library (suite_kokkos_ref, ...) adds its 13 entries and its copy bandwidth before
// main().
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tables.hpp"

namespace suite {

using index = std::int64_t;

enum class precision { single, twice };
enum class face_rule { fixed, dirichlet, neumann, periodic };

/// On every face.
struct boundary {
  face_rule rule = face_rule::fixed;
  double outside = 0; ///< the value beyond the grid; only for `dirichlet`
};

struct run_report {
  index steps = 0;
  double seconds = 0;   ///< device time of the run
  std::string strategy; ///< that really ran
  std::string notes;    ///< what else the backend used; empty: nothing
};

/// How a backend with a choice is to run, by the names in `entry`.
struct way {
  std::string strategy{}, cache{};      ///< empty: as the backend likes
  index l2_window = 0;                  ///< bytes; 0 off, -1 auto
  std::optional<double> l2_hit_ratio{}; ///< 0 to 1; none: the backend's choice
};

/// A simulation of one stencil in one precision. Errors are stet::error, a std::runtime_error.
class instance {
 public:
  virtual ~instance() = default;
  instance(const instance&) = delete;
  instance& operator=(const instance&) = delete;

  virtual void set_boundary(boundary faces) = 0; ///< applies from the next run on; fixed until then
  virtual void fill(const std::function<double(index z, index y, index x)>& value) = 0; ///< z = 0 in 2D
  virtual void choose(const way& how) = 0; ///< from the next run on; a backend without a choice ignores it
  /// What run(steps) would do and why, in lines; empty on a backend without a choice. Throws when it cannot
  /// do what was chosen.
  [[nodiscard]] virtual std::string plan(index steps) const = 0;
  virtual run_report run(index steps) = 0; ///< exactly so many; returns when they are done
  [[nodiscard]] virtual std::vector<double> copy_out() const = 0; ///< all cells, x contiguous
  [[nodiscard]] virtual index updated_cells() const = 0;          ///< per step: the rim is not counted

 protected:
  instance() = default;
};

/// What is known of a stencil on a backend before one is made. Costs come from the library's analysis.
struct entry {
  std::string backend, name;
  int rank = 0;
  std::vector<tap> taps; ///< normalised; for plain loops
  int flops = 0;         ///< per cell and step
  int bytes[2]{};        ///< per cell and step when the field streams from memory; [precision]
  std::unique_ptr<instance> (*make)(precision, const std::vector<index>& extents) = nullptr;
  /// Names of the strategies and of where fields stay on the chip, the automatic choice first; empty: the
  /// backend has no choice.
  std::vector<std::string> strategies{}, caches{};
};

/// The 13 names in the order of the literature's tables.
[[nodiscard]] const std::vector<std::string>& names();

/// The backends linked in, in alphabetical order.
[[nodiscard]] std::vector<std::string> backends();

/// Throws std::invalid_argument, naming what there is, for a name that is not there. `backend` may be left
/// empty when exactly one is linked in.
[[nodiscard]] const entry& find(const std::string& name, const std::string& backend = {});
[[nodiscard]] std::unique_ptr<instance> make(const std::string& name, precision precision,
                                             const std::vector<index>& extents,
                                             const std::string& backend = {});

/// Bytes per second (read + written) of a big copy in the backend's memory. Measures on every call.
[[nodiscard]] double copy_bandwidth(const std::string& backend);

/// A static object of one of these types adds to the suite before main().
struct register_entry {
  explicit register_entry(entry entry);
};
struct register_copy {
  register_copy(std::string backend, double (*measure)());
};

} // namespace suite
