#pragma once
// --verify: the whole grid against the plain loops, rim included.
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "options.hpp"
#include "plain.hpp"

namespace app {

struct verdict {
  bool same = false;
  double difference = 0; ///< the largest |a - b| / max(1, |b|); infinite when either is NaN
  std::string line;      ///< one line that names the worst cell and its two values
};

/// `got` and `want` hold all cells, x contiguous. Any NaN, on either side, is a difference.
template <class Real>
[[nodiscard]] verdict compare(const std::string& field, const options& options, const std::vector<Real>& got,
                              const std::vector<Real>& want) {
  if (got.size() != want.size())
    return {false, std::numeric_limits<double>::infinity(), field + ": sizes differ"};
  std::size_t worst = 0;
  double difference = -1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = want[i];
    double d = std::abs(a - b) / std::max(1.0, std::abs(b));
    if (a == b) d = 0; // equal infinities
    if (std::isnan(d)) d = std::numeric_limits<double>::infinity();
    if (d > difference) {
      difference = d;
      worst = i;
    }
  }
  std::array<index, 3> n = padded(options.extents);
  const index at = index(worst);
  const std::array<index, 3> cell{at / n[2] / n[1], at / n[2] % n[1], at % n[2]};
  verdict result{difference <= options.tolerance, difference, {}};
  std::ostringstream line;
  line << (result.same ? "verified " : "DIFFERS ") << field << ": worst cell (";
  for (std::size_t axis = 3 - std::size_t(options.rank()); axis < 3; ++axis)
    line << cell[axis] << (axis < 2 ? ", " : ")");
  line.precision(std::numeric_limits<Real>::max_digits10);
  line << " is " << got[worst] << ", plain loops say " << want[worst];
  line.precision(3);
  line << " (difference " << difference << ", tolerance " << options.tolerance << ")";
  result.line = line.str();
  return result;
}

} // namespace app
