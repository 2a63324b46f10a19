#include "gpu.hpp"
#include "sentence.hpp"

#include <stet/cuda/runtime/capture.hpp>
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>
#include <vector>

namespace {

using stet::cuda::device_array;
using stet::cuda::is_capturing;
using stet::cuda::stream;

class gpu_capture : public gpu_test {};

__global__ void add_one(int* value) { ++*value; }

TEST_F(gpu_capture, is_seen_from_begin_to_end) {
  const stream own, other;
  EXPECT_FALSE(is_capturing(own));
  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(is_capturing(own));
  EXPECT_FALSE(is_capturing(other));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);
  EXPECT_FALSE(is_capturing(own));
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_capture, a_refusal_leaves_the_capture_whole) {
  const stream own;
  device_array<int> value(1);
  value.fill_bytes(0, own);
  own.synchronize();
  std::vector<int> back(1, -1);

  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  stet::cuda::launch(&add_one, {.stream = own, .name = "add_one"}, value.data());
  EXPECT_SENTENCE(value.download(back, own), "cannot be captured into a CUDA graph");
  EXPECT_SENTENCE(stet::cuda::refuse_capture(own, "a run that checks a tolerance"),
                  "a run that checks a tolerance");
  stet::cuda::launch(&add_one, {.stream = own, .name = "add_one"}, value.data());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);

  value.download(back, own);
  EXPECT_EQ(back[0], 0) << "recorded, not run";
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) { ASSERT_EQ(cudaGraphLaunch(exec, own), cudaSuccess); }
  value.download(back, own);
  EXPECT_EQ(back[0], 6);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_capture, is_seen_when_already_invalid) {
  const stream own;
  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_NE(cudaStreamSynchronize(own), cudaSuccess); // invalidates it
  (void)cudaGetLastError();
  EXPECT_TRUE(is_capturing(own));
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(own, &graph), cudaSuccess);
  (void)cudaGetLastError();
}

} // namespace
