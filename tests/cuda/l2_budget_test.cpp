#include "facts.hpp"
#include "sentence.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <stet/cuda/runtime/l2_budget.hpp>
#include <thread>
#include <type_traits>
#include <vector>

using stet::cuda::access_property;
using stet::cuda::l2_budget;
using stet::cuda::l2_policy;

namespace {

const char array[1] = {};

l2_policy window(std::int64_t bytes, float hit_ratio = 1) {
  return {.base = array, .bytes = bytes, .hit_ratio = hit_ratio};
}

static_assert(!std::is_copy_constructible_v<l2_budget> && !std::is_move_constructible_v<l2_budget>);
static_assert(!std::is_copy_constructible_v<l2_budget::lease> &&
              !std::is_copy_assignable_v<l2_budget::lease>);
static_assert(std::is_nothrow_destructible_v<l2_budget::lease>);

TEST(l2_budget, counts_bytes_times_hit_ratio) {
  l2_budget budget(1000);
  const auto half = budget.reserve(window(1000, 0.5F));
  EXPECT_EQ(half.bytes(), 500);
  EXPECT_EQ(budget.used(), 500);
  EXPECT_EQ(budget.left(), 500);
  EXPECT_TRUE(budget.fits(window(2000, 0.25F)));
  EXPECT_FALSE(budget.fits(window(2004, 0.25F))); // 501
  const auto rest = budget.reserve(window(500));
  EXPECT_EQ(budget.left(), 0);
}

TEST(l2_budget, a_fraction_of_a_byte_counts_whole) {
  EXPECT_EQ(window(3, 0.5F).persisting_bytes(), 2);
  EXPECT_EQ(window(1, 0.001F).persisting_bytes(), 1);
  EXPECT_EQ(window(1000, 0).persisting_bytes(), 0);
}

TEST(l2_budget, refuses_with_the_numbers_and_claims_nothing) {
  l2_budget budget(1000);
  const auto first = budget.reserve(window(800));
  EXPECT_SENTENCE((void)budget.reserve(window(400, 0.75F)), "l2_budget", "400 bytes", "0.75", "needs 300",
                  "200 of 1000 are left", "hit ratio");
  EXPECT_EQ(budget.used(), 800);
}

TEST(l2_budget, only_persisting_windows_cost) {
  l2_budget budget(0);
  l2_policy policy = window(1 << 20);
  policy.hit = access_property::streaming;
  EXPECT_NO_THROW((void)budget.reserve(policy));
  policy.hit = access_property::normal;
  EXPECT_NO_THROW((void)budget.reserve(policy));
  EXPECT_NO_THROW((void)budget.reserve({}));
  EXPECT_THROW((void)budget.reserve(window(1)), stet::error);
}

TEST(l2_budget, leases_return_their_share_also_on_exceptions) {
  l2_budget budget(100);
  try {
    const auto lease = budget.reserve(window(100));
    throw std::logic_error("x");
  } catch (const std::logic_error&) {}
  EXPECT_EQ(budget.used(), 0);
}

TEST(l2_budget, moved_leases_return_it_once) {
  l2_budget budget(100);
  {
    auto a = budget.reserve(window(60));
    auto b = std::move(a);
    EXPECT_EQ(a.bytes(), 0);
    EXPECT_EQ(budget.used(), 60);
    std::optional<l2_budget::lease> c = std::move(b);
    c.reset();
    EXPECT_EQ(budget.used(), 0);
    l2_budget::lease d = budget.reserve(window(10));
    d = budget.reserve(window(20));
    EXPECT_EQ(budget.used(), 20);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(l2_budget, a_negative_set_aside_is_none) { EXPECT_EQ(l2_budget(-5).total(), 0); }

TEST(l2_budget, sums_beyond_32_bits) {
  l2_budget budget(std::int64_t{1} << 40);
  const auto a = budget.reserve(window(std::int64_t{3} << 32));
  const auto b = budget.reserve(window(std::int64_t{3} << 32));
  EXPECT_EQ(budget.used(), std::int64_t{6} << 32);
}

TEST(l2_budget, threads_never_exceed_it_together) {
  l2_budget budget(10);
  std::atomic<int> held = 0;
  std::atomic<bool> exceeded = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        try {
          const auto lease = budget.reserve(window(4));
          if (++held > 2) { exceeded = true; }
          --held;
        } catch (const stet::error&) {}
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget.used(), 0);
}

} // namespace
