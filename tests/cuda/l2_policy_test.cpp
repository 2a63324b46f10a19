#include "facts.hpp"
#include "sentence.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stet/cuda/runtime/l2_policy.hpp>

using stet::cuda::access_property;
using stet::cuda::check_l2_policy;
using stet::cuda::fitted_l2_policy;
using stet::cuda::l2_policy;

namespace {

const char array[1] = {};
const l2_policy good{.base = array, .bytes = 1 << 20};

TEST(l2_policy, an_oversized_window_is_a_sentence_with_both_sizes) {
  l2_policy policy = good;
  policy.bytes = (128 << 20) + 1;
  EXPECT_SENTENCE(check_l2_policy(policy, big_device()), "l2_window", "134217729", "134217728",
                  "fitted_l2_policy");
  policy.bytes = 128 << 20;
  EXPECT_NO_THROW(check_l2_policy(policy, big_device()));
}

TEST(l2_policy, a_device_without_windows_is_a_sentence_with_its_name) {
  EXPECT_SENTENCE(check_l2_policy(good, old_device()), "l2_window", "old has no L2 access-policy windows");
  EXPECT_NO_THROW(check_l2_policy({}, old_device())) << "no window is right everywhere";
}

TEST(l2_policy, senseless_windows_are_refused) {
  const auto changed = [](auto change) {
    l2_policy policy = good;
    change(policy);
    return policy;
  };
  const auto facts = big_device();
  EXPECT_SENTENCE(check_l2_policy(changed([](auto& p) { p.hit_ratio = 1.5F; }), facts), "hit ratio", "1.5");
  EXPECT_SENTENCE(check_l2_policy(changed([](auto& p) { p.hit_ratio = -0.5F; }), facts), "hit ratio");
  EXPECT_SENTENCE(
      check_l2_policy(changed([](auto& p) { p.hit_ratio = std::numeric_limits<float>::quiet_NaN(); }), facts),
      "hit ratio", "nan");
  EXPECT_SENTENCE(check_l2_policy(changed([](auto& p) { p.miss = access_property::persisting; }), facts),
                  "misses", "normal or streaming");
  EXPECT_SENTENCE(check_l2_policy(changed([](auto& p) { p.base = nullptr; }), facts), "no address");
  EXPECT_SENTENCE(check_l2_policy(changed([](auto& p) { p.bytes = -1; }), facts), "negative");
}

TEST(l2_policy, fitted_keeps_what_fits_whole) {
  const l2_policy policy = fitted_l2_policy(array, 1 << 20, 2 << 20, big_device());
  EXPECT_EQ(policy, good);
}

TEST(l2_policy, fitted_lowers_the_hit_ratio_and_never_exceeds_the_share) {
  const auto facts = big_device();
  for (std::int64_t bytes : {7LL, 1001LL, 33554433LL, 100000007LL, 1LL << 40}) {
    for (std::int64_t share : {1LL, 3LL, 1000LL, 4194303LL, 33554432LL}) {
      const l2_policy policy = fitted_l2_policy(array, bytes, share, facts);
      EXPECT_NO_THROW(check_l2_policy(policy, facts));
      EXPECT_EQ(policy.bytes, std::min(bytes, facts.access_policy_window_max));
      EXPECT_LE(policy.persisting_bytes(), share);
      // and wastes no more than single precision must
      EXPECT_GE(policy.persisting_bytes(), std::min(policy.bytes, share) * (1 - 1e-6) - 1);
    }
  }
}

TEST(l2_policy, fitted_is_no_window_where_there_can_be_none) {
  EXPECT_EQ(fitted_l2_policy(array, 1 << 20, 1 << 20, old_device()).bytes, 0);
  EXPECT_EQ(fitted_l2_policy(array, 1 << 20, 0, big_device()).bytes, 0);
  EXPECT_EQ(fitted_l2_policy(array, 0, 1 << 20, big_device()).bytes, 0);
}

TEST(l2_policy, released_claims_nothing_and_covers_the_same_bytes) {
  const l2_policy policy = released(l2_policy{.base = array, .bytes = 1 << 20, .hit_ratio = 0.5F});
  EXPECT_EQ(policy.bytes, 1 << 20);
  EXPECT_EQ(policy.hit, access_property::normal);
  EXPECT_EQ(policy.miss, access_property::normal);
  EXPECT_EQ(policy.persisting_bytes(), 0);
  EXPECT_NO_THROW(check_l2_policy(policy, big_device()));
}

} // namespace
