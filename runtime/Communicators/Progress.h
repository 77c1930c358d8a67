// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives that run while a rank computes: each rank has a thread for
/// each of its links, and a link carries the collectives that use it one at a
/// time, in the order in which they were started. A collective that uses
/// several links is executed by the thread of the first one, when all of them
/// have carried the earlier ones. As all ranks start collectives in the same
/// order, no collective waits for a later one.
///
///     auto progress = Progress::start(world, {timeout, /*numLinks=*/2});
///     auto group = (*progress)->split({0, 1}, {/*links=*/{1}, speed});
///     (*group)->start(3, call);           // returns at once
///     ...                                 // computes; (*progress)->check()
///     (*group)->finish(3);                // sleeps until it is done
///     (*progress)->settle(status);        // the world is the caller's again
///
/// All of these threads use the world; over MPI they need MPI_THREAD_SERIALIZED
/// and take turns in calling it, see World::enter.
///
/// If a speed is emulated, a collective does not end before its links would
/// have finished it. They begin when the last rank has started the collective,
/// or when they have carried the previous ones, if that is later. The thread
/// sleeps until then. How long the system takes to wake the thread does not
/// count, as it would not for a network card: the rank itself goes on when its
/// clock says that the links have finished.
///
/// Failure: the transport's deadlines and errors apply. The thread tells the
/// other ranks at once; all collectives that end later fail with the same
/// cause, and so do `check` and `finish`.

#ifndef TPRT_COMMUNICATORS_PROGRESS_H
#define TPRT_COMMUNICATORS_PROGRESS_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Communicators/Link.h"
#include "runtime/Core/Futex.h"
#include "runtime/Core/Thread.h"

#include "absl/types/optional.h"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace tprt {

struct ProgressOptions {
  /// If emulated links would take longer than this for a collective, the
  /// collective fails with CollectiveTimeout.
  absl::Duration timeout = absl::Seconds(300);
  uint32_t numLinks = 1;
};

/// The links that the collectives of a group use, and their speed.
struct Route {
  std::vector<uint32_t> links = {0}; ///< In ascending order, at least one.
  Link speed = {};                   ///< If it is emulated.
};

/// When a collective ran, in nanoseconds of the monotonic clock.
struct CarriedTime {
  int64_t begin = 0, end = 0;
};

/// Runs the collectives of one rank on further threads, the progress threads.
/// The rank's own thread calls the public functions.
class Progress {
public:
  /// `world` must outlive the result. Returns Transport if other threads
  /// cannot use the world, and LimitReached if no thread can be started.
  static absl::StatusOr<std::unique_ptr<Progress>>
  start(World &world, const ProgressOptions &options);
  /// Waits for collectives in flight. The communicators must be destroyed
  /// first.
  ~Progress();

  /// Like World::split. Destroying a communicator waits for its collectives
  /// under way.
  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group, const Route &route = {});

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
    std::vector<uint32_t> links;
    absl::Duration linkTime;
    /// Earlier tasks on these links that other threads execute.
    std::vector<std::shared_ptr<Task>> before = {};
    int64_t entered = 0; ///< When this rank's progress thread took it up.
    int64_t arrived = 0; ///< When the last rank's did.
    CarriedTime time = {};
    int64_t linksEnd = 0; ///< When emulated links have finished.
    absl::Status status = {};
    Futex state = {}; ///< A TaskState.
  };
  enum TaskState : uint32_t {
    kSubmitted,
    /// Its data is there; emulated links are busy until `linksEnd`, unless a
    /// rank fails before.
    kCarried,
    kEnded,
  };
  struct LinkState {
    Futex submitted; ///< Counts the tasks of `queue` so far, and the end.
    /// Tasks whose first link this is. Null is the end.
    std::deque<std::shared_ptr<Task>> queue;
    uint32_t numSubmitted = 0;  ///< The rank's own count.
    std::shared_ptr<Task> last; ///< The last task on this link; the rank's own.
    /// When the emulated link has carried all collectives so far, and when the
    /// previous one had ended. For the thread that executes a task on it.
    int64_t free = 0, lastEnd = 0;
    absl::optional<Thread> thread;
  };

  Progress(World &world, const ProgressOptions &options)
      : world(world), options(options), links(new LinkState[options.numLinks]) {
  }

  void submit(std::shared_ptr<Task> task);
  void push(LinkState &link, std::shared_ptr<Task> task);
  absl::Status await(const Task &task);
  void drain();
  static bool hasEnded(const Task &task) { return task.state.get() == kEnded; }
  static void awaitEnd(const Task &task);
  bool isUnderWay() const;
  void setAwaiting(bool value);

  void serve(LinkState &link);
  std::shared_ptr<Task> takeNext(LinkState &link, uint32_t number);
  absl::Status execute(Task &task);
  absl::Status carryOut(Task &task);
  absl::Status occupyLinks(Task &task, int64_t until);

  World &world;
  const ProgressOptions options;
  /// The rank's own thread waits for collectives and does not compute.
  std::atomic<bool> isAwaiting{false};
  CarriedTime lastTime;
  std::atomic<bool> hasFailed{false};
  std::mutex mutex; ///< Guards `failure` and the queues.
  absl::Status failure;
  const std::unique_ptr<LinkState[]> links; ///< Last: threads use the above.
};

} // namespace tprt

#endif // TPRT_COMMUNICATORS_PROGRESS_H
