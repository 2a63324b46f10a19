#pragma once
// A field as a picture.
#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// A plane of values, x contiguous.
struct plane {
  std::int64_t height = 0, width = 0;
  std::vector<double> values; // (height, width)
};

/// The bytes of a PNG file: colours from the perceptual map "viridis", from the smallest to the largest
/// finite value; NaN is red. Planes over 2048 pixels a side are averaged down to that, tiny ones are
/// enlarged. Throws std::runtime_error when libpng fails.
[[nodiscard]] std::string png_bytes(const plane& plane);

} // namespace app
