// The plan of persistent_cuda, without a GPU: that tiles cover a grid once and fit, that the choice is the
// fastest way that can hold the problem, and that refusals say why.
#include "posed.hpp"
#include <gtest/gtest.h>
#include <set>

namespace {

struct star5 {
  static constexpr auto step() { return stet::update(u = stet::star<2>(u, 0.1, 0.2, 0.3, 0.25, 0.15)); }
};
struct lopsided { // reaches 3 up, 1 down, 2 left
  static constexpr auto step() { return stet::update(u = 0.5 * u(-3, 0) + 0.25 * u(1, 0) + 0.25 * u(0, -2)); }
};
struct up_then_down {
  static constexpr auto step() {
    return stet::stages(stet::update(v = 0.7 * v + 0.3 * u(-1, 0)),
                        stet::update(u = 0.55 * u(1, 0) + 0.4 * v));
  }
};
struct box27 {
  static constexpr auto step() {
    return stet::update(u = u + 0.01 * (u(-1, -1, 0) + u(0, 1, 1) + u(1, 0, 0)));
  }
};
struct pair_of_fields {
  static constexpr auto step() {
    return stet::update(u = u + 0.1 * stet::laplacian<2>(v), v = v - 0.1 * stet::laplacian<2>(u));
  }
};
struct ticking {
  static constexpr int rank = 1;
  static constexpr auto step() { return stet::update(u = u + stet::step_index); }
};

/// Shared-memory tiles: blocks cover every axis once, and what a block holds fits.
void expect_tiles_hold(const problem& p, const device_facts& d) {
  std::optional<plan> choice;
  EXPECT_NO_THROW(choice = make_plan(p, {strategy::resident, cache::shared}, d));
  if (!choice) return;
  const tiling& t = choice->tiles;
  EXPECT_LE(t.blocks(), d.sm_count);
  EXPECT_LE(t.shared_bytes(p.costs) + resident_threads * 8, d.shared_per_block_optin);
  for (int a = 0; a < 3; ++a) {
    EXPECT_GE(index(t.count[a]) * t.size[a], p.extents[a]) << "axis " << a;
    EXPECT_LT(index(t.count[a] - 1) * t.size[a], p.extents[a]) << "no empty tile, axis " << a;
    const bool open = t.count[a] > 1 || p.wraps[a] > 0;
    EXPECT_GE(t.ring_low[a], open ? t.depth * p.costs.step.low[a] : 0) << "axis " << a;
    EXPECT_GE(t.ring_high[a], open ? t.depth * p.costs.step.high[a] : 0) << "axis " << a;
    EXPECT_GE(t.held[a], std::min<index>(t.size[a], p.extents[a]) + t.ring_low[a] + t.ring_high[a])
        << "axis " << a;
  }
  EXPECT_EQ(t.size[2] % p.costs.piece, 0);
  EXPECT_EQ(t.ring_low[2] % p.costs.piece, 0);
}

TEST(plan, shared_tiles_cover_the_grid_once_and_fit) {
  for (const char* key : {"a100", "h200", "l40s"})
    for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic, boundary_kind::neumann})
      for (const std::array<index, 3>& e : {std::array<index, 3>{1, 1, 1},
                                            {1, 1, 9},
                                            {1, 3, 30011},
                                            {1, 257, 263},
                                            {1, 640, 1000},
                                            {1, 2, 2},
                                            {1, 30011, 3}}) {
        SCOPED_TRACE(testing::Message()
                     << key << " kind " << int(kind) << " extents " << e[1] << "x" << e[2]);
        expect_tiles_hold(pose<star5>(e, kind), device(key));
        expect_tiles_hold(pose<lopsided, double>(e, kind), device(key));
      }
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic, boundary_kind::dirichlet})
    for (const std::array<index, 3>& e :
         {std::array<index, 3>{9, 9, 9}, {31, 33, 67}, {96, 96, 96}, {1, 1, 1}})
      expect_tiles_hold(pose<star7>(e, kind), device("h200"));
}

/// resident_partial: the tiles cover the first cells along the slowest axis once, each with its ring.
void expect_part_holds(const problem& p, const device_facts& d) {
  std::optional<plan> choice;
  EXPECT_NO_THROW(choice = make_plan(p, {strategy::resident_partial, cache::shared}, d));
  if (!choice) return;
  EXPECT_EQ(choice->chosen.how, strategy::resident_partial);
  const tiling& t = choice->tiles;
  EXPECT_EQ(t.depth, 0) << "exchanges after every stage";
  EXPECT_LE(t.blocks(), d.sm_count);
  EXPECT_LE(t.shared_bytes(p.costs) + resident_threads * 8, d.shared_per_block_optin);
  const std::size_t slowest = std::size_t(3 - p.costs.rank);
  EXPECT_GT(t.cells[slowest], 0);
  EXPECT_LE(4 * t.cells[slowest], 3 * p.extents[slowest] + 3) << "at least a quarter streams, cells rounded";
  EXPECT_LT(t.cells[slowest], p.extents[slowest]);
  for (std::size_t a = 0; a < 3; ++a) {
    if (a != slowest) { EXPECT_EQ(t.cells[a], p.extents[a]) << "axis " << a; }
    EXPECT_GE(index(t.count[a]) * t.size[a], t.cells[a]) << "axis " << a;
    EXPECT_LT(index(t.count[a] - 1) * t.size[a], t.cells[a]) << "no empty tile, axis " << a;
    const bool open = t.count[a] > 1 || p.wraps[a] > 0 || a == slowest;
    EXPECT_GE(t.ring_low[a], open ? p.costs.stage.low[a] : 0) << "axis " << a;
    EXPECT_GE(t.ring_high[a], open ? p.costs.stage.high[a] : 0) << "axis " << a;
  }
  EXPECT_NEAR(choice->in_shared, double(t.cells[slowest]) / double(p.extents[slowest]), 1e-12);
  EXPECT_NEAR(choice->in_shared + choice->in_l2 + choice->in_memory, 1, 1e-12);
  EXPECT_EQ(choice->in_registers, 0);
}

TEST(plan, a_part_of_any_grid_stays_in_shared_memory) {
  const device_facts d = device("h200");
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic, boundary_kind::neumann}) {
    for (const std::array<index, 3>& e : {std::array<index, 3>{1, 2, 1},
                                          {1, 3, 30011},
                                          {1, 257, 263},
                                          {1, 3072, 3072},
                                          {1, 16384, 16384},
                                          {1, 100000, 7}}) {
      SCOPED_TRACE(testing::Message() << "kind " << int(kind) << " extents " << e[1] << "x" << e[2]);
      expect_part_holds(pose<star5>(e, kind), d);
      expect_part_holds(pose<lopsided, double>(e, kind), d);
      expect_part_holds(pose<pair_of_fields, double>(e, kind), device("l40s"));
    }
    for (const std::array<index, 3>& e : {std::array<index, 3>{2, 1, 1}, {31, 33, 67}, {256, 256, 256}})
      expect_part_holds(pose<star7>(e, kind), d);
    for (const index n : {5, 1003, 100'000'007}) expect_part_holds(pose<ticking>({1, 1, n}, kind), d);
  }
}

/// temporal in shared memory: tiles of any number own every cell once, and what a block holds fits.
tiling expect_passes_hold(const problem& p, const device_facts& d, int depth = 0) {
  std::optional<plan> choice;
  EXPECT_NO_THROW(choice = make_plan(p, {strategy::temporal, cache::shared, depth}, d));
  if (!choice) return {};
  EXPECT_EQ(choice->chosen.how, strategy::temporal);
  EXPECT_EQ(choice->chosen.where, cache::shared);
  const tiling& t = choice->tiles;
  if (depth > 0)
    EXPECT_EQ(t.depth, depth);
  else
    EXPECT_LE(t.depth, std::max<index>(1, p.steps));
  EXPECT_GE(t.depth, 1);
  EXPECT_EQ(t.blocks(), std::min<std::int64_t>(t.tiles(), d.sm_count)) << "no block without a tile";
  EXPECT_EQ(t.exchanged, 0);
  EXPECT_LE(t.shared_bytes(p.costs) + resident_threads * 8, d.shared_per_block_optin);
  EXPECT_EQ(t.size[2] % p.costs.piece, 0);
  std::int64_t farthest = 0; // between the numbers of tiles that overlap
  bool wraps = false;
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_EQ(t.cells[a], p.extents[a]) << "axis " << a;
    EXPECT_GE(index(t.count[a]) * t.size[a], p.extents[a]) << "axis " << a;
    EXPECT_LT(index(t.count[a] - 1) * t.size[a], p.extents[a]) << "no empty tile, axis " << a;
    const bool open = t.count[a] > 1 || p.wraps[a] > 0;
    EXPECT_GE(t.ring_low[a], open ? t.depth * p.costs.step.low[a] : 0) << "axis " << a;
    EXPECT_GE(t.ring_high[a], open ? t.depth * p.costs.step.high[a] : 0) << "axis " << a;
    wraps = wraps || (p.wraps[a] > 0 && t.count[a] > 1);
    std::int64_t next = 0; // tiles that the last cell of a tile's ring is away
    while (next < t.count[a] - 1 && next * t.size[a] < std::max(t.ring_low[a], t.ring_high[a])) ++next;
    farthest += next * (a == 2 ? 1 : a == 1 ? t.count[2] : t.count[1] * t.count[2]);
  }
  EXPECT_GE(t.overlaps, wraps ? t.tiles() - 1 : std::min(farthest, t.tiles() - 1));
  EXPECT_NEAR(choice->in_l2 + choice->in_memory, 1, 1e-12);
  return t;
}

TEST(plan, passes_of_several_steps_go_over_any_grid) {
  for (const char* key : {"a100", "h200", "l40s"})
    for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic, boundary_kind::neumann}) {
      for (const std::array<index, 3>& e : {std::array<index, 3>{1, 1, 1},
                                            {1, 1, 9},
                                            {1, 2, 2},
                                            {1, 3, 1'000'003},
                                            {1, 131'072, 2},
                                            {1, 257, 263},
                                            {1, 8192, 8192},
                                            {1, 100'003, 30'011}}) {
        SCOPED_TRACE(testing::Message()
                     << key << " kind " << int(kind) << " extents " << e[1] << "x" << e[2]);
        expect_passes_hold(pose<star5>(e, kind), device(key));
        expect_passes_hold(pose<lopsided, double>(e, kind), device(key));
        expect_passes_hold(pose<up_then_down>(e, kind), device(key));
        expect_passes_hold(pose<pair_of_fields, double>(e, kind, 3), device(key));
      }
      for (const std::array<index, 3>& e :
           {std::array<index, 3>{1, 1, 1}, {2, 1, 3}, {31, 33, 67}, {512, 512, 512}, {7, 3, 200'000}}) {
        SCOPED_TRACE(testing::Message()
                     << key << " kind " << int(kind) << " extents " << e[0] << "x" << e[1] << "x" << e[2]);
        expect_passes_hold(pose<star7>(e, kind), device(key));
        expect_passes_hold(pose<box27, double>(e, kind), device(key));
      }
      for (const index n : {1, 9, 1003, 100'000'007, 2'000'000'000})
        expect_passes_hold(pose<ticking>({1, 1, n}, kind), device(key));
    }
}

TEST(plan, passes_are_as_deep_as_asked_for_and_not_deeper_than_the_run) {
  const device_facts d = device("h200");
  for (const int depth : {1, 2, 5, 7, 16, 20}) {
    expect_passes_hold(pose<star5>({1, 4099, 3001}), d, depth);
    expect_passes_hold(pose<star5>({1, 4099, 3001}, boundary_kind::periodic), d, depth);
    expect_passes_hold(pose<lopsided, double>({1, 64, 64}), d, depth);
  }
  EXPECT_GT(expect_passes_hold(pose<star5>({1, 8192, 8192}), d).depth, 2);
  EXPECT_EQ(expect_passes_hold(pose<star5>({1, 8192, 8192}, boundary_kind::fixed, 1), d).depth, 1);
  EXPECT_LE(expect_passes_hold(pose<star5>({1, 8192, 8192}, boundary_kind::fixed, 3), d).depth, 3);
}

TEST(plan, the_streamed_part_comes_from_l2_where_it_fits) {
  const device_facts d = device("h200");
  const request part{strategy::resident_partial, cache::shared};
  EXPECT_GT(make_plan(pose<star5>({1, 3072, 3072}), part, d).in_l2, 0.2);
  EXPECT_EQ(make_plan(pose<star5>({1, 3072, 3072}), part, d).in_memory, 0);
  const plan large = make_plan(pose<star5>({1, 8192, 8192}), part, d);
  EXPECT_EQ(large.in_l2, 0);
  EXPECT_NEAR(large.in_shared, 0.11, 0.02) << "30 MB of 268";
}

/// resident_partial in registers: rows of each strip stream, in whole windows, and the others fit.
TEST(plan, strips_go_on_in_memory_where_the_chip_ends) {
  const device_facts d = device("h200");
  const auto check = [&](const problem& p, const request& asked) {
    plan choice;
    EXPECT_NO_THROW(choice = make_plan(p, asked, d));
    EXPECT_EQ(choice.chosen.how, strategy::resident_partial);
    EXPECT_EQ(choice.chosen.where, cache::registers);
    const register_tiling& t = choice.strips;
    EXPECT_TRUE(t.y.covers());
    EXPECT_TRUE(t.x.covers());
    EXPECT_LE(t.blocks(), d.sm_count);
    EXPECT_EQ(t.y.held, strip_warps * (t.registers + t.in_shared + t.in_memory));
    EXPECT_EQ(t.streamed_cells(p.costs.fields),
              index(t.blocks()) * strip_warps * p.costs.fields * t.in_memory * t.row_cells);
    EXPECT_GE(t.in_memory, p.strips.window);
    EXPECT_EQ(t.in_memory % p.strips.window, 0);
    EXPECT_EQ(t.in_shared % p.strips.window, 0);
    EXPECT_LE(p.strips.shared_bytes(t), d.shared_per_block_optin - 1024);
    EXPECT_NEAR(choice.in_registers + choice.in_shared + choice.in_l2 + choice.in_memory, 1, 1e-12);
    EXPECT_NEAR(choice.in_l2 + choice.in_memory, double(t.in_memory) / t.rows(), 1e-12);
    EXPECT_EQ(std::min(choice.in_l2, choice.in_memory), 0);
    return choice;
  };
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic})
    for (const index n : {508, 1500, 2048, 3072, 4096}) {
      SCOPED_TRACE(testing::Message() << n << " kind " << int(kind));
      const request strips{strategy::resident_partial, cache::registers};
      EXPECT_EQ(check(pose<star5>({1, n, n}, kind), strips).strips.in_shared, 0) << "registers only";
      check(pose<star5, double>({1, n, n}, kind), strips);
      check(pose<lopsided, double>({1, n, n}, kind), strips);
      check(pose<pair_of_fields>({1, n, n}, kind), strips);
    }
  // As much as fits stays on the chip; slots for rows under way take a part of shared memory.
  const problem large = pose<star5, double>({1, 3072, 3072});
  const plan both = check(large, {strategy::resident_partial});
  EXPECT_EQ(both.strips.registers, large.strips.streaming);
  EXPECT_EQ(both.strips.in_shared, 21);
  EXPECT_LE(both.strips.in_memory, 42);
  EXPECT_GT(both.in_l2, 0) << "42 MB of 60";
  register_tiling more = both.strips;
  more.in_shared += large.strips.window;
  EXPECT_GT(large.strips.shared_bytes(more), d.shared_per_block_optin - 1024);
  more.in_memory = 0;
  EXPECT_LE(large.strips.shared_bytes(more), d.shared_per_block_optin - 1024) << "nothing under way";
  EXPECT_GE(large.strips.ahead * strip_warps * large.strips.row_bytes, 32 << 10) << "under way";
  EXPECT_GT(
      check(pose<star5, double>({1, 7000, 7000}), {strategy::resident_partial, cache::registers}).in_memory,
      0.5);
  for (const int depth : {2, 4})
    EXPECT_EQ(check(large, {strategy::resident_partial, cache::registers, depth}).strips.depth, depth);
  // resident has no such rows.
  EXPECT_EQ(make_plan(pose<star5>({1, 3072, 3072}), {strategy::resident}, d).strips.in_memory, 0);
}

/// Register tiles: every cell of an axis is owned by exactly one tile, which holds it and the ring around it.
TEST(plan, register_tiles_own_every_cell_once) {
  const device_facts d = device("h200");
  const auto check = [](const axis_tiling& t, int first, int end, const char* name) {
    SCOPED_TRACE(name);
    std::vector<int> times(std::size_t(t.n), 0);
    for (int i = 0; i < t.count; ++i) {
      const int begin = t.begin(i);
      EXPECT_EQ((begin - t.begin(0)) % t.unit, 0);
      for (int c = t.own_begin(i); c < t.own_begin(i + 1); ++c) {
        ++times[std::size_t(c)];
        if (c < first || c >= end) continue; // rims
        const bool low_face = !t.periodic && i == 0, high_face = !t.periodic && i == t.count - 1;
        EXPECT_GE(c, begin + (low_face ? 0 : t.ring));
        EXPECT_LT(c, begin + t.held - (high_face ? 0 : t.ring));
      }
      // Cells that the next tile holds as a ring are those that this one shows.
      if (i + 1 < t.count) {
        EXPECT_EQ(t.shared_end(i), t.begin(i + 1));
        EXPECT_EQ(t.shared_begin(i + 1), begin + t.held);
        EXPECT_LE(begin + t.held, t.own_begin(i + 2)) << "a ring ends in the next tile";
        EXPECT_EQ(t.distance(i + 1, -1), t.begin(i + 1) - begin);
      }
    }
    EXPECT_EQ(std::set<int>(times.begin(), times.end()), std::set<int>{1});
    if (t.periodic) {
      EXPECT_EQ(t.distance(0, -1), t.begin(0) + t.n - t.begin(t.count - 1));
      EXPECT_LE(t.begin(t.count - 1) + t.held, 2 * t.n) << "positions wrap once";
    }
  };
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic})
    for (const std::array<index, 3>& e : {std::array<index, 3>{1, 2048, 2048},
                                          {1, 1792, 1800},
                                          {1, 3072, 3072},
                                          {1, 1001, 1024},
                                          {1, 300, 1000},
                                          {1, 509, 524}})
      for (const int depth : {2, 4, 8}) {
        SCOPED_TRACE(testing::Message()
                     << e[1] << "x" << e[2] << " kind " << int(kind) << " depth " << depth);
        const problem p = pose<star5>(e, kind);
        std::optional<plan> choice;
        try {
          choice = make_plan(p, {strategy::resident, cache::both, depth}, d);
        } catch (const stet::error&) {
          continue; // 3072² does not fit with deep rings
        }
        if (choice->chosen.where != cache::registers) continue;
        const register_tiling& t = choice->strips;
        EXPECT_EQ(t.depth, depth);
        EXPECT_LE(t.blocks(), d.sm_count);
        EXPECT_EQ(t.y.held, strip_warps * t.rows());
        EXPECT_GE(t.y.ring, depth);
        EXPECT_GE(t.x.ring, depth);
        check(t.y, int(p.active_rows[0]), int(p.active_rows[1]), "y");
        check(t.x, 0, int(e[2]), "x");
      }
  // Of passes, any number: blocks take one after the other.
  int held = 0;
  for (const auto kind : {boundary_kind::fixed, boundary_kind::periodic})
    for (const std::array<index, 3>& e : {std::array<index, 3>{1, 8192, 8192},
                                          {1, 4099, 8191},
                                          {1, 32768, 132},
                                          {1, 386, 1000},
                                          {1, 509, 100'004},
                                          {1, 500, 128}})
      for (const int depth : {1, 3, 8, 16}) {
        SCOPED_TRACE(testing::Message()
                     << "passes of " << depth << " over " << e[1] << "x" << e[2] << " kind " << int(kind));
        const auto of = [&](const problem& p) {
          std::optional<plan> choice;
          try {
            choice = make_plan(p, {strategy::temporal, cache::registers, depth}, d);
          } catch (const stet::error&) { return; } // the grid is too small for such rings, or does not wrap
          const register_tiling& t = choice->strips;
          ++held;
          EXPECT_EQ(t.depth, depth);
          EXPECT_EQ(t.y.held, p.strips.warps * p.strips.temporal);
          EXPECT_GE(t.y.ring, depth * p.costs.step.low[1]);
          EXPECT_GE(t.x.ring, depth * p.costs.step.low[2]);
          EXPECT_LE(p.strips.temporal_bytes() + 1024, d.shared_per_block_optin);
          check(t.y, int(p.active_rows[0]), int(p.active_rows[1]), "y");
          check(t.x, 0, int(e[2]), "x");
        };
        of(pose<star5>(e, kind));
        of(pose<star5, double>(e, kind));
        of(pose<lopsided>(e, kind));
        of(pose<pair_of_fields>(e, kind));
      }
  EXPECT_GE(held, 100) << "of 192";
  // Which of these are in registers at all is part of what is promised.
  for (const index n : {1024, 2048, 3072})
    EXPECT_EQ(make_plan(pose<star5>({1, n, n}), {strategy::resident}, d).chosen.where, cache::registers) << n;
}

/// Rank 3: patches of planes cover x and y, aligned, and strips cover z.
TEST(plan, patches_cover_a_volume) {
  const device_facts d = device("h200");
  for (const std::array<index, 3>& e :
       {std::array<index, 3>{192, 192, 192}, {160, 160, 160}, {61, 101, 67}, {9, 1, 2}}) {
    SCOPED_TRACE(testing::Message() << e[0] << "x" << e[1] << "x" << e[2]);
    const problem p = pose<star7>(e);
    const plan choice = make_plan(p, {strategy::resident, e[0] < 100 ? cache::registers : cache::both}, d);
    ASSERT_EQ(choice.chosen.where, cache::registers);
    const register_tiling& t = choice.strips;
    EXPECT_LE(t.blocks(), d.sm_count);
    EXPECT_LE(p.strips.shared_bytes(t), d.shared_per_block_optin - 1024);
    EXPECT_EQ(t.depth, 1);
    EXPECT_EQ(t.row_cells, 32 * 20) << "a patch of 32 by 20 cells";
    EXPECT_GE(t.x.count * 32, e[2]);
    EXPECT_LT((t.x.count - 1) * 32, e[2]);
    EXPECT_GE(t.side.count * 20, e[1]);
    EXPECT_LT((t.side.count - 1) * 20, e[1]);
    for (int i = 0; i < t.x.count; ++i) EXPECT_EQ(t.x.begin(i), 32 * i);
    for (int i = 0; i < t.side.count; ++i) EXPECT_EQ(t.side.begin(i), 20 * i);
    EXPECT_EQ(t.y.held, strip_warps * t.rows());
    EXPECT_LE(t.y.begin(0), std::min<index>(1, e[0] - 1));
    EXPECT_GE(t.y.begin(t.y.count - 1) + t.y.held, e[0] - 1) << "all but the rim";
    EXPECT_TRUE(t.y.covers());
  }
  const plan part =
      make_plan(pose<star7>({256, 256, 256}), {strategy::resident_partial, cache::registers}, d);
  EXPECT_GT(part.strips.in_memory, 0);
  EXPECT_GE(part.strips.y.held, 254);
}

/// Beyond a mirror what lies above is read below: each stage reads to both sides, and a ring holds them all.
TEST(plan, rings_hold_what_every_mirrored_stage_reads) {
  const problem p = pose<up_then_down>({1, 3, 1003}, boundary_kind::neumann);
  EXPECT_EQ(p.costs.step.low[1], 2);
  EXPECT_EQ(p.costs.step.high[1], 2);
  EXPECT_EQ(p.costs.stage.low[1], 1);
  const problem straight = pose<up_then_down>({1, 3, 1003}, boundary_kind::periodic);
  EXPECT_EQ(straight.costs.step.low[1], 1);
  EXPECT_EQ(straight.costs.step.high[1], 1);
}

TEST(plan, takes_the_least_predicted_time_of_what_can_hold_the_problem) {
  const device_facts d = device("h200");
  for (const std::array<index, 3>& e :
       {std::array<index, 3>{1, 64, 64}, {1, 2048, 2048}, {1, 8192, 8192}, {1, 1, 100}, {1, 4099, 8191}}) {
    const plan chosen = make_plan(pose<star5>(e), {}, d);
    EXPECT_TRUE(chosen.chosen.refusal.empty());
    for (const alternative& a : chosen.others)
      if (a.refusal.empty()) {
        EXPECT_LE(chosen.chosen.seconds_per_step, a.seconds_per_step) << name_of(a.how);
      }
    EXPECT_EQ(chosen.others.size(), 7u)
        << "per_step, per_step_graph; resident, resident_partial and temporal twice";
  }
  EXPECT_EQ(make_plan(pose<star5>({1, 2048, 2048}), {}, d).chosen.how, strategy::resident);
  EXPECT_EQ(make_plan(pose<star5>({1, 8192, 8192}), {}, d).chosen.how, strategy::temporal);
  EXPECT_EQ(make_plan(pose<star5>({1, 8192, 8192}, boundary_kind::fixed, 1), {}, d).chosen.how,
            strategy::per_step)
      << "neither a capture nor a pass pays for one step";
  device_facts launches = d;
  launches.cooperative_launch = false;
  EXPECT_EQ(make_plan(pose<star5>({1, 8192, 8192}), {}, launches).chosen.how, strategy::per_step_graph);
  EXPECT_EQ(make_plan(pose<star5>({1, 64, 64}, boundary_kind::fixed, 1), {}, d).chosen.how,
            strategy::per_step);
}

std::string refusal_of(const problem& p, const request& asked, const device_facts& d) {
  try {
    make_plan(p, asked, d);
  } catch (const stet::error& e) { return e.what(); }
  return "none";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(plan, a_forced_strategy_that_cannot_hold_the_problem_says_why) {
  const device_facts d = device("h200");
  const auto large = pose<star5>({1, 8192, 8192});
  EXPECT_TRUE(
      contains(refusal_of(large, {strategy::resident}, d), "strategy resident: the fields do not fit"));
  EXPECT_TRUE(
      contains(refusal_of(large, {strategy::resident, cache::registers}, d), "does not fit into registers"));
  EXPECT_TRUE(contains(refusal_of(pose<box27>({16, 16, 16}), {strategy::resident, cache::registers}, d),
                       "stars in rank 3"));
  EXPECT_TRUE(contains(refusal_of(pose<star7>({16, 16, 24}, boundary_kind::periodic),
                                  {strategy::resident, cache::registers}, d),
                       "a periodic row is not a multiple of 32 cells"));
  EXPECT_TRUE(contains(refusal_of(pose<star7>({16, 16, 32}, boundary_kind::periodic),
                                  {strategy::resident, cache::registers}, d),
                       "a periodic plane is not a multiple of 20 rows"));
  EXPECT_TRUE(contains(refusal_of(pose<star7>({64, 64, 64}), {strategy::resident, cache::registers, 2}, d),
                       "the depth must be 1"));
  EXPECT_TRUE(contains(
      refusal_of(pose<star5>({1, 64, 64}, boundary_kind::neumann), {strategy::resident, cache::registers}, d),
      "fixed and periodic"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 64, 63}, boundary_kind::periodic),
                                  {strategy::resident, cache::registers}, d),
                       "multiple of 4 cells"));
  EXPECT_TRUE(contains(refusal_of(pose<ticking>({1, 1, 64}), {strategy::per_step_graph}, d), "step_index"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 1, 64}), {strategy::resident_partial}, d),
                       "strategy resident_partial: the grid has one cell along its slowest axis"));
  EXPECT_TRUE(contains(refusal_of(pose<ticking>({1, 1, 4}), {strategy::resident_partial}, d),
                       "the grid is a single piece of 16 bytes"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 2, 100'000'000}), {strategy::resident_partial}, d),
                       "not even one row or plane"));
  const request strips{strategy::resident_partial, cache::registers};
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 64, 64}), strips, d), "smaller than a tile"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 4096, 20000}), strips, d), "too many columns"));
  EXPECT_TRUE(contains(refusal_of(pose<box27>({16, 16, 16}), strips, d), "stars in rank 3"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 512, 512}, boundary_kind::neumann), strips, d),
                       "fixed and periodic"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 512, 511}, boundary_kind::periodic), strips, d),
                       "multiple of 4 cells"));
  EXPECT_TRUE(contains(refusal_of(large, {strategy::temporal, cache::shared, 200}, d),
                       "strategy temporal: a tile with its ring for 200 steps does not fit"));
  EXPECT_TRUE(
      contains(refusal_of(pose<ticking>({1, 1, 2'147'400'000}), {strategy::temporal, cache::shared}, d),
               "more than 2^31 - 2^18 cells"));
  problem checked = pose<star5>({1, 512, 512});
  checked.checks = true;
  EXPECT_TRUE(contains(refusal_of(checked, strips, d), "checks a residual"));
  device_facts old = d;
  old.cooperative_launch = false;
  EXPECT_TRUE(
      contains(refusal_of(pose<star5>({1, 64, 64}), {strategy::resident}, old), "no cooperative launch"));
  EXPECT_EQ(make_plan(pose<star5>({1, 64, 64}), {}, old).chosen.how, strategy::per_step_graph);
}

TEST(plan, a_depth_that_is_asked_for_is_taken_or_refused) {
  const device_facts d = device("h200");
  for (const int depth : {1, 2, 3, 5, 8}) {
    const plan shared = make_plan(pose<star5>({1, 512, 512}), {strategy::resident, cache::shared, depth}, d);
    EXPECT_EQ(shared.tiles.depth, depth);
  }
  for (const int depth : {2, 6, 10})
    EXPECT_EQ(
        make_plan(pose<star5>({1, 512, 512}), {strategy::resident, cache::registers, depth}, d).strips.depth,
        depth);
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 512, 512}), {strategy::resident, cache::registers, 3}, d),
                       "depth must be even"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 512, 512}), {strategy::temporal, cache::both, 1 << 30}, d),
                       "1073741824 steps are beyond"));
  EXPECT_TRUE(contains(refusal_of(pose<star5>({1, 512, 512}), {strategy::resident, cache::both, -1}, d),
                       "-1 is negative"));
}

TEST(plan, fields_that_differ_in_periodicity_are_launched_per_step) {
  stet::conditions<pair_of_fields, float> given{};
  for (int side = 2; side < stet::face_count; ++side)
    given.boundaries.kind[0][side] = boundary_kind::periodic;
  const auto p = problem_of<pair_of_fields, float>({1, 64, 64}, given, 1000, false);
  EXPECT_EQ(p.wraps, (std::array<int, 3>{0, -1, -1}));
  EXPECT_EQ(make_plan(p, {}, device("h200")).chosen.how, strategy::per_step_graph);
  EXPECT_TRUE(contains(refusal_of(p, {strategy::resident}, device("h200")), "periodic along an axis"));
  EXPECT_TRUE(contains(refusal_of(p, {strategy::temporal}, device("h200")), "periodic along an axis"));
}

TEST(plan, levels_hold_all_cells) {
  for (const std::array<index, 3>& e :
       {std::array<index, 3>{1, 64, 64}, {1, 2048, 2048}, {1, 3072, 3072}, {1, 8192, 8192}}) {
    const plan p = make_plan(pose<star5>(e), {}, device("h200"));
    EXPECT_NEAR(p.in_registers + p.in_shared + p.in_l2 + p.in_memory, 1, 1e-12);
  }
  EXPECT_EQ(make_plan(pose<star5>({1, 8192, 8192}), {}, device("h200")).in_memory, 1);
  const plan mixed = make_plan(pose<star5>({1, 3072, 3072}), {}, device("h200"));
  EXPECT_EQ(mixed.strips.in_shared + mixed.strips.registers, mixed.strips.y.held / strip_warps);
  EXPECT_NEAR(mixed.in_shared, double(mixed.strips.in_shared) / (mixed.strips.y.held / strip_warps), 1e-12);
  EXPECT_GT(mixed.in_shared, 0.2) << "286 KB per multiprocessor do not fit into 256 KB of registers";
}

} // namespace
