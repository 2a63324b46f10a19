#pragma once
// What of a field --output shows.
#include <vector>

#include "options.hpp"
#include "plain.hpp"
#include "png.hpp"

namespace app {

/// The plane z = nz / 2 of a field.
template <class Real>
[[nodiscard]] plane middle_plane(const std::vector<Real>& cells, const options& options) {
  const auto [nz, ny, nx] = padded(options.extents);
  const auto first = cells.begin() + nz / 2 * ny * nx;
  return {ny, nx, std::vector<double>(first, first + ny * nx)};
}

} // namespace app
