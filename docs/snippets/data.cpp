// The code blocks of docs/language.md on data and on errors.
#include <Kokkos_Core.hpp>
#include <sstream>
#include <stet/stet.hpp>
#include <string>

#include "expect.hpp"

inline constexpr stet::field<"u"> u;
inline constexpr stet::param<"alpha"> alpha;
struct heat {
  static constexpr auto step() { return stet::update(u = u + alpha * stet::laplacian<2>(u)); }
  static constexpr auto residual() { return stet::max_of(u); }
};

void pointers() {
  // snippet: strides
  stet::simulation<heat> sim({4, 6});
  std::vector<double> image(10 * 16, 7.0); // a window of 4 x 6 cells in an array of 10 x 16, at (2, 3)
  double* window = image.data() + 2 * 16 + 3;
  sim.copy_in(u, window, {16, 1});  // the address of cell (0, 0), strides in elements, first axis first
  sim.copy_out(u, window, {16, 1}); // writes the 24 cells and no other byte
  std::vector<double> turned(24);
  sim.copy_out(u, turned.data(), {1, 4}); // any strides under which no two cells share an address
  // end
  for (double x : image) EXPECT(x, 7);
  for (double x : turned) EXPECT(x, 7);
}

void views() {
  // snippet: views
  stet::simulation<heat> sim({4, 6});
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> view("view", 4, 6);
  view(3, 5) = 2;
  sim.copy_in(u, view); // Kokkos::View, std::mdspan: extents and strides are the view's own
  sim.copy_out(u, view);
  // end
  EXPECT(sim.host(u)(3, 5), 2);
  EXPECT(view(3, 5), 2);
  EXPECT(view(0, 0), 0);
}

// Every run-time error, in the order of the calls in errors() below.
constexpr const char* sentences = R"(
// snippet: errors
stet: extents: 0x6 has an extent below 1; give at least one cell per axis
stet: extents: 1099511627776x1099511627776 needs more than 2^63 bytes; use a smaller grid
stet: extents: 18446744073709551615 is beyond 64-bit signed integers; give less
stet: face z_low: a grid of rank 2 has no such axis; use the faces of y and x
stet: data: the pointer is null; give the address of cell 0
stet: strides: 4611686018427387904x1 reach beyond 2^63 bytes; strides count elements
stet: strides: under 1x1 two cells share an address; give copy_out strides that keep the cells apart
stet: view: its extent along axis 0 is 6; give it the grid's, 4
stet: parameter alpha: it has no value yet; call set() before the run
stet: steps: -1 is negative; give 0 or more
stet: check_every: 0 is no interval; give 1 or more
stet: max_steps: -9 is negative; give 0 or more
stet: boundary of field u: periodic at only one of x_low and x_high; make both faces of the axis periodic, or neither
stet: boundary of field u: fixed at one of x_low and x_high on an axis of 1 cells, shorter than the stencil's reach 2; make both faces fixed, or neither, or lengthen the axis
// end
)";

struct far {
  static constexpr auto step() { return stet::update(u = u(0, 2)); }
};

void errors() {
  std::istringstream expected(sentences);
  const auto throws = [&](auto call) {
    std::string want, got = "nothing";
    while (want.rfind("stet: ", 0) != 0 && std::getline(expected, want)) continue;
    try {
      call();
    } catch (const stet::error& error) { got = error.what(); }
    if (got == want) return;
    std::printf("got  %s\nwant %s\n", got.c_str(), want.c_str());
    std::exit(1);
  };
  using sheet = stet::simulation<heat>;
  using extents = std::array<stet::index, 2>;
  sheet sim({4, 6});
  stet::simulation<far> thin({4, 1});
  double cells[24] = {}, *null = nullptr;
  Kokkos::View<double**, Kokkos::HostSpace> turned("turned", 6, 4);
  constexpr stet::index huge = stet::index(1) << 40, far_apart[] = {huge << 22, 1}, same[] = {1, 1};
  throws([&] { sheet(extents{0, 6}); });
  throws([&] { sheet(extents{huge, huge}); });
  constexpr std::size_t beyond[] = {std::size_t(-1), 1};
  throws([&] { sheet{beyond}; });
  throws([&] { sim.boundary(u, stet::face::z_low, stet::neumann); });
  throws([&] { sim.copy_in(u, null, same); });
  throws([&] { sim.copy_in(u, cells, far_apart); });
  throws([&] { sim.copy_out(u, cells, same); });
  throws([&] { sim.copy_in(u, turned); });
  throws([&] { sim.run(1); });
  sim.set(alpha, 0.1);
  throws([&] { sim.run(-1); });
  throws([&] { sim.run_until(0, 0, 9); });
  throws([&] { sim.run_until(0, 1, -9); });
  sim.boundary(u, stet::face::x_low, stet::periodic);
  throws([&] { sim.run(1); });
  thin.boundary(u, stet::face::x_high, stet::neumann);
  throws([&] { thin.run(1); });
}

int main() {
  pointers();
  views();
  errors();
}
