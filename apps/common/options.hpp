#pragma once
// What every app can be asked for on its command line.
//
//   const auto options = app::parse_options(argc, argv, about);   // throws app::bad_option, help_wanted
//
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace app {

using index = std::int64_t;

enum class precision { single, twice };
enum class start { smooth, random, nan };
enum class face_rule { fixed, dirichlet, neumann, periodic };

/// What lies beyond the grid, the same on every face and for every field of an app.
struct boundary {
  face_rule rule = face_rule::fixed;
  double outside = 0; ///< the value beyond the grid; only for `dirichlet`
};

/// A number an app adds to the common options, e.g. heat's `--alpha`. Allowed: low < value <= high.
struct extra_number {
  std::string name, meaning;
  double low, high, standard;
};

/// A choice from a list that an app adds to the common options, e.g. jacobi's `--stencil`.
struct extra_choice {
  std::string name, meaning;
  std::vector<std::string> allowed;
  std::string standard;
};

/// What a backend lets the user choose by --strategy, --cache, --l2-window, --l2-hit-ratio and --plan.
/// Without strategies it has none of these options.
struct backend_words {
  std::vector<std::string> strategies{}, caches{}; ///< allowed words, the default first
};

/// How a backend is to run, and whether it is only to tell.
struct way {
  std::string strategy, cache;        ///< empty: the backend has no choice
  index l2_window = 0;                ///< bytes; 0 off, -1 auto
  std::optional<double> l2_hit_ratio; ///< 0 to 1; none: the backend's choice
  bool plan_only = false;
};

struct options;

/// What an app says of itself before any option is read.
struct about {
  std::string name, purpose;
  std::vector<std::string>
      sizes;   ///< a default of --size for each number of extents it accepts, the usual first
  index steps; ///< default of --steps
  int fields;  ///< fields it holds; for the check against the machine's memory
  std::vector<extra_number> numbers{};
  std::vector<extra_choice> choices{};
  backend_words backend{};
  /// The number of extents that the choices demand, e.g. jacobi's stencil; absent: any of `sizes`.
  std::function<int(const options&)> rank{};
};

struct options {
  std::vector<index> extents; ///< slowest first: (z, y, x) or (y, x)
  index steps = 0;
  app::precision precision = app::precision::twice;
  app::boundary boundary{};
  std::uint64_t seed = 0;
  app::start start = app::start::smooth;
  bool verify = false, quiet = false;
  double tolerance = 0;                                ///< of --verify: |a - b| <= tolerance * max(1, |b|)
  std::string picture;                                 ///< path of --output, or empty
  std::string report;                                  ///< path of --report, or empty
  std::vector<std::pair<std::string, double>> numbers; ///< values of the app's extra_numbers
  std::vector<std::pair<std::string, std::string>> choices; ///< values of the app's extra_choices
  app::way way;

  [[nodiscard]] int rank() const { return int(extents.size()); }
  [[nodiscard]] std::string size() const;          ///< "257x263"
  [[nodiscard]] std::string boundary_name() const; ///< "periodic", "dirichlet:0.5"
  [[nodiscard]] std::string precision_name() const {
    return precision == precision::twice ? "double" : "float";
  }
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] const std::string& choice(const std::string& name) const;
};

/// One line for stderr, naming the option and what is allowed; exit status 2.
struct bad_option : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `--help` was given: `what()` is the text for stdout.
struct help_wanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws bad_option or help_wanted.
[[nodiscard]] options parse_options(int argc, const char* const* argv, const about& about);

} // namespace app
