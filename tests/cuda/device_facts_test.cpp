#include "facts.hpp"

#include <gtest/gtest.h>
#include <sstream>

TEST(device_facts, on_chip_memory_is_counted_in_64_bits) {
  // 132 × (256 KiB + 228 KiB): what design and plans count as "about 60 MB together".
  EXPECT_EQ(big_device().on_chip_bytes(), std::int64_t{132} * (256 + 228) * 1024);
  stet::cuda::device_facts huge = big_device();
  huge.sm_count = 10'000; // 4.9e9 bytes
  EXPECT_EQ(huge.on_chip_bytes(), std::int64_t{10'000} * (256 + 228) * 1024);
}

TEST(device_facts, windows_need_capability_8_and_both_limits) {
  EXPECT_TRUE(big_device().supports_l2_windows());
  EXPECT_FALSE(old_device().supports_l2_windows());
  stet::cuda::device_facts facts = big_device();
  facts.persisting_l2_max = 0;
  EXPECT_FALSE(facts.supports_l2_windows());
  facts = big_device();
  facts.compute_major = 7;
  EXPECT_FALSE(facts.supports_l2_windows());
  EXPECT_FALSE(stet::cuda::device_facts{}.supports_l2_windows());
}

TEST(device_facts, compares_and_prints) {
  EXPECT_EQ(big_device(), big_device());
  EXPECT_NE(big_device(), old_device());
  std::ostringstream out;
  out << big_device();
  EXPECT_EQ(out.str(), "big (9.0, 132 SMs at 1.98 GHz, 4.8 TB/s, L2 60 MiB)");
  EXPECT_EQ(old_device().compute_capability(), 75);
}
