#pragma once
// Devices written by hand.
#include <stet/cuda/runtime/device_facts.hpp>

/// About an H200. What plans read of it is right; the L2 limits are round numbers.
inline stet::cuda::device_facts big_device() {
  stet::cuda::device_facts facts;
  facts.name = "big";
  facts.compute_major = 9;
  facts.sm_count = 132;
  facts.clock_ghz = 1.98;
  facts.hbm_bytes_per_s = 4.8e12;
  facts.registers_per_sm = 65536;
  facts.shared_per_sm = 228 << 10;
  facts.shared_per_block_optin = 227 << 10;
  facts.shared_reserved_per_block = 1 << 10;
  facts.max_threads_per_sm = 2048;
  facts.max_threads_per_block = 1024;
  facts.l2_bytes = 60 << 20;
  facts.persisting_l2_max = 32 << 20;
  facts.access_policy_window_max = 128 << 20;
  facts.cooperative_launch = true;
  return facts;
}

/// One of compute capability 7.5: no L2 windows, no set-aside.
inline stet::cuda::device_facts old_device() {
  stet::cuda::device_facts facts = big_device();
  facts.name = "old";
  facts.compute_major = 7;
  facts.compute_minor = 5;
  facts.persisting_l2_max = 0;
  facts.access_policy_window_max = 0;
  return facts;
}
