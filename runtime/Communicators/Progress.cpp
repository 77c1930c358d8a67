// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Progress.h"

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <chrono>

using namespace tprt;

/// While the emulated link is busy, the thread checks for failed ranks at least
/// this often.
static constexpr absl::Duration kLinkNap = absl::Milliseconds(10);

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
  Group(Progress &progress, std::unique_ptr<Communicator> inner, int64_t ranks)
      : progress(progress), inner(std::move(inner)), ranks(ranks) {}
  ~Group() override { progress.drain(); }

  absl::Status start(uint32_t index, const CollectiveCall &call) override {
    auto task = std::make_shared<Task>(Task{
        *inner, index, call, progress.options.link.getTime(*call.row, ranks)});
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
    progress.await(*task);
    // Until the last rank arrived, this rank waited for other ranks; after
    // that, it waited for data.
    int64_t end = std::min(readClock(), task->arrived);
    waited += std::max<int64_t>(0, end - std::max(begin, task->entered));
    progress.lastTime = task->time;
    return task->status;
  }

  int64_t getWaited() const override { return waited; }

private:
  Progress &progress;
  const std::unique_ptr<Communicator> inner;
  const int64_t ranks;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Task>> running;
  int64_t waited = 0;
};

absl::StatusOr<std::unique_ptr<Progress>>
Progress::start(World &world, const ProgressOptions &options) {
  std::unique_ptr<Progress> progress(new Progress(world, options));
  TPRT_RETURN_IF_ERROR(world.allowThreads());
  TPRT_ASSIGN_OR_RETURN(
      Thread thread, Thread::start([own = progress.get()] { own->serve(); }));
  progress->thread.emplace(std::move(thread));
  world.shareCore(&progress->isAwaiting);
  return progress;
}

Progress::~Progress() {
  if (!thread)
    return;
  submit(nullptr);
  thread.reset(); // joins
  world.shareCore(nullptr);
}

absl::StatusOr<std::unique_ptr<Communicator>>
Progress::split(const std::vector<int> &group) {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> inner,
                        world.split(group));
  return std::make_unique<Group>(*this, std::move(inner),
                                 static_cast<int64_t>(group.size()));
}

void Progress::submit(std::shared_ptr<Task> task) {
  ++numSubmitted;
  if (task)
    task->number = numSubmitted;
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(std::move(task));
  }
  submitted.set(numSubmitted);
}

/// Waits until a task has ended. The wait is finite because every collective
/// has a deadline. Meanwhile the rank computes nothing, so its core is free for
/// the progress thread.
void Progress::await(const Task &task) {
  isAwaiting.store(true, std::memory_order_relaxed);
  while (!isDone(task.number)) {
    uint32_t seen = completed.get();
    if (!isDone(task.number))
      completed.wait(seen, absl::InfiniteDuration());
  }
  isAwaiting.store(false, std::memory_order_relaxed);
}

void Progress::drain() {
  isAwaiting.store(true, std::memory_order_relaxed);
  for (uint32_t seen = completed.get(); !isDone(numSubmitted);
       seen = completed.get())
    completed.wait(seen, absl::InfiniteDuration());
  isAwaiting.store(false, std::memory_order_relaxed);
}

absl::Status Progress::check() {
  if (hasFailed.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(mutex);
    return failure;
  }
  // While collectives are under way, the progress thread checks for failures.
  if (!isDone(numSubmitted))
    return absl::OkStatus();
  world.enter();
  return world.check();
}

absl::Status Progress::settle(absl::Status outcome) {
  if (!outcome.ok())
    world.fail(outcome);
  drain();
  world.enter();
  return outcome;
}

//===----------------------------------------------------------------------===//
// On the progress thread
//===----------------------------------------------------------------------===//

void Progress::serve() {
  for (uint32_t number = 1;; ++number) {
    std::shared_ptr<Task> task = takeNext(number);
    if (!task)
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      task->status = failure;
    }
    if (task->status.ok())
      task->status = carryOut(*task);
    if (!task->status.ok() && !hasFailed) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        failure = task->status;
      }
      hasFailed.store(true, std::memory_order_release);
      // Sends the failure to the other ranks from this thread, since the rank's
      // own thread may be in a long kernel.
      world.fail(task->status);
    }
    completed.set(number);
  }
}

/// Waits until the task with this number is submitted, and returns it. Returns
/// null if no more tasks will come.
std::shared_ptr<Progress::Task> Progress::takeNext(uint32_t number) {
  auto isThere = [&](uint32_t count) {
    return static_cast<int32_t>(count - number) >= 0;
  };
  for (uint32_t seen = submitted.get(); !isThere(seen); seen = submitted.get())
    submitted.wait(seen, absl::InfiniteDuration());
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Task> task = std::move(queue.front());
  queue.pop_front();
  return task;
}

absl::Status Progress::carryOut(Task &task) {
  world.enter();
  int64_t waited = task.inner.getWaited();
  task.time.begin = task.entered = task.arrived = readClock();
  // The link begins when those of all ranks are free.
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
  lastEnd = task.time.end;
  return occupyLink(task, linkFree);
}

absl::Status Progress::occupyLink(const Task &task, int64_t until) {
  if (task.linkTime > options.timeout)
    return makeError(ErrorCode::CollectiveTimeout, "rank ", world.getRank(),
                     ", ", describe(task.call), ": the emulated link takes ",
                     absl::FormatDuration(task.linkTime),
                     ", but the limit for a collective is ",
                     absl::FormatDuration(options.timeout),
                     "; emulate a faster link, or raise --timeout");
  for (;;) {
    TPRT_RETURN_IF_ERROR(world.check());
    absl::Duration rest = absl::Nanoseconds(until - readClock());
    if (rest <= absl::ZeroDuration())
      return absl::OkStatus();
    absl::SleepFor(std::min(rest, kLinkNap));
  }
}
