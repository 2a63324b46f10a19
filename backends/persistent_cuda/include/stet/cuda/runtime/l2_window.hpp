#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "stet/cuda/runtime/device_facts.hpp"
#include "stet/cuda/runtime/error.hpp"
#include "stet/cuda/runtime/l2_budget.hpp"
#include "stet/cuda/runtime/l2_policy.hpp"
#include "stet/cuda/runtime/l2_set_aside.hpp"

namespace stet::cuda {

namespace detail {

constexpr cudaAccessProperty to_cuda(access_property property) noexcept {
  switch (property) {
  case access_property::streaming:
    return cudaAccessPropertyStreaming;
  case access_property::persisting:
    return cudaAccessPropertyPersisting;
  default:
    return cudaAccessPropertyNormal;
  }
}

constexpr access_property from_cuda(cudaAccessProperty property) noexcept {
  switch (property) {
  case cudaAccessPropertyStreaming:
    return access_property::streaming;
  case cudaAccessPropertyPersisting:
    return access_property::persisting;
  default:
    return access_property::normal;
  }
}

inline cudaAccessPolicyWindow to_cuda(const l2_policy& policy) noexcept {
  cudaAccessPolicyWindow window{};
  if (policy.bytes > 0) {
    window.base_ptr = const_cast<void*>(policy.base);
    window.num_bytes = static_cast<std::size_t>(policy.bytes);
    window.hitRatio = policy.hit_ratio;
    window.hitProp = to_cuda(policy.hit);
    window.missProp = to_cuda(policy.miss);
  }
  return window;
}

inline l2_policy from_cuda(const cudaAccessPolicyWindow& window) noexcept {
  return {.base = window.base_ptr,
          .bytes = static_cast<std::int64_t>(window.num_bytes),
          .hit_ratio = window.hitRatio,
          .hit = from_cuda(window.hitProp),
          .miss = from_cuda(window.missProp)};
}

inline cudaAccessPolicyWindow get_window(cudaStream_t stream) {
  cudaStreamAttrValue value{};
  STET_CUDA_CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  return value.accessPolicyWindow;
}

inline cudaAccessPolicyWindow get_window(cudaGraphNode_t node) {
  cudaKernelNodeAttrValue value{};
  STET_CUDA_CHECK(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value));
  return value.accessPolicyWindow;
}

inline cudaError_t try_set_window(cudaStream_t stream, const cudaAccessPolicyWindow& window) noexcept {
  cudaStreamAttrValue value{};
  value.accessPolicyWindow = window;
  return cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
}

inline cudaError_t try_set_window(cudaGraphNode_t node, const cudaAccessPolicyWindow& window) noexcept {
  cudaKernelNodeAttrValue value{};
  value.accessPolicyWindow = window;
  return cudaGraphKernelNodeSetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value);
}

} // namespace detail

/// The window that a stream has now; bytes = 0 when none. The driver may have aligned base and size.
inline l2_policy l2_window_of(cudaStream_t stream) { return detail::from_cuda(detail::get_window(stream)); }

/// The window that a kernel node of a graph has now; bytes = 0 when none.
inline l2_policy l2_window_of(cudaGraphNode_t node) { return detail::from_cuda(detail::get_window(node)); }

/// The window as an attribute of one launch: `launch(kernel, {.attributes = {&attribute, 1}}, ...)`. A launch
/// that is captured carries it into its graph node. Takes precedence over the stream's window. To stay within
/// a budget, hold `budget.reserve(policy)` for as long as the launches go on.
///
/// \throws stet::error as check_l2_policy()
inline cudaLaunchAttribute l2_launch_attribute(const l2_policy& policy, const device_facts& facts) {
  check_l2_policy(policy, facts);
  cudaLaunchAttribute attribute{};
  if (policy.bytes == 0 && !facts.supports_l2_windows()) {
    attribute.id = cudaLaunchAttributeIgnore;
    return attribute;
  }
  attribute.id = cudaLaunchAttributeAccessPolicyWindow;
  attribute.val.accessPolicyWindow = detail::to_cuda(policy);
  return attribute;
}

/// Gives every kernel node of a graph the window, for good. Executable graphs instantiated (or updated) from
/// it later have it, earlier ones do not. Kernels inside child graphs are left alone.
///
/// \return the number of kernel nodes
/// \throws stet::error as check_l2_policy(); cuda::error
inline int set_l2_window(cudaGraph_t graph, const l2_policy& policy, const device_facts& facts) {
  check_l2_policy(policy, facts);
  if (!facts.supports_l2_windows()) { return 0; }
  std::size_t count = 0;
  STET_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) { STET_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count)); }
  int kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    STET_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) { continue; }
    check(detail::try_set_window(node, detail::to_cuda(policy)), "cudaGraphKernelNodeSetAttribute");
    ++kernels;
  }
  return kernels;
}

/// Gives a stream, or a kernel node of a graph, an access-policy window while it lives, and then restores the
/// one that was there.
///
/// On a stream it applies to work put in between beginning and end of the guard, whenever that work runs, so
/// the guard may end before the kernels do. On a node it applies to graphs instantiated in between. A stream
/// or node has one window: an inner guard replaces the outer one's for its time. Guards end in the reverse
/// order of their beginning; stream, node and budget outlive them. Does not synchronise.
///
/// The end of a window does not end the persisting state of the lines. They are released by
/// `reset_persisting_l2()`, by kernels under `released(policy)`, or slowly by eviction.
class l2_window {
 public:
  /// Without a budget: the caller sees to it that the live windows fit into the set-aside.
  /// \throws stet::error as check_l2_policy(), cuda::error; the stream is then as before
  l2_window(cudaStream_t stream, const l2_policy& policy, const device_facts& facts)
      : l2_window(place(stream), policy, facts, nullptr) {}
  l2_window(cudaGraphNode_t node, const l2_policy& policy, const device_facts& facts)
      : l2_window(place(node), policy, facts, nullptr) {}

  /// Within a budget, of which the window holds its share while it lives.
  /// \throws stet::error also when the budget has not enough left
  l2_window(cudaStream_t stream, const l2_policy& policy, const device_facts& facts, l2_budget& budget)
      : l2_window(place(stream), policy, facts, &budget) {}
  l2_window(cudaGraphNode_t node, const l2_policy& policy, const device_facts& facts, l2_budget& budget)
      : l2_window(place(node), policy, facts, &budget) {}

  ~l2_window() {
    if (active_) { restore(); }
  }
  l2_window(const l2_window&) = delete;
  l2_window& operator=(const l2_window&) = delete;

  /// What was asked for.
  const l2_policy& policy() const noexcept { return policy_; }
  /// What was there before, and will be again.
  l2_policy previous() const noexcept { return detail::from_cuda(previous_); }

 private:
  using place = std::variant<cudaStream_t, cudaGraphNode_t>;

  l2_window(place where, const l2_policy& policy, const device_facts& facts, l2_budget* budget)
      : where_(where), policy_(policy) {
    check_l2_policy(policy, facts);
    if (!facts.supports_l2_windows()) { return; } // no window on a device without windows: nothing to do
    if (budget) { lease_ = budget->reserve(policy); }
    previous_ = std::visit([](auto target) { return detail::get_window(target); }, where_);
    check(set(detail::to_cuda(policy)), "l2_window");
    active_ = true;
  }

  cudaError_t set(const cudaAccessPolicyWindow& window) const noexcept {
    return std::holds_alternative<cudaStream_t>(where_)
               ? detail::try_set_window(*std::get_if<cudaStream_t>(&where_), window)
               : detail::try_set_window(*std::get_if<cudaGraphNode_t>(&where_), window);
  }

  void restore() noexcept {
    if (set(previous_) == cudaSuccess) { return; }
    cudaAccessPolicyWindow none = detail::to_cuda(policy_); // rather no window than ours
    none.num_bytes = 0;
    (void)set(none);
    (void)cudaGetLastError();
  }

  place where_;
  l2_policy policy_;
  l2_budget::lease lease_;
  cudaAccessPolicyWindow previous_{};
  bool active_ = false;
};

} // namespace stet::cuda
