#include "sentence.hpp"

#include <gtest/gtest.h>
#include <stet/cuda/runtime/memory.hpp>
#include <stet/cuda/runtime/nvtx.hpp>
#include <stet/cuda/runtime/query_device.hpp>
#include <stet/cuda/runtime/stream.hpp>

namespace {

TEST(no_device, everything_is_a_sentence) {
  if (stet::cuda::device_count() > 0) { GTEST_SKIP() << "there is a CUDA device"; }
  EXPECT_SENTENCE(stet::cuda::current_device(), "cuda", "run where an NVIDIA GPU");
  EXPECT_SENTENCE(stet::cuda::stream(0), "cuda", "run where an NVIDIA GPU");
  EXPECT_SENTENCE(stet::cuda::device_array<float>(10), "cuda", "run where an NVIDIA GPU");
}

TEST(no_device, questions_have_answers) {
  const int on_host = 0;
  EXPECT_FALSE(stet::cuda::is_device_pointer(&on_host));
  EXPECT_FALSE(stet::cuda::is_device_pointer(nullptr));
  EXPECT_NO_THROW(stet::cuda::device_array<float>(0)) << "nothing to allocate";
}

TEST(no_device, overflowing_sizes_are_refused_before_cuda) {
  EXPECT_SENTENCE(stet::cuda::device_array<double>(std::int64_t{1} << 61), "device_array",
                  "2305843009213693952");
  EXPECT_SENTENCE(stet::cuda::device_array<double>(-1), "device_array", "-1");
}

TEST(no_device, ranges_for_tools_cost_no_device) {
  const stet::cuda::nvtx_range outer("outer");
  const stet::cuda::nvtx_range inner("inner");
}

} // namespace
