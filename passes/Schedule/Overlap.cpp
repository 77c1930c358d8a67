// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Overlap.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

using namespace tp;
using namespace tp::schedule;

/// A transfer starts before its place in the program if the time until its
/// result is needed is less than the remaining work of one of its links,
/// including the transfer itself, times one of these factors. Predictions are
/// not exact, so 2 is tried first. The other factors suit programs that are
/// limited by memory or by the order of transfers on a link.
static constexpr double kHastes[] = {2, 1, 4, 1e9};

/// Returns, for each place between steps, the total seconds of the steps before
/// that place.
static std::vector<double> getBeginnings(const Problem &problem) {
  std::vector<double> begin = {0};
  for (const StepTime &step : problem.steps)
    begin.push_back(begin.back() + step.seconds);
  return begin;
}

/// The total seconds of steps and preparations.
static double getComputed(const Problem &problem) {
  double seconds = getBeginnings(problem).back();
  for (const Transfer &transfer : problem.transfers)
    seconds += transfer.preparation;
  return seconds;
}

namespace {
/// Says when each link has carried all transfers that have started so far.
class Links {
public:
  explicit Links(LinkSeconds busyUntil = {}) : free(std::move(busyUntil)) {}

  /// Returns when all links of a transfer are free.
  double getFree(const Transfer &transfer) const {
    double last = 0;
    for (unsigned link : transfer.links)
      last = std::max(last, free[link]);
    return last;
  }

  /// Starts a transfer at `time`, and returns when it arrives.
  double carry(const Transfer &transfer, double time) {
    double arrival = std::max(getFree(transfer), time) + transfer.seconds;
    for (unsigned link : transfer.links)
      free[link] = arrival;
    return arrival;
  }

  /// Returns when the first of `count` links is free.
  double getFirstFree(unsigned count) const {
    double first = std::numeric_limits<double>::infinity();
    for (unsigned link = 0; link < count; ++link)
      first = std::min(first, free[link]);
    return first;
  }

  /// Returns for how long each link is still busy at `time`.
  LinkSeconds getBacklog(double time) const {
    LinkSeconds backlog;
    for (unsigned link = 0; link < free.size(); ++link)
      backlog[link] = std::max(0.0, free[link] - time);
    return backlog;
  }

private:
  LinkSeconds free;
};
} // namespace

/// Returns the seconds that a body takes once if the links are busy for the
/// first `backlog` seconds.
static double replay(const Body &body, const LinkSeconds &backlog) {
  const Problem &problem = body.problem;
  std::vector<double> arrives(problem.transfers.size());
  double time = 0;
  Links links(backlog);
  for (size_t at = 0; at <= problem.steps.size(); ++at) {
    for (const Event &event : body.schedule.events[at]) {
      const Transfer &transfer = problem.transfers[event.transfer];
      if (!event.isStart) {
        time = std::max(time, arrives[event.transfer]);
        continue;
      }
      time += transfer.preparation;
      arrives[event.transfer] = links.carry(transfer, time);
    }
    if (at < problem.steps.size())
      time += problem.steps[at].getSeconds(links.getBacklog(time));
  }
  return time;
}

double StepTime::getSeconds(const LinkSeconds &backlog) const {
  bool isDelayed = false;
  for (unsigned link = 0; link < carried.size(); ++link)
    isDelayed |= backlog[link] > 0;
  if (!first || !isDelayed)
    return seconds;
  return seconds + replay(*first, backlog) - replay(*first, {});
}

LinkSeconds Problem::getCarried() const {
  LinkSeconds carried;
  for (const StepTime &step : steps)
    carried += step.carried;
  for (const Transfer &transfer : transfers)
    carried.add(transfer);
  return carried;
}

Schedule schedule::keep(const Problem &problem) {
  Schedule result;
  result.events.resize(problem.steps.size() + 1);
  double computed = getComputed(problem);
  result.seconds = computed;
  for (auto [i, transfer] : llvm::enumerate(problem.transfers)) {
    unsigned number = i;
    result.events[transfer.place].push_back({number, true});
    result.events[transfer.place].push_back({number, false});
    result.seconds += transfer.seconds;
  }
  result.exposed = result.seconds - computed;
  return result;
}

namespace {

/// How eagerly transfers start before their place. Which policy is best depends
/// on the problem.
struct Policy {
  double haste; ///< See kHastes.
  /// Whether transfers may start before their place if the next step has
  /// transfers inside on the same links, which they delay.
  bool delaysSteps;
  /// Whether a transfer leaves its links free for one that is needed sooner and
  /// can start before this one would end.
  bool isPatient;
  /// Whether a transfer starts after its place if its links are busy there, so
  /// that one that is needed sooner can overtake it.
  bool isLazy;
};

/// Simulates a device that executes the steps once.
class Simulation {
public:
  Simulation(const Problem &problem, const Limits &limits, const Policy &policy)
      : problem(problem), limits(limits), policy(policy),
        begin(getBeginnings(problem)), numLinks(problem.getCarried().size()),
        states(problem.transfers.size()), byNeed(problem.transfers.size()) {
    result.events.resize(problem.steps.size() + 1);
    for (unsigned i = 0; i < byNeed.size(); ++i)
      byNeed[i] = i;
    llvm::sort(byNeed, [&](unsigned a, unsigned b) {
      return std::pair(problem.transfers[a].needed, a) <
             std::pair(problem.transfers[b].needed, b);
    });
  }

  Schedule run() {
    mostPreparation.resize(byNeed.size() + 1);
    for (size_t k = byNeed.size(); k-- > 0;)
      mostPreparation[k] = std::max(mostPreparation[k + 1],
                                    problem.transfers[byNeed[k]].preparation);
    for (at = 0; at <= problem.steps.size(); ++at) {
      release();
      finishNeeded();
      startStanding();
      if (at == problem.steps.size())
        break;
      startAhead();
      time += problem.steps[at].getSeconds(links.getBacklog(time));
    }
    while (!underWay.empty())
      finish(underWay.front());
    result.seconds = time;
    result.exposed = std::max(0.0, time - getComputed(problem));
    return std::move(result);
  }

private:
  struct State {
    bool isStarted = false, isDone = false, isHeld = false, isPostponed = false;
    double arrives = 0;
  };

  void start(unsigned i) {
    for (unsigned before : problem.transfers[i].after)
      finish(before);
    if (states[i].isPostponed) {
      states[i].isPostponed = false;
      held -= problem.transfers[i].unpreparedBytes;
      llvm::erase(postponed, i);
    }
    states[i].isStarted = true;
    time += problem.transfers[i].preparation;
    states[i].arrives = links.carry(problem.transfers[i], time);
    underWay.push_back(i);
    result.events[at].push_back({i, true});
  }

  void finish(unsigned i) {
    if (states[i].isDone)
      return;
    if (!states[i].isStarted)
      start(i);
    time = std::max(time, states[i].arrives);
    states[i].isDone = true;
    llvm::erase(underWay, i);
    result.events[at].push_back({i, false});
    release(i);
  }

  void hold(unsigned i) {
    if (states[i].isHeld) // since it was postponed
      return;
    states[i].isHeld = true;
    held += problem.transfers[i].bytes;
    ahead.push_back(i);
  }

  /// Holds a transfer at its place without starting it. Returns false if it has
  /// to start there, or if there is no memory to start it later.
  bool postpone(unsigned i) {
    const Transfer &transfer = problem.transfers[i];
    if (transfer.latest <= at ||
        held + transfer.bytes + transfer.unpreparedBytes > limits.bytes)
      return false;
    hold(i);
    states[i].isPostponed = true;
    held += transfer.unpreparedBytes;
    postponed.push_back(i);
    return true;
  }
  /// Stops counting the memory of transfer `i` if the transfer is done and its
  /// place in the program has been reached. From then on, it holds no more
  /// memory than in the program as written.
  void release(unsigned i) {
    if (!states[i].isHeld || !states[i].isDone ||
        problem.transfers[i].place > at)
      return;
    states[i].isHeld = false;
    held -= problem.transfers[i].bytes;
  }
  void release() {
    for (unsigned i : ahead)
      release(i);
    llvm::erase_if(ahead, [&](unsigned i) { return !states[i].isHeld; });
  }

  bool hasMemory(unsigned i) const {
    return states[i].isHeld ||
           held + problem.transfers[i].bytes <= limits.bytes;
  }

  /// Finishes the oldest transfers, then postponed ones, until transfer `i`
  /// fits the limits. If there is too little memory, skips transfers whose
  /// place has not been reached: finishing them early would free no memory,
  /// since their results are used only after their places.
  bool makeRoom(unsigned i, bool mayWait) {
    while (!hasMemory(i) || underWay.size() >= limits.count) {
      const unsigned *oldest = llvm::find_if(underWay, [&](unsigned other) {
        return (hasMemory(i) || problem.transfers[other].place <= at) &&
               (mayWait || states[other].arrives <= time);
      });
      if (oldest != underWay.end())
        finish(*oldest);
      else if (mayWait && !hasMemory(i) && !postponed.empty())
        finish(postponed.front());
      else
        return false;
    }
    return true;
  }

  void finishNeeded() {
    while (nextNeeded < byNeed.size() &&
           problem.transfers[byNeed[nextNeeded]].needed <= at) {
      unsigned i = byNeed[nextNeeded++];
      if (states[i].isDone)
        continue;
      if (!states[i].isStarted)
        start(i);
      startDuringWait(i);
      finish(i);
    }
  }

  /// Adds a transfer to the work of its links, and returns the most work of
  /// these links.
  static double addWork(LinkSeconds &toCarry, const Transfer &transfer) {
    double most = 0;
    for (unsigned link : transfer.links)
      most = std::max(most, toCarry[link] += transfer.seconds);
    return most;
  }

  /// While the device has to wait for transfer `i`, starts other transfers:
  /// those whose preparation fits into that time, and those that would start
  /// soon anyway and whose links are free before `i` arrives.
  void startDuringWait(unsigned i) {
    LinkSeconds toCarry = links.getBacklog(time);
    for (size_t k = nextNeeded; k < byNeed.size(); ++k) {
      unsigned other = byNeed[k];
      const Transfer &transfer = problem.transfers[other];
      double wait = states[i].arrives - time;
      if (wait <= 0)
        return;
      if (states[other].isStarted)
        continue;
      double work = addWork(toCarry, transfer),
             left = begin[transfer.needed] - begin[at];
      bool isDue = transfer.place <= at || left <= policy.haste * work;
      if (((transfer.preparation > 0 && !policy.isPatient) ||
           (isDue && links.getFree(transfer) < states[i].arrives)) &&
          transfer.preparation <= wait && mayStart(other) &&
          makeRoom(other, /*mayWait=*/false)) {
        start(other);
        hold(other);
      }
    }
  }

  /// Starts or postpones the transfers whose place is here and that have not
  /// started before. Starts those that cannot be postponed further.
  void startStanding() {
    for (; nextStanding < states.size() &&
           problem.transfers[nextStanding].place <= at;
         ++nextStanding) {
      if (states[nextStanding].isStarted)
        continue;
      if (policy.isLazy && postpone(nextStanding))
        continue;
      bool fits = makeRoom(nextStanding, /*mayWait=*/true);
      start(nextStanding);
      if (fits)
        hold(nextStanding);
      else
        finish(nextStanding);
    }
    for (unsigned i : llvm::to_vector(postponed))
      if (states[i].isPostponed && problem.transfers[i].latest <= at) {
        makeRoom(i, /*mayWait=*/true);
        start(i);
      }
  }

  bool mayStart(unsigned i) const {
    return problem.transfers[i].earliest <= at &&
           llvm::all_of(problem.transfers[i].after, [&](unsigned before) {
             return states[before].isDone || (states[before].isStarted &&
                                              states[before].arrives <= time);
           });
  }

  /// Returns true if the next step has transfers inside on the same links.
  bool delaysStep(const Transfer &transfer) const {
    const StepTime &step = problem.steps[at];
    return step.first && llvm::any_of(transfer.links, [&](unsigned link) {
             return step.carried[link] > 0;
           });
  }

  /// Starts postponed transfers, and those that would arrive too late if they
  /// started at their place in the program. Stops when the links have enough to
  /// do.
  void startAhead() {
    LinkSeconds toCarry = links.getBacklog(time);
    // For each link, the time until a transfer that is needed sooner can start.
    std::vector<double> untilSooner(numLinks,
                                    std::numeric_limits<double>::infinity());
    for (size_t k = nextNeeded; k < byNeed.size(); ++k) {
      unsigned i = byNeed[k];
      if (states[i].isStarted)
        continue;
      const Transfer &transfer = problem.transfers[i];
      double work = addWork(toCarry, transfer),
             untilOther = std::numeric_limits<double>::infinity();
      for (unsigned link : transfer.links) {
        if (transfer.earliest > at)
          untilSooner[link] =
              std::min(untilSooner[link], begin[transfer.earliest] - begin[at]);
        untilOther = std::min(untilOther, untilSooner[link]);
      }
      // The links have enough to do until the next step and the preparation are
      // done.
      double next = time + problem.steps[at].seconds;
      if (links.getFirstFree(numLinks) - next > mostPreparation[k])
        return;
      if (links.getFree(transfer) - next > transfer.preparation ||
          (!policy.delaysSteps && delaysStep(transfer)))
        continue;
      double left = begin[transfer.needed] - begin[at];
      bool isPostponed = states[i].isPostponed;
      if (policy.isPatient && !isPostponed &&
          std::max(0.0, links.getFree(transfer) - time) + transfer.seconds >
              untilOther)
        continue;
      if ((isPostponed ||
           left <= policy.haste * work + problem.steps[at].seconds) &&
          mayStart(i) && makeRoom(i, /*mayWait=*/false)) {
        start(i);
        hold(i);
      }
    }
  }

  const Problem &problem;
  const Limits &limits;
  const Policy &policy;
  const std::vector<double> begin;
  const unsigned numLinks;
  std::vector<State> states;
  std::vector<unsigned> byNeed; ///< Transfers, soonest needed first.
  /// For each index in `byNeed`, the longest preparation from there on.
  std::vector<double> mostPreparation;
  size_t nextNeeded = 0, nextStanding = 0;
  llvm::SmallVector<unsigned> underWay, ahead, postponed;
  unsigned at = 0;
  double time = 0;
  Links links;
  int64_t held = 0;
  Schedule result;
};

} // namespace

Schedule schedule::overlap(const Problem &problem, const Limits &limits) {
  Schedule best = keep(problem);
  auto tryPolicy = [&](const Policy &policy) {
    Schedule moved = Simulation(problem, limits, policy).run();
    double seconds = moved.seconds;
    if (seconds < best.seconds)
      best = std::move(moved);
    return seconds;
  };
  bool hasInner = llvm::any_of(problem.steps,
                               [](const StepTime &step) { return step.first; });
  for (bool isPatient : {false, true}) {
    Policy fastest = {};
    double least = std::numeric_limits<double>::infinity();
    for (bool delaysSteps : {true, false}) {
      if (!delaysSteps && !hasInner)
        break;
      for (double haste : kHastes) {
        Policy policy = {haste, delaysSteps, isPatient, /*isLazy=*/false};
        double seconds = tryPolicy(policy);
        if (seconds >= least)
          continue;
        least = seconds;
        fastest = policy;
      }
    }
    // Trying this with every policy would take twice as long.
    fastest.isLazy = true;
    tryPolicy(fastest);
  }
  return best;
}

namespace {
/// A transfer that a link may interrupt to carry another one.
struct Job {
  double release, seconds, tail;
  bool operator<(const Job &other) const { return tail < other.tail; }
};
} // namespace

/// Returns the time when all jobs of a link and their tails have ended. At any
/// time, the link carries the released job with the longest tail, and
/// interrupts another job for it.
static double getPreemptiveEnd(std::vector<Job> jobs) {
  llvm::sort(jobs,
             [](const Job &a, const Job &b) { return a.release < b.release; });
  std::priority_queue<Job> ready;
  double time = 0, end = 0;
  for (size_t next = 0; next < jobs.size() || !ready.empty();) {
    if (ready.empty())
      time = std::max(time, jobs[next].release);
    while (next < jobs.size() && jobs[next].release <= time)
      ready.push(jobs[next++]);
    Job job = ready.top();
    ready.pop();
    double until = time + job.seconds;
    if (next < jobs.size() && jobs[next].release < until) {
      job.seconds = until - jobs[next].release;
      time = jobs[next].release;
      ready.push(job);
      continue;
    }
    time = until;
    end = std::max(end, time + job.tail);
  }
  return end;
}

/// Returns the bound of a part of a problem.
static double getPartBound(const Problem &problem) {
  size_t numSteps = problem.steps.size();
  std::vector<double> begin = getBeginnings(problem);
  // For each place, add up the preparations that must run before it, because
  // their transfers are needed earlier, and the preparations that must run
  // after it, because their transfers cannot start earlier.
  std::vector<double> before(numSteps + 2), behind(numSteps + 2);
  for (const Transfer &transfer : problem.transfers) {
    before[transfer.needed + 1] += transfer.preparation;
    behind[transfer.earliest] += transfer.preparation;
  }
  for (size_t place = 1; place <= numSteps; ++place)
    before[place] += before[place - 1];
  for (size_t place = numSteps; place-- > 0;)
    behind[place] += behind[place + 1];
  // `reached` has, for each place, the time at which the device leaves the
  // place if every transfer has a separate link. This time is the length of the
  // longest chain before the place. When the device comes to a place, it may
  // start transfers before it waits for those that are needed there.
  std::vector<double> reached(numSteps + 1), waits(numSteps + 1);
  std::vector<double> arrives(problem.transfers.size()), releases(arrives);
  auto comesTo = [&](unsigned place) {
    double chain =
        place ? reached[place - 1] + problem.steps[place - 1].seconds : 0;
    return std::max(chain, begin[place] + before[place]);
  };
  unsigned settled = 0;
  auto settle = [&](unsigned end) {
    for (; settled < end; ++settled)
      reached[settled] = std::max(comesTo(settled), waits[settled]);
  };
  // In program order, each transfer comes after those that it waits for.
  for (auto [i, transfer] : llvm::enumerate(problem.transfers)) {
    settle(transfer.earliest);
    releases[i] = comesTo(transfer.earliest);
    for (unsigned other : transfer.after)
      releases[i] = std::max(releases[i], arrives[other]);
    releases[i] += transfer.preparation;
    arrives[i] = releases[i] + transfer.seconds;
    waits[transfer.needed] = std::max(waits[transfer.needed], arrives[i]);
  }
  settle(numSteps + 1);
  std::vector<std::vector<Job>> jobs(problem.getCarried().size());
  for (auto [i, transfer] : llvm::enumerate(problem.transfers))
    for (unsigned link : transfer.links)
      jobs[link].push_back({releases[i], transfer.seconds,
                            begin.back() - begin[transfer.needed] +
                                behind[transfer.needed + 1]});
  for (auto [at, step] : llvm::enumerate(problem.steps))
    for (unsigned link = 0; link < step.carried.size(); ++link)
      if (step.carried[link] > 0)
        jobs[link].push_back({reached[at], step.carried[link],
                              begin.back() - begin[at + 1] + behind[at + 2]});
  double bound = std::max(reached.back(), getComputed(problem));
  for (std::vector<Job> &ofLink : jobs)
    bound = std::max(bound, getPreemptiveEnd(std::move(ofLink)));
  return bound;
}

/// Returns the places that split a problem into independent parts. No transfer
/// can start before such a place and be needed after it. If transfers are
/// needed at the place, no others can start there, since these could start
/// before the device waits for those.
static llvm::SmallVector<unsigned> getSplits(const Problem &problem) {
  size_t numSteps = problem.steps.size();
  // For each place, the change in the number of transfers that may run on both
  // of its sides.
  std::vector<int> spanning(numSteps + 2);
  std::vector<bool> isEarliest(numSteps + 1), isNeeded(numSteps + 1);
  for (const Transfer &transfer : problem.transfers) {
    isEarliest[transfer.earliest] = isNeeded[transfer.needed] = true;
    if (transfer.earliest < transfer.needed) {
      ++spanning[transfer.earliest + 1];
      --spanning[transfer.needed];
    }
  }
  llvm::SmallVector<unsigned> splits = {0};
  int count = 0;
  for (unsigned place = 1; place < numSteps; ++place) {
    count += spanning[place];
    if (count == 0 && !(isEarliest[place] && isNeeded[place]))
      splits.push_back(place);
  }
  splits.push_back(numSteps);
  return splits;
}

/// Returns the sum of the bounds of a problem's independent parts.
static double getBoundByParts(const Problem &problem) {
  llvm::SmallVector<unsigned> splits = getSplits(problem);
  size_t numParts = splits.size() - 1;
  std::vector<Problem> parts(numParts);
  for (auto [part, begin, end] :
       llvm::zip(parts, splits, llvm::drop_begin(splits)))
    part.steps.assign(problem.steps.begin() + begin,
                      problem.steps.begin() + end);
  // A transfer that may start at a split belongs to the part after it; at the
  // end, to the last part.
  std::vector<std::pair<size_t, unsigned>> partOf;
  for (const Transfer &transfer : problem.transfers) {
    size_t number = std::min<size_t>(
        llvm::upper_bound(splits, transfer.earliest) - splits.begin() - 1,
        numParts - 1);
    Problem &part = parts[number];
    partOf.push_back({number, unsigned(part.transfers.size())});
    Transfer &own = part.transfers.emplace_back(transfer);
    for (unsigned *place : {&own.earliest, &own.place, &own.needed})
      *place -= splits[number];
    own.after.clear();
    for (unsigned before : transfer.after)
      if (partOf[before].first == number)
        own.after.push_back(partOf[before].second);
  }
  double seconds = 0;
  for (const Problem &part : parts)
    seconds += getPartBound(part);
  return seconds;
}

/// Returns the problem without the transfers that may run during more than
/// `most` steps.
static Problem dropLongest(const Problem &problem, unsigned most) {
  Problem result;
  result.steps = problem.steps;
  std::vector<std::optional<unsigned>> numbers;
  for (const Transfer &transfer : problem.transfers) {
    numbers.emplace_back();
    if (transfer.needed - transfer.earliest > most)
      continue;
    numbers.back() = result.transfers.size();
    Transfer &kept = result.transfers.emplace_back(transfer);
    kept.after.clear();
    for (unsigned before : transfer.after)
      if (numbers[before])
        kept.after.push_back(*numbers[before]);
  }
  return result;
}

double schedule::getBound(const Problem &problem) {
  double bound = getBoundByParts(problem);
  // Transfers that may run at almost any time keep a problem in one piece. The
  // other transfers alone may give a better bound.
  for (unsigned most = problem.steps.size() / 2; most >= 8; most /= 2)
    bound = std::max(bound, getBoundByParts(dropLongest(problem, most)));
  return bound;
}
