#include "gpu.hpp"
#include "sentence.hpp"

namespace {

class gpu_device : public gpu_test {};

TEST_F(gpu_device, facts_are_plausible) {
  const auto& f = facts();
  SCOPED_TRACE(testing::Message() << f);
  std::cout << f << "\n  persisting L2 up to " << f.persisting_l2_max << ", window up to "
            << f.access_policy_window_max << ", MPS " << f.mps << ", MIG " << f.mig << "\n";
  EXPECT_FALSE(f.name.empty());
  EXPECT_GE(f.compute_capability(), 75);
  EXPECT_GT(f.driver_version, 0);
  EXPECT_GT(f.sm_count, 0);
  EXPECT_EQ(f.warp_size, 32);
  EXPECT_GT(f.clock_ghz, 0.3);
  EXPECT_LT(f.clock_ghz, 10);
  EXPECT_GT(f.hbm_bytes_per_s, 1e11); // a unit mistaken by 8 or 1000 shows
  EXPECT_LT(f.hbm_bytes_per_s, 1e14);
  EXPECT_GT(f.global_bytes, f.l2_bytes);
  EXPECT_GE(f.registers_per_sm, f.registers_per_block);
  EXPECT_GE(f.shared_per_block_optin, f.shared_per_block);
  EXPECT_GE(f.shared_per_sm, f.shared_per_block_optin);
  EXPECT_GE(f.max_threads_per_sm, f.max_threads_per_block);
  EXPECT_GT(f.max_blocks_per_sm, 0);
  EXPECT_GE(f.max_grid_x, (std::int64_t{1} << 31) - 1);
  EXPECT_EQ(f.max_grid_y, 65535);
  EXPECT_TRUE(f.cooperative_launch);
  if (f.compute_major >= 8 && !f.mig) {
    EXPECT_GT(f.persisting_l2_max, 0);
    EXPECT_LE(f.persisting_l2_max, f.l2_bytes);
    EXPECT_GT(f.access_policy_window_max, 0);
  }
}

TEST_F(gpu_device, agrees_with_the_properties) {
  cudaDeviceProp p{};
  ASSERT_EQ(cudaGetDeviceProperties(&p, facts().ordinal), cudaSuccess);
  EXPECT_EQ(facts().l2_bytes, p.l2CacheSize);
  EXPECT_EQ(facts().persisting_l2_max, p.persistingL2CacheMaxSize);
  EXPECT_EQ(facts().access_policy_window_max, p.accessPolicyMaxWindowSize);
  EXPECT_EQ(facts().sm_count, p.multiProcessorCount);
  EXPECT_EQ(facts().global_bytes, static_cast<std::int64_t>(p.totalGlobalMem));
}

TEST_F(gpu_device, a_device_that_is_not_there_is_a_sentence) {
  EXPECT_SENTENCE(stet::cuda::query_device(stet::cuda::device_count()), "cudaErrorInvalidDevice");
}

TEST_F(gpu_device, a_check_clears_the_last_error) {
  const cudaError_t status = cudaSetDevice(-1);
  ASSERT_NE(status, cudaSuccess);
  ASSERT_EQ(cudaPeekAtLastError(), status);
  EXPECT_THROW(STET_CUDA_CHECK(status), stet::cuda::error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(gpu_device, asking_about_another_device_leaves_the_current_one) {
  const int last = stet::cuda::device_count() - 1; // the same one where there is one
  const int current = stet::cuda::current_ordinal();
  EXPECT_EQ(stet::cuda::query_device(last).ordinal, last);
  { const stet::cuda::stream other(last); }
  EXPECT_EQ(stet::cuda::current_ordinal(), current);
}

} // namespace
