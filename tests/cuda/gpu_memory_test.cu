#include "gpu.hpp"
#include "sentence.hpp"

#include <numeric>
#include <stet/cuda/runtime/memory.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using stet::cuda::device_array;
using stet::cuda::is_device_pointer;
using stet::cuda::stream;

class gpu_memory : public gpu_test {};

static_assert(!std::is_copy_constructible_v<device_array<float>> &&
              !std::is_copy_assignable_v<device_array<float>>);
static_assert(std::is_nothrow_move_constructible_v<device_array<float>> &&
              std::is_nothrow_destructible_v<device_array<float>>);

void round_trip() {
  const stream own;
  device_array<int> array(1001);
  std::vector<int> there(1001), back(1001, -1);
  std::iota(there.begin(), there.end(), 7);
  array.upload(there, own);
  array.download(back, own);
  EXPECT_EQ(there, back);
}

TEST_F(gpu_memory, goes_there_and_back) { round_trip(); }

TEST_F(gpu_memory, out_of_memory_is_a_sentence_and_the_device_works_on) {
  const std::int64_t wanted = 2 * facts().global_bytes;
  const std::string bytes = std::to_string(wanted) + " bytes", total = std::to_string(facts().global_bytes);
  try {
    const device_array<char> array(wanted);
    FAIL() << "that much memory?";
  } catch (const stet::cuda::error& error) {
    EXPECT_EQ(error.status(), cudaErrorMemoryAllocation);
    EXPECT_FALSE(error.device_lost());
    EXPECT_NE(std::string(error.what()).find("gpu_memory_test.cu:"), std::string::npos)
        << "the caller's place";
    expect_sentence(error.what(),
                    {"cudaMalloc", bytes.c_str(), total.c_str(), "are free", "use smaller extents"});
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  round_trip();
}

TEST_F(gpu_memory, moves_keep_one_owner) {
  device_array<double> a(10);
  double* const data = a.data();
  device_array<double> b = std::move(a);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.bytes(), 80);
  b = device_array<double>(20); // the ten are freed
  EXPECT_EQ(b.size(), 20);
  EXPECT_TRUE(is_device_pointer(b.data()));
}

TEST_F(gpu_memory, knows_device_memory) {
  const device_array<float> array(100);
  EXPECT_TRUE(is_device_pointer(array.data()));
  EXPECT_TRUE(is_device_pointer(array.data() + 50)) << "also inside";
  const int on_stack = 0;
  EXPECT_FALSE(is_device_pointer(&on_stack));
  EXPECT_FALSE(is_device_pointer(nullptr));
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  EXPECT_FALSE(is_device_pointer(pinned));
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  void* managed = nullptr;
  if (cudaMallocManaged(&managed, 64) == cudaSuccess) {
    EXPECT_TRUE(is_device_pointer(managed));
    EXPECT_EQ(cudaFree(managed), cudaSuccess);
  }
  (void)cudaGetLastError();
}

TEST_F(gpu_memory, sizes_that_differ_are_refused) {
  const stream own;
  device_array<int> array(10);
  std::vector<int> eleven(11);
  EXPECT_SENTENCE(array.upload(eleven, own), "device_array", "10", "11");
  EXPECT_SENTENCE(array.download(eleven, own), "device_array", "10", "11");
}

TEST_F(gpu_memory, fills_in_stream_order) {
  const stream own;
  device_array<unsigned> array(1000);
  array.fill_bytes(0xff, own);
  std::vector<unsigned> back(1000);
  array.download(back, own);
  EXPECT_EQ(back, std::vector<unsigned>(1000, 0xffffffffU));
}

TEST_F(gpu_memory, empty_arrays_copy_nothing) {
  const stream own;
  device_array<int> none(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_NO_THROW(none.upload({}, own));
  EXPECT_NO_THROW(none.download({}, own));
  EXPECT_NO_THROW(none.fill_bytes(0, own));
}

} // namespace
