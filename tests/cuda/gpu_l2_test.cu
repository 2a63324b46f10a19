#include "facts.hpp"
#include "gpu.hpp"
#include "sentence.hpp"

#include <algorithm>
#include <stdexcept>
#include <stet/cuda/runtime/l2_set_aside.hpp>
#include <stet/cuda/runtime/l2_window.hpp>
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>
#include <stet/cuda/runtime/windowed_launches.hpp>
#include <type_traits>
#include <vector>

namespace {

using namespace stet::cuda;

static_assert(!std::is_copy_constructible_v<l2_window> && !std::is_move_constructible_v<l2_window>);
static_assert(!std::is_copy_constructible_v<l2_set_aside> && !std::is_move_constructible_v<l2_set_aside>);
static_assert(std::is_nothrow_destructible_v<l2_window> && std::is_nothrow_destructible_v<l2_set_aside>);

__global__ void add(int* out, const int* table, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) { out[i] += table[i]; }
}

class gpu_l2 : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) { return; }
    if (!facts().supports_l2_windows()) { GTEST_SKIP() << facts() << " has no L2 access-policy windows"; }
    before_ = persisting_l2_bytes(facts().ordinal);
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(persisting_l2_bytes(facts().ordinal), before_) << "the set-aside has changed";
    }
    gpu_test::TearDown();
  }

  /// A size that the set-aside can be changed to and that differs from the present one.
  std::int64_t another_size() const {
    const std::int64_t half = facts().persisting_l2_max / 2;
    return half == before_ ? facts().persisting_l2_max / 4 : half;
  }
  bool set_aside_can_change() const { return !facts().mps && !facts().mig; }

  static cudaAccessPolicyWindow raw_window(cudaStream_t stream) {
    cudaStreamAttrValue value{};
    EXPECT_EQ(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value), cudaSuccess);
    return value.accessPolicyWindow;
  }

  /// The one kernel node of a graph of one node.
  static cudaGraphNode_t only_node(cudaGraph_t graph) {
    cudaGraphNode_t node{};
    std::size_t count = 1;
    EXPECT_EQ(cudaGraphGetNodes(graph, &node, &count), cudaSuccess);
    EXPECT_EQ(count, 1U);
    return node;
  }

  static constexpr int count = 1 << 18; // 1 MiB
  std::int64_t before_ = 0;
};

void expect_window(const l2_policy& found, const l2_policy& wanted) {
  EXPECT_EQ(found.base, wanted.base);
  EXPECT_EQ(found.bytes, wanted.bytes);
  EXPECT_FLOAT_EQ(found.hit_ratio, wanted.hit_ratio);
  EXPECT_EQ(found.hit, wanted.hit);
  EXPECT_EQ(found.miss, wanted.miss);
}

// --- set-aside
// --------------------------------------------------------------------------------------------------

TEST_F(gpu_l2, set_aside_is_restored) {
  if (!set_aside_can_change()) { GTEST_SKIP() << "under MPS or MIG the set-aside is not ours to change"; }
  {
    l2_set_aside aside(another_size(), facts());
    EXPECT_EQ(aside.previous_bytes(), before_);
    EXPECT_EQ(aside.bytes(), persisting_l2_bytes(facts().ordinal)) << "what the driver granted";
    EXPECT_NE(aside.bytes(), before_) << "it had no effect";
    EXPECT_EQ(aside.budget().total(), aside.bytes());
    {
      l2_set_aside inner(facts().persisting_l2_max, facts());
      EXPECT_EQ(inner.previous_bytes(), aside.bytes());
    }
    EXPECT_EQ(persisting_l2_bytes(facts().ordinal), aside.bytes());
  }
  EXPECT_EQ(persisting_l2_bytes(facts().ordinal), before_);
}

TEST_F(gpu_l2, set_aside_is_restored_on_exceptions) {
  if (!set_aside_can_change()) { GTEST_SKIP() << "under MPS or MIG the set-aside is not ours to change"; }
  EXPECT_THROW(
      {
        l2_set_aside aside(another_size(), facts());
        throw std::logic_error("x");
      },
      std::logic_error);
  EXPECT_EQ(persisting_l2_bytes(facts().ordinal), before_);
}

TEST_F(gpu_l2, impossible_set_asides_are_sentences) {
  const std::string most = std::to_string(facts().persisting_l2_max);
  if (!facts().mig) {
    EXPECT_SENTENCE(l2_set_aside(facts().persisting_l2_max + 1, facts()), "l2_set_aside", most.c_str());
    EXPECT_SENTENCE(l2_set_aside(-1, facts()), "l2_set_aside", "-1 bytes");
  }
  device_facts other = facts(); // as another device would tell
  other.persisting_l2_max = 0;
  EXPECT_SENTENCE(l2_set_aside(1, other), "l2_set_aside", "no L2 set-aside");
  other = facts();
  other.mig = true;
  EXPECT_SENTENCE(l2_set_aside(1, other), "l2_set_aside", "MIG");
  other = facts();
  other.mps = true;
  other.mig = false;
  if (before_ < facts().persisting_l2_max) {
    EXPECT_SENTENCE(l2_set_aside(before_ + 1, other), "MPS",
                    "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT");
  }
  l2_set_aside kept(before_, other); // no change is wanted: allowed
  EXPECT_EQ(kept.bytes(), before_);
}

// --- window of a stream
// -------------------------------------------------------------------------------------------

TEST_F(gpu_l2, stream_window_is_set_and_restored) {
  const stream own, other;
  const device_array<int> table(count);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes(), .hit_ratio = 0.5F};
  const cudaAccessPolicyWindow before = raw_window(own);
  EXPECT_EQ(before.num_bytes, 0U);
  {
    const l2_window window(own, policy, facts());
    expect_window(l2_window_of(own), policy);
    EXPECT_EQ(window.previous().bytes, 0);
    EXPECT_EQ(l2_window_of(other).bytes, 0) << "another stream has nothing of it";
  }
  const cudaAccessPolicyWindow after = raw_window(own);
  EXPECT_EQ(after.num_bytes, 0U);
  EXPECT_EQ(after.hitProp, before.hitProp);
  EXPECT_EQ(after.missProp, before.missProp);
}

TEST_F(gpu_l2, every_property_arrives) {
  const stream own;
  const device_array<int> table(count);
  for (const auto hit : {access_property::normal, access_property::streaming, access_property::persisting}) {
    for (const auto miss : {access_property::normal, access_property::streaming}) {
      const l2_policy policy{
          .base = table.data(), .bytes = table.bytes(), .hit_ratio = 1, .hit = hit, .miss = miss};
      const l2_window window(own, policy, facts());
      expect_window(l2_window_of(own), policy);
    }
  }
}

TEST_F(gpu_l2, the_user_s_own_window_comes_back_also_on_exceptions) {
  const stream own;
  const device_array<int> table(count);
  cudaStreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = table.data() + 1024;
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.25F;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyStreaming;
  value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
  ASSERT_EQ(cudaStreamSetAttribute(own, cudaStreamAttributeAccessPolicyWindow, &value), cudaSuccess);
  const l2_policy users = l2_window_of(own);
  ASSERT_EQ(users.bytes, 4096);

  const l2_policy policy{.base = table.data(), .bytes = table.bytes()};
  EXPECT_THROW(
      {
        const l2_window outer(own, policy, facts());
        const l2_window inner(own, released(policy), facts());
        expect_window(l2_window_of(own), released(policy));
        throw std::logic_error("x");
      },
      std::logic_error);
  expect_window(l2_window_of(own), users);
}

TEST_F(gpu_l2, refused_windows_change_nothing) {
  const stream own;
  const device_array<int> table(count);
  const std::string largest = std::to_string(facts().access_policy_window_max);
  l2_policy policy{.base = table.data(), .bytes = facts().access_policy_window_max + 1};
  l2_budget budget(std::int64_t{1} << 50);
  EXPECT_SENTENCE(l2_window(own, policy, facts(), budget), "l2_window", largest.c_str());
  EXPECT_EQ(l2_window_of(own).bytes, 0);
  EXPECT_EQ(budget.used(), 0);
  policy.bytes = table.bytes();
  EXPECT_SENTENCE(l2_window(own, policy, old_device(), budget), "has no L2 access-policy windows");
  EXPECT_EQ(l2_window_of(own).bytes, 0);
}

TEST_F(gpu_l2, no_window_is_no_call_on_devices_without_windows) {
  const stream own;
  l2_budget budget(0);
  const l2_window window(own, {}, old_device(), budget);
  EXPECT_EQ(l2_launch_attribute({}, old_device()).id, cudaLaunchAttributeIgnore);
}

TEST_F(gpu_l2, a_window_of_0_bytes_switches_the_outer_one_off) {
  const stream own;
  const device_array<int> table(count);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes()};
  const l2_window outer(own, policy, facts());
  {
    const l2_window off(own, {}, facts());
    EXPECT_EQ(l2_window_of(own).bytes, 0);
  }
  expect_window(l2_window_of(own), policy);
}

// --- budget
// --------------------------------------------------------------------------------------------------------

TEST_F(gpu_l2, budget_keeps_windows_of_several_streams_within_the_set_aside) {
  const stream first, second;
  const device_array<int> table(count);
  l2_budget budget(table.bytes() + table.bytes() / 2);
  const l2_policy whole{.base = table.data(), .bytes = table.bytes()};
  {
    const l2_window window(first, whole, facts(), budget);
    EXPECT_EQ(budget.used(), table.bytes());
    EXPECT_SENTENCE(l2_window(second, whole, facts(), budget), "l2_budget", "are left");
    EXPECT_EQ(l2_window_of(second).bytes, 0) << "a refused window was set";
    l2_policy half = whole;
    half.hit_ratio = 0.5F;
    const l2_window fits(second, half, facts(), budget);
    EXPECT_EQ(budget.left(), 0);
  }
  EXPECT_EQ(budget.used(), 0);
  const l2_window later(second, whole, facts(), budget);
}

// --- launches and graphs
// -------------------------------------------------------------------------------------------

TEST_F(gpu_l2, launch_attribute_reaches_the_captured_node) {
  const stream own;
  const device_array<int> table(count), out(count);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes(), .hit_ratio = 0.75F};
  const cudaLaunchAttribute attribute = l2_launch_attribute(policy, facts());
  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_NO_THROW(launch(
      &add, {.grid = count / 256, .block = 256, .stream = own, .name = "add", .attributes = {&attribute, 1}},
      out.data(), table.data(), count));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);
  expect_window(l2_window_of(only_node(graph)), policy);
  EXPECT_EQ(l2_window_of(own).bytes, 0) << "a launch attribute is not the stream's";
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_l2, stream_window_reaches_the_captured_node) {
  const stream own;
  const device_array<int> table(count), out(count);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes()};
  cudaGraph_t graph = nullptr;
  {
    const l2_window window(own, policy, facts());
    ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_NO_THROW(launch(&add, {.grid = count / 256, .block = 256, .stream = own, .name = "add"},
                           out.data(), table.data(), count));
    ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);
  }
  expect_window(l2_window_of(only_node(graph)), policy);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_l2, node_window_is_set_and_restored_and_the_graph_computes_the_same) {
  const stream own;
  device_array<int> table(count), out(count);
  std::vector<int> values(count), back(count);
  for (int i = 0; i < count; ++i) { values[i] = i % 1000; }
  table.upload(values, own);
  out.fill_bytes(0, own);
  own.synchronize();

  ASSERT_EQ(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_NO_THROW(launch(&add, {.grid = count / 256, .block = 256, .stream = own, .name = "add"}, out.data(),
                         table.data(), count));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(own, &graph), cudaSuccess);
  const cudaGraphNode_t node = only_node(graph);
  EXPECT_EQ(l2_window_of(node).bytes, 0);

  const l2_policy policy{.base = table.data(), .bytes = table.bytes(), .hit_ratio = 0.5F};
  l2_budget budget(table.bytes());
  cudaGraphExec_t exec = nullptr;
  try {
    const l2_window window(node, policy, facts(), budget);
    expect_window(l2_window_of(node), policy);
    EXPECT_EQ(budget.used(), table.bytes() / 2);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    throw std::logic_error("x");
  } catch (const std::logic_error&) {}
  EXPECT_EQ(l2_window_of(node).bytes, 0);
  EXPECT_EQ(budget.used(), 0);

  EXPECT_EQ(set_l2_window(graph, policy, facts()), 1);
  expect_window(l2_window_of(node), policy);
  EXPECT_EQ(set_l2_window(graph, {}, facts()), 1);
  EXPECT_EQ(l2_window_of(node).bytes, 0);

  for (int i = 0; i < 3; ++i) { ASSERT_EQ(cudaGraphLaunch(exec, own), cudaSuccess); }
  out.download(back, own);
  for (int& value : values) { value *= 3; }
  EXPECT_EQ(back, values);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(gpu_l2, windowed_launches_set_aside_what_they_claim_and_restore_it_also_on_exceptions) {
  if (!set_aside_can_change()) { GTEST_SKIP() << "under MPS or MIG the set-aside is not ours to change"; }
  const stream own;
  const device_array<int> table(count), out(count);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes(), .hit_ratio = 0.5F};
  EXPECT_THROW(
      {
        const windowed_launches window(policy, facts());
        EXPECT_GT(persisting_l2_bytes(facts().ordinal), 0);
        expect_window(window.policy(), policy);
        EXPECT_EQ(l2_window_of(own).bytes, 0) << "no stream is changed";
        ASSERT_EQ(window.attributes().size(), 1U);
        const auto& set = window.attributes()[0];
        EXPECT_EQ(set.id, cudaLaunchAttributeAccessPolicyWindow);
        EXPECT_EQ(set.val.accessPolicyWindow.base_ptr, table.data());
        EXPECT_EQ(set.val.accessPolicyWindow.num_bytes, static_cast<std::size_t>(table.bytes()));
        throw std::logic_error("x");
      },
      std::logic_error);
  EXPECT_EQ(persisting_l2_bytes(facts().ordinal), before_);

  l2_policy oversized = policy; // refused when the set-aside has been changed already
  oversized.bytes = facts().access_policy_window_max + 1;
  oversized.hit_ratio = 0;
  EXPECT_SENTENCE(windowed_launches(oversized, facts()), "l2_window");
  EXPECT_EQ(persisting_l2_bytes(facts().ordinal), before_);
}

// --- release
// -------------------------------------------------------------------------------------------------------

TEST_F(gpu_l2, all_three_ways_of_release_leave_data_right_and_streams_usable) {
  const stream own;
  device_array<int> table(count), out(count);
  std::vector<int> values(count, 5), back(count);
  table.upload(values, own);
  out.fill_bytes(0, own);
  const l2_policy policy{.base = table.data(), .bytes = table.bytes()};
  const launch_config config{.grid = count / 256, .block = 256, .stream = own, .name = "add"};
  {
    const l2_window window(own, policy, facts());
    launch(&add, config, out.data(), table.data(), count);
  } // 1: window of 0 bytes
  EXPECT_EQ(l2_window_of(own).bytes, 0);
  {
    const l2_window normal(own, released(policy), facts()); // 2: the property normal
    launch(&add, config, out.data(), table.data(), count);
  }
  own.synchronize();
  EXPECT_NO_THROW(reset_persisting_l2(facts().ordinal)); // 3: reset
  launch(&add, config, out.data(), table.data(), count);
  out.download(back, own);
  EXPECT_EQ(back, std::vector<int>(count, 15));
}

} // namespace
