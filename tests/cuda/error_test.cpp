#include "sentence.hpp"

#include <gtest/gtest.h>
#include <stet/cuda/runtime/error.hpp>
#include <string>

namespace {

cudaError_t returns(cudaError_t status) { return status; }

TEST(cuda_error, says_api_status_place_and_remedy) {
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    STET_CUDA_CHECK(returns(cudaErrorMemoryAllocation));
    FAIL();
  } catch (const stet::cuda::error& error) {
    EXPECT_EQ(error.status(), cudaErrorMemoryAllocation);
    EXPECT_EQ(error.api(), "returns");
    EXPECT_EQ(error.argument(), "returns");
    EXPECT_EQ(error.where().line(), line);
    EXPECT_FALSE(error.device_lost());
    const std::string place = "error_test.cpp:" + std::to_string(line);
    expect_sentence(error.what(), {"stet: returns: cudaErrorMemoryAllocation (out of memory)", place.c_str(),
                                   "use smaller extents"});
  }
}

TEST(cuda_error, success_does_nothing) { EXPECT_NO_THROW(STET_CUDA_CHECK(returns(cudaSuccess))); }

TEST(cuda_error, evaluates_its_call_once) {
  int calls = 0;
  STET_CUDA_CHECK((++calls, cudaSuccess));
  EXPECT_EQ(calls, 1);
}

TEST(cuda_error, is_caught_as_the_library_s_error_and_as_a_standard_one) {
  EXPECT_THROW(STET_CUDA_CHECK(returns(cudaErrorInvalidValue)), stet::error);
  EXPECT_THROW(STET_CUDA_CHECK(returns(cudaErrorInvalidValue)), std::runtime_error);
}

TEST(cuda_error, knows_when_the_device_is_lost) {
  using stet::cuda::error;
  EXPECT_TRUE(error(cudaErrorIllegalAddress, "k").device_lost());
  EXPECT_TRUE(error(cudaErrorLaunchFailure, "k").device_lost());
  expect_sentence(error(cudaErrorIllegalAddress, "k").what(), {"start a new one"});
  EXPECT_FALSE(error(cudaErrorInvalidValue, "k").device_lost());
  EXPECT_FALSE(error(cudaErrorCooperativeLaunchTooLarge, "k").device_lost());
}

TEST(cuda_error, remedies_fit_the_status) {
  using stet::cuda::error;
  expect_sentence(error(cudaErrorNoKernelImageForDevice, "k").what(), {"CMAKE_CUDA_ARCHITECTURES"});
  expect_sentence(error(cudaErrorNoDevice, "k").what(), {"CUDA_VISIBLE_DEVICES"});
  expect_sentence(error(cudaErrorStreamCaptureUnsupported, "k").what(),
                  {"before or after the stream capture"});
}

} // namespace
