// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives that run while a rank computes: each rank has a thread
/// that executes them, one at a time, in the order in which they were started.
/// As all ranks start them in the same order, no collective waits for a later
/// one.
///
///     auto progress = Progress::start(world, {link, timeout});
///     auto group = (*progress)->split({0, 1});
///     (*group)->start(3, call);           // returns at once
///     ...                                 // computes; (*progress)->check()
///     (*group)->finish(3);                // sleeps until it is done
///     (*progress)->settle(status);        // the world is the caller's again
///
/// The progress thread uses the world while collectives are under way; at other
/// times, the rank's own thread uses it. So the world needs no lock. The rank's
/// own thread starts all collectives, so it knows when none is under way. Over
/// MPI this needs MPI_THREAD_SERIALIZED; see World::enter.
///
/// With an emulated link, a collective does not end before the link would have
/// finished it. The link carries one collective at a time: it begins when the
/// last rank has started the collective, or when it has carried the previous
/// one, if that is later. The thread sleeps until then. How long the system
/// takes to wake the thread does not count, as it would not for a network card.
///
/// Failure: the transport's deadlines and errors apply. The thread tells the
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
  /// If the link would take longer than this for a collective, the collective
  /// fails with CollectiveTimeout.
  absl::Duration timeout = absl::Seconds(300);
};

/// When a collective ran, in nanoseconds of the monotonic clock.
struct CarriedTime {
  int64_t begin = 0, end = 0;
};

/// Runs the collectives of one rank on a second thread, the progress thread.
/// The rank's own thread calls the public functions.
class Progress {
public:
  /// `world` must outlive the result. Returns Transport if another thread
  /// cannot use the world, and LimitReached if no thread can be started.
  static absl::StatusOr<std::unique_ptr<Progress>>
  start(World &world, const ProgressOptions &options);
  /// Waits for collectives in flight. The communicators must be destroyed
  /// first.
  ~Progress();

  /// Like World::split. Destroying a communicator waits for its collectives
  /// under way.
  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group);

  /// Like World::check; called between steps.
  absl::Status check();

  /// Ends a run and returns its outcome. After a failure, first tells the other
  /// ranks and waits until nothing is under way.
  absl::Status settle(absl::Status outcome);

  /// Returns the time of the collective that was finished last.
  CarriedTime getLastTime() const { return lastTime; }

private:
  class Group;
  /// A collective, from its start to its end.
  struct Task {
    Communicator &inner;
    uint32_t index;
    CollectiveCall call;
    absl::Duration linkTime;
    uint32_t number = 0; ///< Counts all tasks so far.
    int64_t entered = 0; ///< When this rank's progress thread took it up.
    int64_t arrived = 0; ///< When the last rank's did.
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
  /// When the emulated link has carried all collectives so far. The progress
  /// thread's own.
  int64_t linkFree = 0;
  int64_t lastEnd = 0;       ///< When the previous collective had ended.
  uint32_t numSubmitted = 0; ///< The rank's own count.
  /// The rank's own thread waits for collectives and does not compute.
  std::atomic<bool> isAwaiting{false};
  CarriedTime lastTime;
  Futex submitted, completed; ///< Counts; the end counts as submitted.
  std::atomic<bool> hasFailed{false};
  std::mutex mutex; ///< Guards the following members.
  std::deque<std::shared_ptr<Task>> queue;
  absl::Status failure;
  absl::optional<Thread> thread; ///< Last: it uses all of the above.
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_PROGRESS_H
