// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the table and the HTML page show of a report in the same way.

#ifndef TPOPT_LIB_REPORT_SUMMARY_H
#define TPOPT_LIB_REPORT_SUMMARY_H

#include "lib/Report/Report.h"

namespace tp {

/// All collectives of one kind along the same axes.
struct CollectiveGroup {
  std::string kind, axes;
  int64_t launches = 0;
  int64_t bytes = 0, wireBytes = 0;
  double microseconds = 0;
};

/// In order of first appearance; launches, bytes and times of all turns.
std::vector<CollectiveGroup> groupCollectives(const FunctionReport &function);

/// The sum of all groups.
CollectiveGroup sumGroups(llvm::ArrayRef<CollectiveGroup> groups);

/// The share of `part` in all communication, in time where that is known, else
/// in bytes sent; 0 to 1.
double getShare(const CollectiveGroup &part, const CollectiveGroup &all);

/// The most expensive collectives, at most `count`, the worst first.
std::vector<const CollectiveEntry *> getLargest(const FunctionReport &function,
                                                size_t count);

/// `@main: 2 all_reduce, 1 all_gather; 40.0 MiB sent and 1.2 GiB held per
/// device`.
std::string summarize(const FunctionReport &function);

/// `data=2 x model=4, 8 devices`.
std::string describeMesh(const MeshEntry &mesh);

/// The rows of the memory table that are not zero: what, and how much.
std::vector<std::pair<std::string, int64_t>>
listMemory(const MemoryEntry &memory);

/// Whether activations are those of the compiled program, and where they take
/// most; empty if nothing is known.
std::string describeActivations(const MemoryEntry &memory);

/// `fits in 80.0 GB` and so on: what the capacity says to the total.
std::string judgeCapacity(const MemoryEntry &memory);

/// What padding costs, or nothing if there is none.
std::string describePadding(const MemoryEntry &memory);

/// What was planned, and what has changed that; empty if it is not known.
std::string describePlan(const FunctionReport &function);

/// `verified: field`, and what that means.
std::string describeProof(const FunctionReport &function);

/// What a call is predicted to take; empty if times are not known.
std::string describeCall(const FunctionReport &function);

/// How communication and compute compare; empty if neither is known.
std::string compareTimes(const FunctionReport &function);

/// What overlap saves of the time that collectives take, and what is left to
/// gain; empty if it is not known or there are no collectives.
std::string describeOverlap(const FunctionReport &function);

/// The share of work that every device repeats, in all and by layer; empty if
/// it is 1 % or less.
std::string describeReplicated(const FunctionReport &function);

} // namespace tp

#endif // TPOPT_LIB_REPORT_SUMMARY_H
