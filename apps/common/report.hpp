#pragma once
// --report: the measurements as JSON.
#include <string>

#include "app.hpp"

namespace app {

/// Keys: app, backend, strategy, precision, size, steps, boundary, init, seed, the app's own options,
/// seconds, gcells_per_s, and when --verify was given: verified, tolerance, difference (null when not
/// finite).
[[nodiscard]] std::string report_json(const about& about, const options& options, const outcome& outcome);

} // namespace app
