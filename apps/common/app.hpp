#pragma once
// What every app's main() does around its solver: options, output files, exit status.
//
//   int main(int argc, char** argv) {
//     return app::main(argc, argv, {.name = "heat", ...}, [](const app::options& o) { return solve(o); });
//   }
//
// Exit status: 0 done, 1 the run failed or --verify found a difference, 2 a bad option or an output that
// cannot be written (said before anything is computed). Each failure is one line on stderr.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "png.hpp"
#include "verify.hpp"

namespace app {

/// What a solver hands back.
struct outcome {
  std::string backend, strategy;   ///< that really ran
  std::string notes;               ///< what else the backend used, such as an L2 window
  double seconds = 0;              ///< device time of the run
  index updated = 0;               ///< cells updated per step, the rim not counted
  std::optional<plane> picture{};  ///< when --output was given
  std::vector<verdict> verdicts{}; ///< one per field, when --verify was given
  std::string plan{};              ///< lines, when --plan was given: nothing has run
};

[[nodiscard]] double gcells_per_s(const options& options, const outcome& outcome);

/// How the measurement is told on stdout unless --quiet; an app may have its own.
[[nodiscard]] std::string summary(const about& about, const options& options, const outcome& outcome);

/// `print` gives the lines for stdout, or an empty string; when it is given, --quiet does not silence it and
/// all other messages go to stderr.
int main(int argc, const char* const* argv, const about& about,
         const std::function<outcome(const options&)>& solve,
         const std::function<std::string(const options&, const outcome&)>& print = {});

} // namespace app
