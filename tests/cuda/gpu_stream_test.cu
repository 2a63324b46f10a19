#include "gpu.hpp"

#include <stet/cuda/runtime/launch.hpp>
#include <type_traits>
#include <utility>

namespace {

using stet::cuda::event;
using stet::cuda::stream;

class gpu_stream : public gpu_test {};

static_assert(!std::is_copy_constructible_v<stream> && std::is_nothrow_move_constructible_v<stream>);
static_assert(!std::is_copy_constructible_v<event> && std::is_nothrow_move_constructible_v<event>);

/// Spins for about so many nanoseconds.
__global__ void spin(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - begin < nanoseconds);
}

TEST_F(gpu_stream, does_not_wait_for_stream_0) {
  const stream own;
  unsigned flags = 0;
  ASSERT_EQ(cudaStreamGetFlags(own, &flags), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_NE(own.get(), nullptr);
  EXPECT_EQ(own.device(), stet::cuda::current_ordinal());
  EXPECT_EQ(stet::cuda::device_of(own), own.device());
}

TEST_F(gpu_stream, moves_keep_one_owner) {
  stream a;
  const cudaStream_t handle = a;
  stream b = std::move(a);
  EXPECT_EQ(a.get(), nullptr);
  EXPECT_EQ(b.get(), handle);
  a = std::move(b);
  EXPECT_EQ(a.get(), handle);
  EXPECT_NO_THROW(a.synchronize());
}

TEST_F(gpu_stream, events_measure_seconds) {
  const stream own;
  event start, stop;
  start.record(own);
  stet::cuda::launch(&spin, {.stream = own, .name = "spin"}, 20'000'000);
  stop.record(own);
  const double seconds = stop.seconds_since(start); // waits by itself
  EXPECT_GE(seconds, 0.019);
  EXPECT_LT(seconds, 2);
}

TEST_F(gpu_stream, an_event_blocks_another_stream) {
  const stream first, second;
  event done, last;
  stet::cuda::launch(&spin, {.stream = first, .name = "spin"}, 50'000'000);
  done.record(first);
  done.block(second);
  last.record(second);
  EXPECT_EQ(cudaEventQuery(last.get()), cudaErrorNotReady);
  (void)cudaGetLastError();
  last.synchronize();
  EXPECT_EQ(cudaEventQuery(done.get()), cudaSuccess);
}

} // namespace
