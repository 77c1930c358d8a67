// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives that go on while a rank computes: one thread for each rank
/// carries them out, whole and in the order of their starts. As all ranks start
/// theirs in the same order, none waits for a later one.
///
///     auto progress = Progress::start(world, {link, timeout});
///     auto group = (*progress)->split({0, 1});
///     (*group)->start(3, call);           // returns at once
///     ...                                 // computes; (*progress)->check()
///     (*group)->finish(3);                // sleeps until it is done
///     (*progress)->settle(status);        // the world is the caller's again
///
/// Only one thread uses the world at a time, so it needs no lock: this one
/// while collectives are under way, and the rank's own otherwise. It is the
/// rank's own that starts collectives, so it knows when none is. Over MPI this
/// takes MPI_THREAD_SERIALIZED; see World::enter.
///
/// With a link that is emulated, a collective ends no earlier than the link
/// would be done with it, counted from when the last rank has started it. The
/// thread sleeps for that long, and so the link carries one at a time.
///
/// Failure: the transport's deadlines and causes are kept. The thread tells the
/// other ranks at once; queued collectives fail with the same cause, and so do
/// `check` and `finish`.

#ifndef TPRT_COMMUNICATORS_PROGRESS_H
#define TPRT_COMMUNICATORS_PROGRESS_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Communicators/Link.h"
#include "runtime/Core/Futex.h"
#include "runtime/Core/Thread.h"

#include "absl/types/optional.h"

#include <deque>
#include <mutex>

namespace tprt {

struct ProgressOptions {
  Link link;
  /// A collective that the link would take longer for is CollectiveTimeout.
  absl::Duration timeout = absl::Seconds(300);
};

/// When a collective was carried out, in nanoseconds of the monotonic clock.
struct CarriedTime {
  int64_t begin = 0, end = 0;
};

/// One rank's. All calls but the thread's own come from the rank's thread.
class Progress {
public:
  /// The world outlives it. Transport if the world cannot be used by another
  /// thread, LimitReached if there can be none.
  static absl::StatusOr<std::unique_ptr<Progress>>
  start(World &world, const ProgressOptions &options);
  /// Waits for collectives in flight. The communicators must be destroyed
  /// first.
  ~Progress();

  /// As World::split. A communicator that ends waits for what is under way.
  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group);

  /// As World::check, between steps.
  absl::Status check();

  /// Ends a run with its outcome, which is returned: after a failure, tells the
  /// other ranks and waits until nothing is under way.
  absl::Status settle(absl::Status outcome);

  /// Of the collective that was finished last.
  CarriedTime getLastTime() const { return lastTime; }

private:
  class Group;
  /// A collective, from its start to its end.
  struct Task {
    Communicator &inner;
    uint32_t index;
    CollectiveCall call;
    absl::Duration linkTime;
    uint32_t number = 0; ///< Of all so far.
    int64_t arrived = 0; ///< When the last rank had started it.
    CarriedTime time = {};
    absl::Status status = {};
  };

  Progress(World &world, const ProgressOptions &options)
      : world(world), options(options) {}

  void submit(std::shared_ptr<Task> task);
  void await(const Task &task);
  void drain();
  bool isDone(uint32_t number) const {
    return static_cast<int32_t>(completed.get() - number) >= 0;
  }

  void serve();
  std::shared_ptr<Task> takeNext(uint32_t number);
  absl::Status carryOut(Task &task);
  absl::Status occupyLink(const Task &task, int64_t until);

  World &world;
  const ProgressOptions options;
  uint32_t numSubmitted = 0; ///< As the rank's thread knows it.
  CarriedTime lastTime;
  Futex submitted, completed; ///< How many; the end counts as submitted.
  std::atomic<bool> hasFailed{false};
  std::mutex mutex; ///< Of what follows.
  std::deque<std::shared_ptr<Task>> queue;
  absl::Status failure;
  absl::optional<Thread> thread; ///< Last: it uses all of the above.
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_PROGRESS_H
