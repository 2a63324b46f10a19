#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>

/// Ends a snippet's program with status 1, naming the place, unless the two agree to 1e-12.
#define EXPECT(a, b) expect_equal(a, b, __FILE__, __LINE__)
inline void expect_equal(double a, double b, const char* file, int line) {
  if (std::abs(a - b) <= 1e-12 || a == b || (std::isnan(a) && std::isnan(b))) return;
  std::printf("%s:%d: %.17g is not %.17g\n", file, line, a, b);
  std::exit(1);
}
