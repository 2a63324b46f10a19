// Runs under an L2 window: the same bits, and L2 as it was before.
#include "../sentence.hpp"
#include "device_work.hpp"
#include <algorithm>
#include <stet/cuda/plan/policy.hpp>
#include <stet/cuda/runtime/l2_set_aside.hpp>
#include <stet/cuda/runtime/l2_window.hpp>

namespace {

using namespace strategies;
namespace cuda = stet::cuda;

class window : public gpu_test {
 protected:
  const shape n_{1, 700, 900}; // 2.4 MiB in float, rows of 928 cells
  const shape planes_{7, 100, 900};
  const idx field_bytes_ = 700 * 928 * 4; // of either

  /// f(subject, extents, setting, way)
  template <class F> void for_every_way(F&& f) {
    for (const char* name : {"relax", "wave"})
      for (const way& how : every_way()) {
        const bool patches = how.strategy.starts_with("resident") && how.cache == "registers";
        if (name == std::string("wave") && patches) continue; // too many patches of planes
        SCOPED_TRACE(name + (" " + how.name()));
        const auto& s = find_subject<float>(name);
        const shape& n = s.recipe.rank == 3 ? planes_ : n_;
        f(s, n, one_setting(s, n, "fixed"), how);
      }
  }
};

TEST_F(window, changes_no_bit_and_is_gone_after_the_run) {
  if (!facts().supports_l2_windows() || facts().mig || facts().mps)
    GTEST_SKIP() << facts() << " has no L2 set-aside of ours";
  const auto before = cuda::persisting_l2_bytes(facts().ordinal);
  for_every_way([&](const auto& s, const shape& n, const auto& given, const way& how) {
    const auto m = prepared(s, given, how);
    EXPECT_EQ(m->run(71).notes, "");
    const auto want = fields_of(s, *m, n);
    for (const idx bytes : {cuda::l2_auto, idx(1) << 20}) {
      const auto again = prepared(s, given, how);
      const cuda::stream user;
      again->use_stream(user.get());
      again->use_window(bytes);
      const auto report = again->run(71);
      const double mib =
          double(bytes < 0 ? std::min(field_bytes_, facts().persisting_l2_max) : bytes) / (1 << 20);
      char notes[80];
      std::snprintf(notes, sizeof notes, "L2 window %.1f MiB, hit ratio 1.00", mib);
      if (how.strategy == "resident_partial" &&
          how.cache != "shared") { // over rows that stream, where there are
        EXPECT_TRUE(report.notes.starts_with("L2 window ")) << report.notes;
      } else {
        EXPECT_EQ(report.notes, notes);
      }
      if (how.strategy != "auto") { EXPECT_EQ(report.strategy, how.strategy); }
      EXPECT_TRUE(same(fields_of(s, *again, n), want));
      EXPECT_EQ(cuda::persisting_l2_bytes(facts().ordinal), before);
      EXPECT_EQ(cuda::l2_window_of(user.get()).bytes, 0);
      again->use_window(cuda::l2_off);
      EXPECT_EQ(again->run(2).notes, "");
    }
  });
}

TEST_F(window, of_a_run_until_a_tolerance_covers_all_its_stretches) {
  if (!facts().supports_l2_windows() || facts().mig || facts().mps)
    GTEST_SKIP() << facts() << " has no L2 set-aside of ours";
  const auto& s = find_subject<float>("relax");
  const auto given = one_setting(s, n_, "fixed");
  for (const way& how : {way{"per_step"}, way{"resident", "shared"}}) {
    const auto plain = prepared(s, given, how), windowed = prepared(s, given, how);
    windowed->use_window(cuda::l2_auto);
    const auto want = plain->run_until(-1, 3, 20), got = windowed->run_until(-1, 3, 20);
    EXPECT_EQ(got.residual, want.residual);
    EXPECT_NE(got.notes, "");
    EXPECT_TRUE(same(fields_of(s, *windowed, n_), fields_of(s, *plain, n_)));
  }
}

// What is refused is refused before anything has changed.
TEST_F(window, that_cannot_be_leaves_the_simulation_and_l2_as_they_were) {
  if (!facts().supports_l2_windows()) GTEST_SKIP() << facts() << " has no L2 access-policy windows";
  const auto before = cuda::persisting_l2_bytes(facts().ordinal);
  const auto& s = find_subject<float>("relax");
  const auto m = prepared(s, one_setting(s, n_, "fixed"), {"per_step"});
  const auto start = fields_of(s, *m, n_);
  m->use_window(-7);
  EXPECT_SENTENCE(m->run(3), "l2_window", "-7");
  EXPECT_EQ(m->step(), 0);
  EXPECT_TRUE(same(fields_of(s, *m, n_), start));
  EXPECT_EQ(cuda::persisting_l2_bytes(facts().ordinal), before);
  m->use_window(cuda::l2_off);
  EXPECT_EQ(m->run(3).steps, 3);
}

} // namespace
