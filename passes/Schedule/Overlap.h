// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file When collectives start and when somebody waits for them, so that they
/// travel while others compute. Nothing here knows IR.
///
/// A device computes steps in program order and has one link, which carries one
/// transfer at a time, in the order of their starts. A device that waits for a
/// transfer in flight is idle; that time is exposed. Times are seconds, memory
/// is bytes.
///
/// Of three steps of 2 s and a transfer of 3 s that stands before the last of
/// them, reads what the first writes and is needed by nobody,
///
///     Problem problem;
///     problem.steps = {2, 2, 2};
///     // earliest, place, needed, seconds, bytes
///     problem.transfers = {{1, 2, 3, 3, 64}};
///     overlap(problem, {64, 4}).seconds; // 6
///     keep(problem).seconds;             // 9

#ifndef TPOPT_PASSES_SCHEDULE_OVERLAP_H
#define TPOPT_PASSES_SCHEDULE_OVERLAP_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace tp::schedule {

/// A collective. Places are numbers of steps and mean the place before that
/// step; the number of steps is the place behind all.
struct Transfer {
  unsigned earliest; ///< Nothing before it writes what the transfer reads.
  unsigned place;    ///< Where it stands as the program is written.
  unsigned needed;   ///< Where it has to be done.
  double seconds;
  int64_t bytes; ///< Of memory that it holds while it is under way.
  /// Seconds of computing right before its start: what it sends is packed.
  double preparation = 0;
  /// Transfers that stand before it and have to be done when it starts.
  llvm::SmallVector<unsigned, 2> after = {};
};

struct Problem {
  std::vector<double> steps;       ///< Without preparations.
  std::vector<Transfer> transfers; ///< In the order that they stand in.
};

/// What may be held beyond what the program as it is written holds.
struct Limits {
  int64_t bytes;
  unsigned count; ///< Of transfers under way.
};

struct Event {
  unsigned transfer;
  bool isStart; ///< Else somebody waits until it is done.
};

struct Schedule {
  /// What happens before each step, and behind the last one, in order.
  std::vector<llvm::SmallVector<Event, 2>> events;
  double seconds = 0; ///< Of all.
  double exposed = 0; ///< Of it, those in which nobody computes.
};

/// Every transfer where it stands, and waited for at once.
Schedule keep(const Problem &problem);

/// Transfers start early and are waited for late. A start is never behind the
/// place of its transfer, and what is under way or has arrived before that
/// place stays within the limits, so that memory grows by at most
/// `limits.bytes`. One that is needed soonest goes first; a transfer starts
/// ahead of its place when the time until it is needed becomes short for what
/// is still to be carried by then. Not worse than `keep`.
Schedule overlap(const Problem &problem, const Limits &limits);

/// Seconds that no schedule of the steps in this order goes below, whatever the
/// memory: the longest chain of steps and transfers, and what the link needs if
/// transfers may be interrupted (Jackson's preemptive schedule: of those that
/// may start, the one with the most steps behind it).
double getBound(const Problem &problem);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_OVERLAP_H
