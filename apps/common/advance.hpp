#pragma once
// The run behind a progress bar.
#include <stdexcept>
#include <string>

#include "app.hpp"
#include "progress.hpp"

namespace app {

/// Runs --steps steps by calls of run(steps), which returns the library's report, behind a progress bar.
template <class Run>
[[nodiscard]] outcome advance(const std::string& what, const options& options, index updated, Run run) {
  outcome result;
  result.updated = updated;
  progress bar(what, options.steps, updated, options.quiet);
  index done = 0;
  do {
    const index chunk = bar.next_chunk();
    const auto report = run(chunk);
    if (index(report.steps) != chunk)
      throw std::runtime_error("the library ran another number of steps than asked");
    result.seconds += report.seconds;
    result.strategy = report.strategy;
    result.notes = report.notes;
    done += chunk;
    bar.advance(chunk);
  } while (done < options.steps);
  return result;
}

} // namespace app
