// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Decides when collectives start and when the device waits for them, so
/// that transfers overlap with computation. Nothing here depends on IR.
///
/// A device computes steps in program order and has one link or several. A
/// transfer occupies the links that it names, all of them for its whole time. A
/// link carries one transfer at a time, in the order of their starts. While a
/// device waits for a transfer in flight, it is idle; that time is called
/// exposed. Times are in seconds, memory in bytes.
///
/// A step can be a loop whose body has transfers, too. They use the same links:
/// those of the first iteration wait until the links have carried the transfers
/// that started before the loop. Each iteration ends when its transfers are
/// done, so later iterations find the links free.
///
/// For example, take three steps of 2 s and a transfer of 3 s. The program as
/// written has the transfer just before the last step. The transfer reads the
/// result of the first step, and no step needs the result of the transfer:
///
///     Problem problem;
///     problem.steps = {2, 2, 2};
///     // earliest, place, needed, seconds, bytes
///     problem.transfers = {{1, 2, 3, 3, 64}};
///     overlap(problem, {64, 4}).seconds; // 6
///     keep(problem).seconds;             // 9
///
/// Links matter where a slow transfer would hold up fast ones. Here a transfer
/// of 9 s is needed at the end, and each step waits for one of 1 s:
///
///     problem.transfers = {{0, 0, 3, 9, 64}, {0, 0, 0, 1, 64},
///                          {1, 1, 1, 1, 64}, {2, 2, 2, 1, 64}};
///     overlap(problem, {256, 4}).seconds; // 18
///     problem.transfers[0].links = {1};
///     overlap(problem, {256, 4}).seconds; // 9

#ifndef TPOPT_PASSES_SCHEDULE_OVERLAP_H
#define TPOPT_PASSES_SCHEDULE_OVERLAP_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tp::schedule {

/// A collective. Place p is the point before step p. If there are n steps,
/// place n is the point after all steps.
struct Transfer {
  unsigned earliest; ///< From here on, no step writes the transfer's source.
  unsigned place;    ///< The place of the transfer in the program as written.
  unsigned needed;   ///< The place by which it has to be done.
  double seconds;
  int64_t bytes; ///< The memory that it holds while it is in flight.
  /// Seconds of computing right before the transfer's start, to pack the data
  /// that the transfer sends.
  double preparation = 0;
  /// Earlier transfers that have to be done when this transfer starts.
  llvm::SmallVector<unsigned, 2> after = {};
  llvm::SmallVector<unsigned, 2> links = {0}; ///< At least one.
  /// The place by which it has to start: there, a step writes what the
  /// preparation reads.
  unsigned latest = std::numeric_limits<unsigned>::max();
  /// The bytes of the buffers that the preparation reads. They stay in use
  /// from the transfer's place until it starts.
  int64_t unpreparedBytes = 0;
};

/// Seconds of each link.
class LinkSeconds {
public:
  /// The number of links that have an entry. All others have 0 seconds.
  unsigned size() const { return seconds.size(); }
  double operator[](unsigned link) const {
    return link < size() ? seconds[link] : 0;
  }
  double &operator[](unsigned link) {
    if (link >= size())
      seconds.resize(link + 1);
    return seconds[link];
  }
  /// Adds the seconds of a transfer to each of its links.
  void add(const Transfer &transfer) {
    for (unsigned link : transfer.links)
      (*this)[link] += transfer.seconds;
  }
  LinkSeconds &operator+=(const LinkSeconds &other) {
    for (unsigned link = 0; link < other.size(); ++link)
      (*this)[link] += other[link];
    return *this;
  }
  LinkSeconds &operator*=(double times) {
    for (double &own : seconds)
      own *= times;
    return *this;
  }

private:
  llvm::SmallVector<double, 2> seconds;
};

struct Body;

struct StepTime {
  /// Without preparations, and if the links are free before it.
  double seconds;
  /// The seconds of the transfers inside the step, over all iterations.
  LinkSeconds carried = {};
  /// What the step does first, if there are transfers in it; otherwise null.
  std::shared_ptr<const Body> first = nullptr;

  StepTime(double seconds, LinkSeconds carried = {},
           std::shared_ptr<const Body> first = nullptr)
      : seconds(seconds), carried(std::move(carried)), first(std::move(first)) {
  }
  /// The seconds that the step takes if each link is busy for the first
  /// `backlog` seconds of the step.
  double getSeconds(const LinkSeconds &backlog) const;
};

struct Problem {
  std::vector<StepTime> steps;
  std::vector<Transfer> transfers; ///< In program order.

  /// The seconds of all transfers, those inside of steps included.
  LinkSeconds getCarried() const;
};

/// The memory and transfers allowed in addition to those of the program as
/// written.
struct Limits {
  int64_t bytes;
  unsigned count; ///< The number of transfers in flight.
};

struct Event {
  unsigned transfer;
  bool isStart; ///< Otherwise, the device waits until it is done.
};

struct Schedule {
  /// The events before each step and after the last step, in order.
  std::vector<llvm::SmallVector<Event, 2>> events;
  double seconds = 0; ///< The total time.
  double exposed = 0; ///< The part of it in which the device is idle.
};

/// The body of a loop or branch, and its schedule.
struct Body {
  Problem problem;
  Schedule schedule;
};

/// The schedule that starts every transfer at its place and waits for it
/// immediately.
Schedule keep(const Problem &problem);

/// Starts transfers early and waits for them late. Those that start before
/// their place, or finish after it, stay within the limits, so that memory
/// grows by at most `limits.bytes`. The transfer that is needed soonest goes
/// first. It starts before its place if the time until it is needed is short
/// compared with the work of its links until then. Preparations run while the
/// links are busy, or while the device waits for another transfer.
///
/// Several policies are tried. With some, a transfer does not start before its
/// place if it would delay the transfers inside the next step, or one that is
/// needed sooner and can start soon. With some, a transfer starts after its
/// place if its links are still busy there, so that it does not delay one that
/// is needed sooner. The schedule is never slower than `keep`.
Schedule overlap(const Problem &problem, const Limits &limits);

/// A lower bound on the seconds of any schedule of the steps in this order,
/// with any amount of memory. It is the largest of the longest chain of steps
/// and transfers, and the time that each link needs if transfers may be
/// interrupted and no other link delays them (Jackson's preemptive schedule: of
/// the transfers that may start, the one with the longest tail goes first). The
/// transfers inside a step count as one that may start when the step does. A
/// place that no transfer can cross splits the problem into two, whose bounds
/// add up.
double getBound(const Problem &problem);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_OVERLAP_H
