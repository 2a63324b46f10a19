#include "gpu.hpp"
#include "sentence.hpp"

#include <chrono>
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>
#include <thread>
#include <vector>

namespace {

using stet::cuda::cooperative_capacity;
using stet::cuda::device_array;
using stet::cuda::event;
using stet::cuda::launch;
using stet::cuda::launch_cooperative;
using stet::cuda::stream;

class gpu_launch : public gpu_test {};

__global__ void store(double* out, long long a, float b, const char c) {
  out[0] = static_cast<double>(a);
  out[1] = b;
  out[2] = c;
}

__global__ void nothing() {}

__global__ void last_byte(int bytes, int* out) {
  extern __shared__ char shared[];
  shared[bytes - 1] = 42;
  *out = shared[bytes - 1];
}

/// A barrier over the grid, once: every block waits until all have come.
__global__ void meet(unsigned* arrived, unsigned* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1U);
    while (*static_cast<volatile unsigned*>(arrived) < gridDim.x) {}
    __threadfence();
    atomicAdd(out, 1U);
  }
}

/// Holds its multiprocessor until the host says so, at most 10 s.
__global__ void hold(const volatile int* released) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (!*released && now - begin < 10'000'000'000ULL);
}

TEST_F(gpu_launch, converts_arguments_to_the_kernel_s_types) {
  const stream own;
  device_array<double> out(3);
  std::vector<double> back(3);
  launch(&store, {.stream = own, .name = "store"}, out.data(), 7, 0.5,
         'c'); // int to long long, double to float
  out.download(back, own);
  EXPECT_EQ(back, (std::vector<double>{7, 0.5, 'c'}));
  launch(&store, 1, 1, 0, own, "store", out.data(), -1LL, 2, 'd');
  out.download(back, own);
  EXPECT_EQ(back, (std::vector<double>{-1, 2, 'd'}));
}

TEST_F(gpu_launch, a_refused_launch_names_the_kernel_and_is_forgotten) {
  const stream own;
  EXPECT_SENTENCE(launch(&nothing, {.block = 4096, .stream = own, .name = "nothing"}), "nothing",
                  "4096x1x1 threads", "gpu_launch_test.cu:");
  EXPECT_SENTENCE(launch(&nothing, {.grid = {1, 70'000, 1}, .stream = own, .name = "nothing"}),
                  "1x70000x1 blocks");
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_NO_THROW(launch(&nothing, {.stream = own}));
}

TEST_F(gpu_launch, shared_memory_beyond_48_KiB_is_opted_in) {
  const stream own;
  device_array<int> out(1);
  std::vector<int> back(1);
  const int most = static_cast<int>(facts().shared_per_block_optin);
  for (const int bytes : {1, 48 << 10, most, 1000}) { // and a smaller one afterwards
    launch(&last_byte,
           {.dynamic_shared = static_cast<std::size_t>(bytes), .stream = own, .name = "last_byte"}, bytes,
           out.data());
    out.download(back, own);
    EXPECT_EQ(back[0], 42) << bytes;
  }
  const std::string device_has = "the device has " + std::to_string(most);
  EXPECT_SENTENCE(
      launch(&last_byte, {.dynamic_shared = most + 1UL, .stream = own, .name = "last_byte"}, 1, out.data()),
      "last_byte", device_has.c_str(), "smaller tile");
  EXPECT_SENTENCE((void)cooperative_capacity(&last_byte, 32, most + 1UL, "last_byte"), "last_byte");
}

TEST_F(gpu_launch, capacity_follows_the_limits) {
  const auto full = cooperative_capacity(&nothing, facts().max_threads_per_block, 0);
  EXPECT_EQ(full, facts().sm_count * (facts().max_threads_per_sm / facts().max_threads_per_block));
  const auto shared =
      cooperative_capacity(&last_byte, 32, static_cast<std::size_t>(facts().shared_per_block_optin));
  EXPECT_EQ(shared, facts().sm_count) << "one block fills a multiprocessor's shared memory";
}

TEST_F(gpu_launch, all_blocks_of_a_full_cooperative_grid_meet) {
  const stream own;
  device_array<unsigned> counts(2);
  for (const int threads : {32, 256, 1024}) {
    const auto blocks = static_cast<unsigned>(cooperative_capacity(&meet, threads, 0));
    counts.fill_bytes(0, own);
    launch_cooperative(
        &meet, {.grid = blocks, .block = static_cast<unsigned>(threads), .stream = own, .name = "meet"},
        counts.data(), counts.data() + 1);
    std::vector<unsigned> back(2);
    counts.download(back, own);
    EXPECT_EQ(back, (std::vector<unsigned>{blocks, blocks}));
  }
}

TEST_F(gpu_launch, more_blocks_than_can_meet_are_refused_and_not_launched) {
  const stream own;
  device_array<unsigned> counts(2);
  counts.fill_bytes(0, own);
  const auto capacity = cooperative_capacity(&meet, 256, 0);
  const std::string holds = "holds " + std::to_string(capacity);
  const stet::cuda::launch_config config{
      .grid = static_cast<unsigned>(capacity + 1), .block = 256, .stream = own, .name = "meet"};
  try {
    launch_cooperative(&meet, config, counts.data(), counts.data() + 1);
    FAIL() << "it was launched";
  } catch (const stet::cuda::error& error) {
    EXPECT_EQ(error.status(), cudaErrorCooperativeLaunchTooLarge);
    expect_sentence(error.what(), {"meet", std::to_string(capacity + 1).c_str(), holds.c_str(), "fewer"});
  }
  std::vector<unsigned> back(2);
  counts.download(back, own);
  EXPECT_EQ(back, std::vector<unsigned>(2, 0));
}

TEST_F(gpu_launch, kernels_that_hold_multiprocessors_only_delay_a_cooperative_launch) {
  int* released = nullptr;
  ASSERT_EQ(cudaMallocHost(&released, sizeof(int)), cudaSuccess);
  *static_cast<volatile int*>(released) = 0;
  const stream holder, own;
  device_array<unsigned> counts(2);
  counts.fill_bytes(0, own);
  own.synchronize();
  const auto blocks = static_cast<unsigned>(cooperative_capacity(&meet, 1024, 0));
  const stet::cuda::launch_config config{.grid = blocks, .block = 1024, .stream = own, .name = "meet"};
  launch(&hold, {.grid = 4, .block = 1024, .stream = holder, .name = "hold"}, released);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));

  EXPECT_EQ(cooperative_capacity(&meet, 1024, 0), blocks) << "what is busy lowers nothing";
  event done;
  EXPECT_NO_THROW(launch_cooperative(&meet, config, counts.data(), counts.data() + 1));
  done.record(own);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(cudaEventQuery(done.get()), cudaErrorNotReady) << "it cannot have run beside the holder";
  (void)cudaGetLastError();
  *static_cast<volatile int*>(released) = 1;
  own.synchronize();
  std::vector<unsigned> back(2);
  counts.download(back, own);
  EXPECT_EQ(back, (std::vector<unsigned>{blocks, blocks}));
  holder.synchronize();
  EXPECT_EQ(cudaFreeHost(released), cudaSuccess);
}

TEST_F(gpu_launch, a_cooperative_launch_can_be_captured) {
  const stream own;
  device_array<unsigned> counts(2);
  counts.fill_bytes(0, own);
  own.synchronize();
  const auto blocks = static_cast<unsigned>(cooperative_capacity(&meet, 256, 0));
  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_NO_THROW(launch_cooperative(&meet, {.grid = blocks, .block = 256, .stream = own, .name = "meet"},
                                     counts.data(), counts.data() + 1));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);
  cudaGraphNode_t node{};
  std::size_t count = 1;
  ASSERT_EQ(cudaGraphGetNodes(graph, &node, &count), cudaSuccess);
  ASSERT_EQ(count, 1U);
  cudaKernelNodeAttrValue value{};
  ASSERT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeCooperative, &value), cudaSuccess);
  EXPECT_EQ(value.cooperative, 1);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, own), cudaSuccess);
  std::vector<unsigned> back(2);
  counts.download(back, own);
  EXPECT_EQ(back, (std::vector<unsigned>{blocks, blocks}));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_launch, clusters_count_whole) {
  if (!facts().cluster_launch) { GTEST_SKIP() << "the device has no clusters"; }
  const stream own;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 4;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  stet::cuda::launch_config config{
      .grid = 4, .block = 256, .stream = own, .name = "meet", .attributes = {&cluster, 1}};
  const auto blocks = cooperative_capacity(&meet, config);
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(blocks % 4, 0);
  EXPECT_LE(blocks, cooperative_capacity(&meet, 256, 0));
  device_array<unsigned> counts(2);
  counts.fill_bytes(0, own);
  config.grid = static_cast<unsigned>(blocks);
  EXPECT_NO_THROW(launch_cooperative(&meet, config, counts.data(), counts.data() + 1));
  std::vector<unsigned> back(2);
  counts.download(back, own);
  EXPECT_EQ(back, std::vector<unsigned>(2, static_cast<unsigned>(blocks)));
}

} // namespace
