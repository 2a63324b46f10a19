#pragma once
// --report: the measurements as JSON.
#include <string>

#include "app.hpp"

namespace app {

/// Keys: app, backend, strategy (that ran), notes (when there are any), precision, size, steps, boundary,
/// init, seed, asked_strategy and asked_cache (where the backend has a choice), the app's own options,
/// seconds, gcells_per_s, and when --verify was given: verified, tolerance, difference (null when not
/// finite).
[[nodiscard]] std::string report_json(const about& about, const options& options, const outcome& outcome);

} // namespace app
