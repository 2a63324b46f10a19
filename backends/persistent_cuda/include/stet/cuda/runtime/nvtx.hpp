#pragma once
#include <nvtx3/nvToolsExt.h>

namespace stet::cuda {

namespace detail {
/// The domain "stet" in Nsight's timelines.
inline nvtxDomainHandle_t nvtx_domain() noexcept {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("stet");
  return domain;
}
} // namespace detail

/// Marks the host's time in a scope for Nsight Systems and Nsight Compute. Costs some nanoseconds when no
/// tool listens.
///
///     const nvtx_range mark("plan");
class nvtx_range {
 public:
  /// \param name copied by the tool
  explicit nvtx_range(const char* name) noexcept {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    (void)nvtxDomainRangePushEx(detail::nvtx_domain(), &attributes);
  }
  ~nvtx_range() { (void)nvtxDomainRangePop(detail::nvtx_domain()); }
  nvtx_range(const nvtx_range&) = delete;
  nvtx_range& operator=(const nvtx_range&) = delete;
};

} // namespace stet::cuda
