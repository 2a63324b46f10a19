#pragma once
#include <limits>
#include <stet/boundary.hpp>
#include <string>

namespace stet {

/// What a run did.
struct run_report {
  index steps = 0;        ///< steps really taken by this call
  bool converged = false; ///< run_until only: the last check passed
  /// run_until only: the residual at the last check; NaN when there was none
  double residual = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;   ///< time of the steps on the device, without transfers of fields
  std::string strategy; ///< how the backend ran it
  std::string notes;    ///< what else it used, such as an L2 window and how large; empty: nothing
};

} // namespace stet
