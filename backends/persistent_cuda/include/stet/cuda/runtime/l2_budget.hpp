#pragma once
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "stet/cuda/runtime/l2_policy.hpp"
#include "stet/error.hpp"

namespace stet::cuda {

/// Keeps the sum of bytes × hit_ratio over the live persisting windows within the set-aside part of L2.
///
/// The set-aside is shared by all streams and kernels of a device; windows that together claim more than
/// there is evict each other's lines, which is slower than no windows. A budget knows the windows that were
/// reserved through it and nothing of others: use one per device, usually that of the `l2_set_aside`.
///
/// Host arithmetic only. Threads may reserve and return at once. Outlives its leases.
class l2_budget {
 public:
  /// A share of the budget, given back at the end of its life.
  class lease {
   public:
    lease() = default;
    lease(lease&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    lease& operator=(lease&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~lease() {
      if (budget_) { budget_->give_back(bytes_); }
    }
    std::int64_t bytes() const noexcept { return bytes_; }

   private:
    friend class l2_budget;
    lease(l2_budget& budget, std::int64_t bytes) noexcept : budget_(&budget), bytes_(bytes) {}
    l2_budget* budget_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  /// \param bytes the set-aside
  explicit l2_budget(std::int64_t bytes) : total_(std::max<std::int64_t>(bytes, 0)) {}
  l2_budget(const l2_budget&) = delete;
  l2_budget& operator=(const l2_budget&) = delete;

  /// Claims what a window needs for as long as the lease lives. Windows that are not persisting need nothing.
  ///
  /// For windows set by launch attributes or on graph nodes; an `l2_window` given the budget does it itself.
  /// The lease ends the claim, not the persisting state of the lines: see `reset_persisting_l2()`.
  ///
  /// \throws stet::error with the numbers when it would exceed the set-aside; nothing is claimed then
  [[nodiscard]] lease reserve(const l2_policy& policy) {
    const std::int64_t bytes = policy.persisting_bytes();
    const std::lock_guard lock(mutex_);
    if (bytes > total_ - used_) {
      throw stet::error("l2_budget",
                        "a window of " + std::to_string(policy.bytes) + " bytes × hit ratio " +
                            std::to_string(policy.hit_ratio) + " needs " + std::to_string(bytes) +
                            " bytes of the L2 set-aside, but " + std::to_string(total_ - used_) + " of " +
                            std::to_string(total_) + " are left",
                        "lower the hit ratio or end another window first");
    }
    used_ += bytes;
    return {*this, bytes};
  }

  /// Whether `reserve()` would succeed now.
  bool fits(const l2_policy& policy) const { return policy.persisting_bytes() <= left(); }

  std::int64_t total() const noexcept { return total_; }
  std::int64_t used() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  std::int64_t left() const { return total_ - used(); }

 private:
  void give_back(std::int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }

  mutable std::mutex mutex_;
  std::int64_t total_;
  std::int64_t used_ = 0;
};

} // namespace stet::cuda
