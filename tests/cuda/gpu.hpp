#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <stet/cuda/runtime/query_device.hpp>
#include <stet/cuda/runtime/stream.hpp>

/// Base of the suites that need a device: they skip where there is none. After each test the device must
/// still work and nothing may be left in CUDA's last error.
class gpu_test : public testing::Test {
 protected:
  void SetUp() override {
    if (stet::cuda::device_count() == 0) { GTEST_SKIP() << "no CUDA device is visible (cudaErrorNoDevice)"; }
  }

  void TearDown() override {
    if (IsSkipped()) { return; }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "left behind as last error";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  static const stet::cuda::device_facts& facts() {
    static const stet::cuda::device_facts facts = stet::cuda::current_device();
    return facts;
  }
};
