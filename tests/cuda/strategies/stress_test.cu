// Many short runs while other work holds multiprocessors: a barrier among blocks that do not all run would
// hang here.
#include "device_work.hpp"
#include <random>

namespace {

using namespace strategies;
using stet::cuda::stream;

class stress : public gpu_test {};

/// `launches` runs of 1 to 50 steps; before each, blocks in another stream take whole multiprocessors, up to
/// `most` of them, for up to 0.2 ms.
template <class T>
void many_short_runs(const std::string& name, const shape& n, const std::string& boundary, const way& how,
                     int launches, int most) {
  const auto& s = find_subject<T>(name);
  const auto given = one_setting(s, n, boundary);
  const auto m = prepared(s, given, how);
  const auto plain = prepared(s, given, {"per_step"});
  const stet::cuda::device_facts facts = stet::cuda::current_device();
  const std::size_t whole = std::size_t(facts.shared_per_block_optin);
  const stream other;
  std::mt19937 random(20);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < launches; ++i) {
    if (pick(0, 3) > 0)
      spin_in(other, (unsigned long long)(pick(1, 200)) * 1000, pick(1, most), pick(0, 1) * whole);
    const idx steps = pick(1, 50);
    const auto report = m->run(steps);
    ASSERT_EQ(report.steps, steps);
    ASSERT_EQ(report.strategy, how.strategy);
    plain->run(steps);
    if (i % 50 == 0 || i == launches - 1) {
      ASSERT_TRUE(same(fields_of(s, *m, n), fields_of(s, *plain, n))) << "after run " << i;
    }
  }
  other.synchronize();
}

TEST_F(stress, registers) {
  many_short_runs<float>("s2d5pt", {1, 700, 900}, "fixed", {"resident", "registers"}, 1000, 64);
}
TEST_F(stress, registers_periodic_double) {
  many_short_runs<double>("s2d9pt", {1, 512, 512}, "periodic", {"resident", "both"}, 1000, 64);
}
TEST_F(stress, shared_memory_two_fields) {
  many_short_runs<float>("gray_scott", {1, 160, 200}, "periodic", {"resident", "shared"}, 1000, 64);
}
TEST_F(stress, shared_memory_in_3d) {
  many_short_runs<double>("s3d7pt", {40, 44, 52}, "mixed", {"resident", "shared"}, 1000, 64);
}
TEST_F(stress, a_part_of_two_fields_in_shared_memory) {
  many_short_runs<float>("gray_scott", {1, 400, 500}, "periodic", {"resident_partial", "shared"}, 1000, 64);
}
TEST_F(stress, strips_partly_in_memory) {
  many_short_runs<float>("s2d5pt", {1, 700, 900}, "fixed", {"resident_partial", "registers"}, 1000, 64);
}
TEST_F(stress, passes_over_tiles_in_shared_memory) {
  many_short_runs<float>("gray_scott", {1, 2500, 2500}, "fixed", {"temporal", "shared"}, 500, 64);
  many_short_runs<double>("s3d7pt", {110, 150, 170}, "mixed", {"temporal", "shared"}, 500, 64);
}
TEST_F(stress, passes_over_a_torus_in_shared_memory) {
  many_short_runs<float>("s2d5pt", {1, 1500, 3000}, "periodic", {"temporal", "shared"}, 500, 64);
}
TEST_F(stress, passes_over_tiles_in_registers) {
  many_short_runs<float>("s2d5pt", {1, 3000, 3001}, "fixed", {"temporal", "registers"}, 500, 64);
  many_short_runs<double>("s3d7pt", {110, 150, 170}, "fixed", {"temporal", "registers"}, 500, 64);
}
TEST_F(stress, passes_over_a_torus_in_registers) {
  many_short_runs<float>("s2d5pt", {1, 3000, 3004}, "periodic", {"temporal", "registers"}, 300, 64);
  many_short_runs<float>("s3d7pt", {110, 150, 172}, "periodic", {"temporal", "registers"}, 500, 64);
}
TEST_F(stress, all_multiprocessors_taken) {
  many_short_runs<float>("s2d5pt", {1, 700, 900}, "fixed", {"resident", "shared"}, 200, 2 * facts().sm_count);
  many_short_runs<float>("s2d5pt", {1, 1500, 1500}, "fixed", {"resident", "both"}, 200, 2 * facts().sm_count);
  for (const char* cache : {"shared", "registers"})
    many_short_runs<float>("s2d5pt", {1, 1500, 3000}, "fixed", {"temporal", cache}, 200,
                           2 * facts().sm_count);
}

TEST_F(stress, two_simulations_take_turns) {
  const auto& s = find_subject<float>("s2d5pt");
  const auto& t = find_subject<double>("gray_scott");
  const shape n{1, 300, 420};
  const auto given_s = one_setting(s, n, "fixed");
  const auto given_t = one_setting(t, n, "periodic");
  const auto a = prepared(s, given_s, {"resident", "registers"}), want_a = prepared(s, given_s, {"per_step"});
  const auto b = prepared(t, given_t, {"resident", "shared"}), want_b = prepared(t, given_t, {"per_step"});
  for (int i = 0; i < 200; ++i) {
    a->run(1 + i % 7), want_a->run(1 + i % 7);
    b->run(1 + i % 5), want_b->run(1 + i % 5);
  }
  EXPECT_TRUE(same(fields_of(s, *a, n), fields_of(s, *want_a, n)));
  EXPECT_TRUE(same(fields_of(t, *b, n), fields_of(t, *want_b, n)));
}

} // namespace
