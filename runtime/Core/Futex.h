// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A number that threads can wait for. Setting it wakes all of them at
/// once, whereas a mutex would wake one after the other.
///
///     uint32_t seen = futex.get();
///     while (!isDone())
///       futex.wait(seen, absl::Milliseconds(20)), seen = futex.get();
///
/// A Futex is for the threads of one process. A SharedFutex is in memory that
/// processes share; memory filled with zeros is a SharedFutex whose number is
/// 0.

#ifndef TPRT_CORE_FUTEX_H
#define TPRT_CORE_FUTEX_H

#include "absl/time/time.h"

#include <atomic>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tprt {

template <int privateFlag> class BasicFutex {
public:
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Sets the number and wakes all waiting threads. This takes a system call
  /// only if a thread sleeps.
  void set(uint32_t newValue) {
    value.store(newValue, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      call(FUTEX_WAKE | privateFlag, INT_MAX, nullptr);
  }

  /// Sleeps until the number is no longer `seen`, but not longer than `limit`.
  /// It may return early.
  void wait(uint32_t seen, absl::Duration limit) const {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (value.load(std::memory_order_seq_cst) == seen) {
      timespec time = absl::ToTimespec(limit);
      call(FUTEX_WAIT | privateFlag, seen,
           limit == absl::InfiniteDuration() ? nullptr : &time);
    }
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

private:
  void call(int operation, uint32_t argument, const timespec *time) const {
    static_assert(sizeof(value) == sizeof(uint32_t));
    syscall(SYS_futex, &value, operation, argument, time, nullptr, 0);
  }

  static_assert(std::atomic<uint32_t>::is_always_lock_free);
  std::atomic<uint32_t> value{0};
  mutable std::atomic<uint32_t> sleepers{0};
};

using Futex = BasicFutex<FUTEX_PRIVATE_FLAG>;
using SharedFutex = BasicFutex<0>;

} // namespace tprt

#endif // TPRT_CORE_FUTEX_H
