#include "app.hpp"

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>

#include "output_file.hpp"
#include "report.hpp"

namespace app {
namespace {

/// What --plan tells. Without a device the simulation that it is asked of cannot be made.
std::string told(const options& options, const std::function<outcome(const app::options&)>& solve) {
  try {
    return solve(options).plan;
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    for (const char* status : {"cudaErrorNoDevice", "cudaErrorInsufficientDriver"})
      if (text.find(status) != text.npos)
        throw std::runtime_error(
            "--plan: needs an NVIDIA GPU, which is not here; bin/plan does without, for a "
            "device by name");
    throw;
  }
}

int run(int argc, const char* const* argv, const about& about,
        const std::function<outcome(const options&)>& solve,
        const std::function<std::string(const options&, const outcome&)>& print) {
  const options options = parse_options(argc, argv, about);
  std::optional<output_file> picture, report;
  try {
    if (!options.picture.empty()) picture.emplace("--output", options.picture);
    if (!options.report.empty()) report.emplace("--report", options.report);
  } catch (const bad_output& error) {
    throw bad_option(error.what()); // before the run it is the option that is wrong
  }
  if (picture && report && picture->path() == report->path())
    throw bad_option("--report: '" + options.report + "' is the file of --output; they must differ");

  if (options.way.plan_only) {
    std::cout << told(options, solve);
    if (!std::cout.flush()) throw std::runtime_error("cannot write to stdout");
    return 0;
  }
  const outcome outcome = solve(options);

  bool same = true;
  for (const verdict& verdict : outcome.verdicts) {
    same = same && verdict.same;
    if (!verdict.same || print)
      std::cerr << (verdict.same && options.quiet ? "" : verdict.line + "\n");
    else if (!options.quiet)
      std::cout << verdict.line << "\n";
  }
  if (picture) picture->replace_with(png_bytes(outcome.picture.value()));
  if (report) report->replace_with(report_json(about, options, outcome));
  if (!options.quiet) (print ? std::cerr : std::cout) << summary(about, options, outcome);
  if (print) std::cout << print(options, outcome);
  if (!std::cout.flush()) throw std::runtime_error("cannot write to stdout");
  return same ? 0 : 1;
}

} // namespace

double gcells_per_s(const options& options, const outcome& outcome) {
  if (!(outcome.seconds > 0)) return 0;
  return double(options.steps) * double(outcome.updated) / outcome.seconds * 1e-9;
}

std::string summary(const about& about, const options& options, const outcome& outcome) {
  const std::string how = outcome.strategy + (outcome.notes.empty() ? "" : "; " + outcome.notes);
  char text[512];
  std::snprintf(text, sizeof text, "%s %s %s %s, %lld steps on %s (%s): %.6g s, %.4g GCells/s\n",
                about.name.c_str(), options.size().c_str(), options.precision_name().c_str(),
                options.boundary_name().c_str(), static_cast<long long>(options.steps),
                outcome.backend.c_str(), how.c_str(), outcome.seconds, gcells_per_s(options, outcome));
  return text;
}

int main(int argc, const char* const* argv, const about& about,
         const std::function<outcome(const options&)>& solve,
         const std::function<std::string(const options&, const outcome&)>& print) {
  try {
    return run(argc, argv, about, solve, print);
  } catch (const help_wanted& help) {
    std::cout << help.what();
    return 0;
  } catch (const bad_option& error) {
    std::cerr << about.name << ": " << error.what() << "\n";
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << about.name << ": not enough memory for this --size\n";
    return 1;
  } catch (const std::exception& error) { // stet::error among them
    std::cerr << about.name << ": " << error.what() << "\n";
    return 1;
  }
}

} // namespace app
