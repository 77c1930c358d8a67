// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Progress.h"

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <chrono>
#include <sys/prctl.h>

using namespace tprt;

/// While the emulated link is busy, the thread checks for failed ranks at least
/// this often.
static constexpr absl::Duration kLinkNap = absl::Milliseconds(10);
/// The system may end a rank's sleep this late, so the rank looks at the clock
/// for the rest of the time.
static constexpr absl::Duration kLatestWake = absl::Microseconds(100);

static int64_t readClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

//===----------------------------------------------------------------------===//
// On the rank's thread
//===----------------------------------------------------------------------===//

class Progress::Group final : public Communicator {
public:
  Group(Progress &progress, std::unique_ptr<Communicator> inner, int64_t ranks,
        Route route)
      : progress(progress), inner(std::move(inner)), ranks(ranks),
        route(std::move(route)) {}
  ~Group() override { progress.drain(); }

  absl::Status start(uint32_t index, const CollectiveCall &call) override {
    // A futex cannot be moved, so the task is made in place.
    std::shared_ptr<Task> task(new Task{*inner, index, call, route.links,
                                        route.speed.getTime(*call.row, ranks)});
    if (task->linkTime > absl::ZeroDuration())
      task->call.started = readClock();
    running[index] = task;
    progress.submit(std::move(task));
    return absl::OkStatus();
  }

  absl::Status finish(uint32_t index) override {
    std::shared_ptr<Task> task = std::move(running[index]);
    running.erase(index);
    int64_t begin = readClock();
    absl::Status status = progress.await(*task);
    // Until the last rank arrived, this rank waited for other ranks; after
    // that, it waited for data.
    int64_t end = std::min(readClock(), task->arrived);
    waited += std::max<int64_t>(0, end - std::max(begin, task->entered));
    progress.lastTime = task->time;
    return status;
  }

  int64_t getWaited() const override { return waited; }

private:
  Progress &progress;
  const std::unique_ptr<Communicator> inner;
  const int64_t ranks;
  const Route route;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Task>> running;
  int64_t waited = 0;
};

absl::StatusOr<std::unique_ptr<Progress>>
Progress::start(World &world, const ProgressOptions &options) {
  std::unique_ptr<Progress> progress(new Progress(world, options));
  TPRT_RETURN_IF_ERROR(world.allowThreads());
  world.enter();
  for (uint32_t i = 0; i < options.numLinks; ++i) {
    LinkState &link = progress->links[i];
    TPRT_ASSIGN_OR_RETURN(
        Thread thread,
        Thread::start([own = progress.get(), &link] { own->serve(link); }));
    link.thread.emplace(std::move(thread));
  }
  world.shareCore(&progress->isAwaiting);
  return progress;
}

Progress::~Progress() {
  for (uint32_t i = 0; i < options.numLinks; ++i) {
    if (!links[i].thread)
      continue;
    push(links[i], nullptr);
    links[i].thread.reset(); // joins
  }
  world.shareCore(nullptr);
}

absl::StatusOr<std::unique_ptr<Communicator>>
Progress::split(const std::vector<int> &group, const Route &route) {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> inner,
                        world.split(group));
  return std::make_unique<Group>(*this, std::move(inner),
                                 static_cast<int64_t>(group.size()), route);
}

void Progress::submit(std::shared_ptr<Task> task) {
  LinkState &first = links[task->links.front()];
  for (uint32_t link : task->links) {
    std::shared_ptr<Task> &last = links[link].last;
    if (last && last->links.front() != task->links.front() && !hasEnded(*last))
      task->before.push_back(last);
    last = task;
  }
  push(first, std::move(task));
}

void Progress::push(LinkState &link, std::shared_ptr<Task> task) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    link.queue.push_back(std::move(task));
  }
  link.submitted.set(++link.numSubmitted);
}

/// Waits until the data of a task is there and its links would have finished,
/// and returns its status. The wait is finite because every collective has a
/// deadline. Meanwhile the rank computes nothing, so its core is free for a
/// progress thread.
absl::Status Progress::await(const Task &task) {
  setAwaiting(true);
  absl::Status status;
  for (uint32_t state = task.state.get();; state = task.state.get()) {
    if (state == kEnded) {
      status = task.status;
      break;
    }
    if (state == kSubmitted) {
      task.state.wait(state, absl::InfiniteDuration());
      continue;
    }
    absl::Duration rest = absl::Nanoseconds(task.linksEnd - readClock());
    if (rest <= absl::ZeroDuration())
      break;
    if (rest > kLatestWake)
      task.state.wait(state, rest - kLatestWake);
  }
  setAwaiting(false);
  return status;
}

void Progress::awaitEnd(const Task &task) {
  for (uint32_t state = task.state.get(); state != kEnded;
       state = task.state.get())
    task.state.wait(state, absl::InfiniteDuration());
}

void Progress::drain() {
  setAwaiting(true);
  for (uint32_t i = 0; i < options.numLinks; ++i)
    if (links[i].last)
      awaitEnd(*links[i].last);
  setAwaiting(false);
}

bool Progress::isUnderWay() const {
  for (uint32_t i = 0; i < options.numLinks; ++i)
    if (links[i].last && !hasEnded(*links[i].last))
      return true;
  return false;
}

/// Several progress threads cannot all have the rank's core.
void Progress::setAwaiting(bool value) {
  isAwaiting.store(value && options.numLinks == 1, std::memory_order_relaxed);
}

absl::Status Progress::check() {
  if (hasFailed.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(mutex);
    return failure;
  }
  // While collectives are under way, the progress threads check for failures.
  return isUnderWay() ? absl::OkStatus() : world.check();
}

absl::Status Progress::settle(absl::Status outcome) {
  if (!outcome.ok())
    world.fail(outcome);
  drain();
  return outcome;
}

//===----------------------------------------------------------------------===//
// On the progress threads
//===----------------------------------------------------------------------===//

void Progress::serve(LinkState &link) {
  // By default, Linux lets a sleep end 50 us late to save power. The end of a
  // collective on an emulated link should not depend on that.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  world.enter();
  for (uint32_t number = 1;; ++number) {
    std::shared_ptr<Task> task = takeNext(link, number);
    if (!task)
      return;
    task->status = execute(*task);
    task->state.set(kEnded);
  }
}

/// Waits until the link's task with this number is submitted, and returns it.
/// Returns null if no more tasks will come.
std::shared_ptr<Progress::Task> Progress::takeNext(LinkState &link,
                                                   uint32_t number) {
  auto isThere = [&](uint32_t count) {
    return static_cast<int32_t>(count - number) >= 0;
  };
  for (uint32_t seen = link.submitted.get(); !isThere(seen);
       seen = link.submitted.get())
    link.submitted.wait(seen, absl::InfiniteDuration());
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Task> task = std::move(link.queue.front());
  link.queue.pop_front();
  return task;
}

/// Carries out a task when its links have carried the earlier ones. Once a task
/// has failed, all later ones fail with the same cause.
absl::Status Progress::execute(Task &task) {
  for (const std::shared_ptr<Task> &other : task.before)
    awaitEnd(*other);
  task.before.clear();
  {
    std::lock_guard<std::mutex> lock(mutex);
    TPRT_RETURN_IF_ERROR(failure);
  }
  absl::Status status = carryOut(task);
  if (status.ok())
    return status;
  {
    std::lock_guard<std::mutex> lock(mutex);
    TPRT_RETURN_IF_ERROR(failure); // of another link's task
    failure = status;
  }
  hasFailed.store(true, std::memory_order_release);
  // Sends the failure to the other ranks from this thread, since the rank's own
  // thread may be in a long kernel.
  world.fail(status);
  return status;
}

absl::Status Progress::carryOut(Task &task) {
  int64_t linkFree = 0, lastEnd = 0;
  for (uint32_t link : task.links) {
    linkFree = std::max(linkFree, links[link].free);
    lastEnd = std::max(lastEnd, links[link].lastEnd);
  }
  int64_t waited = task.inner.getWaited();
  task.time.begin = task.entered = task.arrived = readClock();
  // The links begin when those of all ranks are free.
  if (task.call.started != 0)
    task.call.started = std::max(task.call.started, linkFree);
  absl::Status status = task.inner.start(task.index, task.call);
  if (status.ok())
    status = task.inner.finish(task.index);
  task.time.end = readClock();
  waited = task.inner.getWaited() - waited;
  task.arrived += waited;
  if (!status.ok() || task.linkTime <= absl::ZeroDuration())
    return status;
  // Ranks on several hosts have no common clock. Then the time at which the
  // last rank arrived is used, or the end of the collective if the transport
  // reports no waiting time.
  int64_t started = task.inner.getLastStart();
  if (started == 0)
    started = waited > 0 ? task.arrived : task.time.end;
  int64_t begin = std::max(linkFree, started);
  linkFree = begin + absl::ToInt64Nanoseconds(task.linkTime);
  task.time = {std::max(begin, lastEnd), std::max(task.time.end, linkFree)};
  for (uint32_t link : task.links) {
    links[link].free = linkFree;
    links[link].lastEnd = task.time.end;
  }
  return occupyLinks(task, linkFree);
}

absl::Status Progress::occupyLinks(Task &task, int64_t until) {
  if (task.linkTime > options.timeout)
    return makeError(ErrorCode::CollectiveTimeout, "rank ", world.getRank(),
                     ", ", describe(task.call), ": the emulated link takes ",
                     absl::FormatDuration(task.linkTime),
                     ", but the limit for a collective is ",
                     absl::FormatDuration(options.timeout),
                     "; emulate a faster link, or raise --timeout");
  task.linksEnd = until;
  task.state.set(kCarried);
  for (;;) {
    TPRT_RETURN_IF_ERROR(world.check());
    absl::Duration rest = absl::Nanoseconds(until - readClock());
    if (rest <= absl::ZeroDuration())
      return absl::OkStatus();
    absl::SleepFor(std::min(rest, kLinkNap));
  }
}
