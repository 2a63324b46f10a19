// Kokkos::View in and out: LayoutLeft, LayoutRight, subviews with padding; only where Kokkos is there.
#include "../support/simulate.hpp"
#include <Kokkos_Core.hpp>

namespace {

using oracle::idx;
using oracle::shape;

inline constexpr stet::field<"u"> u;
template <int Rank> struct still {
  static constexpr int rank = Rank;
  static constexpr auto step() { return stet::update(u = u); }
};

/// Where a view lies that code on the host can read and write.
using memory = Kokkos::HostSpace;

template <class T, class Layout> void rank_2() {
  const idx ny = 7, nx = 11;
  stet::simulation<still<2>, T, stet::default_backend> sim({ny, nx}); // Kokkos runs from here on
  const auto cells = oracle::noise_grid<T>({1, ny, nx}, 1);
  // Whole views, then windows of larger views.
  for (const idx pad : {idx(0), idx(3)}) {
    Kokkos::View<T**, Layout, memory> big("big", std::size_t(ny + 2 * pad), std::size_t(nx + 2 * pad));
    Kokkos::deep_copy(big, T(-5));
    const auto window = Kokkos::subview(big, std::make_pair(pad, pad + ny), std::make_pair(pad, pad + nx));
    for (idx y = 0; y < ny; ++y)
      for (idx x = 0; x < nx; ++x) window(y, x) = cells(0, y, x);
    sim.fill(u, 0);
    sim.copy_in(u, window);
    sim.run(1);
    EXPECT_TRUE(support::identical(support::take<2, T>(sim, u, {1, ny, nx}), cells));

    Kokkos::deep_copy(big, T(-5));
    sim.copy_out(u, window);
    for (idx y = 0; y < ny + 2 * pad; ++y)
      for (idx x = 0; x < nx + 2 * pad; ++x) {
        const bool inside = y >= pad && y < pad + ny && x >= pad && x < pad + nx;
        EXPECT_EQ(big(y, x), inside ? cells(0, y - pad, x - pad) : T(-5)) << y << ", " << x;
      }
  }
}
TEST(views, of_rank_2_left_and_right) {
  rank_2<float, Kokkos::LayoutRight>();
  rank_2<float, Kokkos::LayoutLeft>();
  rank_2<double, Kokkos::LayoutRight>();
  rank_2<double, Kokkos::LayoutLeft>();
}

template <class Layout> void rank_3() {
  const idx nz = 3, ny = 4, nx = 5;
  stet::simulation<still<3>, double, stet::default_backend> sim({nz, ny, nx});
  const auto cells = oracle::noise_grid<double>({nz, ny, nx}, 2);
  Kokkos::View<double***, Layout, memory> in("in", nz, ny, nx), out("out", nz, ny, nx);
  oracle::for_each_cell({nz, ny, nx}, [&](idx z, idx y, idx x) { in(z, y, x) = cells(z, y, x); });
  const Kokkos::View<const double***, Layout, memory> read_only = in;
  sim.copy_in(u, read_only);
  sim.copy_out(u, out);
  oracle::for_each_cell({nz, ny, nx}, [&](idx z, idx y, idx x) { EXPECT_EQ(out(z, y, x), cells(z, y, x)); });
}
TEST(views, of_rank_3_left_and_right) {
  rank_3<Kokkos::LayoutRight>();
  rank_3<Kokkos::LayoutLeft>();
}

TEST(views, of_rank_1_strided) {
  stet::simulation<still<1>, float, stet::default_backend> sim({6});
  Kokkos::View<float**, Kokkos::LayoutRight, memory> table("table", 6, 4);
  const auto column = Kokkos::subview(table, Kokkos::ALL, 2);
  for (int i = 0; i < 6; ++i) column(i) = float(i * i);
  sim.copy_in(u, column);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(sim.host(u)(i), float(i * i));
  sim.fill(u, 8);
  sim.copy_out(u, column);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(table(i, j), j == 2 ? 8.0f : 0.0f);
}

TEST(views, of_other_extents_are_refused) {
  stet::simulation<still<2>, float, stet::default_backend> sim({6, 7});
  Kokkos::View<float**, Kokkos::LayoutRight, memory> view("view", 7, 6);
  try {
    sim.copy_in(u, view);
    ADD_FAILURE() << "not refused";
  } catch (const stet::error& e) {
    EXPECT_NE(std::string(e.what()).find("7"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("6"), std::string::npos) << e.what();
  }
  EXPECT_THROW(sim.copy_out(u, view), stet::error);
}

} // namespace
