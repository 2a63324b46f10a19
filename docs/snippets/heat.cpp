// snippet: ten lines
#include <iostream>
#include <stet/stet.hpp>

inline constexpr stet::field<"u"> u;
struct heat {
  static constexpr auto step() { return stet::update(u = u + 0.2 * stet::laplacian<2>(u)); }
};
int main() {
  stet::simulation<heat> sim({65, 65});                     // all cells 0; the rim is never written
  sim.fill(u, [](auto y, auto) { return y == 0 ? 1 : 0; }); // one wall is hot
  sim.run(20'000);
  std::cout << sim.host(u)(32, 32) << '\n'; // the middle of the plate: 0.25
}
// end
