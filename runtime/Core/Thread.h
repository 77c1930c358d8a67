// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A thread whose failure to start is returned as an error; std::thread
/// would throw.

#ifndef TPRT_CORE_THREAD_H
#define TPRT_CORE_THREAD_H

#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <pthread.h>

namespace tprt {

class Thread {
public:
  /// Returns LimitReached if no further thread can be started.
  static absl::StatusOr<Thread> start(std::function<void()> body);

  Thread(Thread &&) = default;
  Thread &operator=(Thread &&) = default;
  /// Waits for the thread to end.
  ~Thread() = default;
  /// Detaches the thread: it continues, and the destructor does not wait for
  /// it.
  void detach() &&;

private:
  struct Join {
    void operator()(pthread_t *thread) const;
  };
  explicit Thread(std::unique_ptr<pthread_t, Join> thread)
      : thread(std::move(thread)) {}

  std::unique_ptr<pthread_t, Join> thread;
};

} // namespace tprt

#endif // TPRT_CORE_THREAD_H
