#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace app {

std::string report_json(const about& about, const options& options, const outcome& outcome) {
  constexpr const char* starts[] = {"smooth", "random", "nan"};
  nlohmann::ordered_json json;
  json["app"] = about.name;
  json["backend"] = outcome.backend;
  json["strategy"] = outcome.strategy;
  if (!outcome.notes.empty()) json["notes"] = outcome.notes;
  json["precision"] = options.precision_name();
  json["size"] = options.extents;
  json["steps"] = options.steps;
  json["boundary"] = options.boundary_name();
  json["init"] = starts[int(options.start)];
  json["seed"] = options.seed;
  if (!options.way.strategy.empty()) {
    json["asked_strategy"] = options.way.strategy;
    json["asked_cache"] = options.way.cache;
  }
  for (const auto& [name, value] : options.choices) json[name] = value;
  for (const auto& [name, value] : options.numbers) json[name] = value;
  json["seconds"] = outcome.seconds;
  json["gcells_per_s"] = gcells_per_s(options, outcome);
  if (!outcome.verdicts.empty()) {
    double difference = 0;
    bool same = true;
    for (const verdict& verdict : outcome.verdicts) {
      difference = std::max(difference, verdict.difference);
      same = same && verdict.same;
    }
    json["verified"] = same;
    json["tolerance"] = options.tolerance;
    json["difference"] = difference; // JSON has no infinity: null then
  }
  return json.dump(2) + "\n";
}

} // namespace app
