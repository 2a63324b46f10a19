#include "png.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <png.h>
#include <stdexcept>

namespace app {
namespace {

constexpr std::int64_t most_pixels = 2048, least_pixels = 512; // per side

using colour = std::array<unsigned char, 3>;

/// viridis (Smith and van der Walt 2015) at nine equal distances; linear in between is within a few levels of
/// it.
colour viridis(double t) {
  static constexpr double knots[9][3] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                         {44, 114, 142}, {33, 144, 140}, {39, 173, 129},
                                         {93, 200, 99},  {170, 220, 50}, {253, 231, 37}};
  const double place = std::clamp(t, 0.0, 1.0) * 8;
  const int knot = std::min(int(place), 7);
  colour result{};
  for (int i = 0; i < 3; ++i) {
    const double value = knots[knot][i] + (place - knot) * (knots[knot + 1][i] - knots[knot][i]);
    result[std::size_t(i)] = static_cast<unsigned char>(value + 0.5);
  }
  return result;
}

constexpr colour nan_colour{220, 30, 40};

/// Means over boxes; a NaN in a box makes the mean NaN, so a single bad cell of a huge field stays visible.
plane shrink(const plane& in, std::int64_t height, std::int64_t width) {
  if (height == in.height && width == in.width) return in;
  plane out{height, width, std::vector<double>(std::size_t(height * width))};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t y0 = y * in.height / height, y1 = std::max(y0 + 1, (y + 1) * in.height / height);
      const std::int64_t x0 = x * in.width / width, x1 = std::max(x0 + 1, (x + 1) * in.width / width);
      double sum = 0;
      for (std::int64_t j = y0; j < y1; ++j)
        for (std::int64_t i = x0; i < x1; ++i) sum += in.values[std::size_t(j * in.width + i)];
      out.values[std::size_t(y * width + x)] = sum / double((y1 - y0) * (x1 - x0));
    }
  return out;
}

} // namespace

std::string png_bytes(const plane& whole) {
  const std::int64_t longest = std::max(whole.height, whole.width);
  const auto shrunk = [&](std::int64_t side) {
    return longest <= most_pixels ? side : std::max<std::int64_t>(1, side * most_pixels / longest);
  };
  const plane small = shrink(whole, shrunk(whole.height), shrunk(whole.width));
  const std::int64_t zoom = std::max<std::int64_t>(1, least_pixels / std::max(small.height, small.width));

  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double value : small.values)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }

  const std::int64_t height = small.height * zoom, width = small.width * zoom;
  std::vector<unsigned char> pixels(std::size_t(height * width * 3)); // (height, width, 3)
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const double value = small.values[std::size_t(y / zoom * small.width + x / zoom)];
      const double t = high > low ? (value - low) / (high - low) : 0.5;
      const colour pixel = std::isnan(value) ? nan_colour : viridis(t);
      std::copy(pixel.begin(), pixel.end(), pixels.begin() + 3 * (y * width + x));
    }

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(width);
  image.height = png_uint_32(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0; // the first call only tells it
  std::string bytes;
  if (png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr)) {
    bytes.resize(size);
    if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr)) return bytes;
  }
  throw std::runtime_error(std::string("libpng: ") + image.message);
}

} // namespace app
