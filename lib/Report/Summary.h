// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of a report that the table and the HTML page show in the same way.

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

/// In order of first appearance. Launches, bytes and times are totals: a
/// collective in a loop counts once for every iteration.
std::vector<CollectiveGroup> groupCollectives(const FunctionReport &function);

/// Adds up all groups.
CollectiveGroup sumGroups(llvm::ArrayRef<CollectiveGroup> groups);

/// The share of `part` in all communication, from 0 to 1: in time if known,
/// else in bytes sent.
double getShare(const CollectiveGroup &part, const CollectiveGroup &all);

/// The most expensive collectives, at most `count`, the worst first.
std::vector<const CollectiveEntry *> getLargest(const FunctionReport &function,
                                                size_t count);

/// `@main: 2 all_reduce, 1 all_gather; 40.0 MiB sent and 1.2 GiB held per
/// device`.
std::string summarize(const FunctionReport &function);

/// `data=2 x model=4, 8 devices`.
std::string describeMesh(const MeshEntry &mesh);

/// The nonzero rows of the memory table: their titles and bytes.
std::vector<std::pair<std::string, int64_t>>
listMemory(const MemoryEntry &memory);

/// Says whether the compiled program determines the bytes of activations, and
/// which op needs the most; empty if neither is known.
std::string describeActivations(const MemoryEntry &memory);

/// Compares the total with the capacity, for example `fits: 48.2 % of 80.0
/// GiB`.
std::string judgeCapacity(const MemoryEntry &memory);

/// Describes the cost of padding; empty if there is none.
std::string describePadding(const MemoryEntry &memory);

/// Describes the plan, and how later passes changed its cost; empty if there is
/// no known plan.
std::string describePlan(const FunctionReport &function);

/// `verified: field`, and an explanation.
std::string describeProof(const FunctionReport &function);

/// The predicted time of a call; empty if times are not known.
std::string describeCall(const FunctionReport &function);

/// Compares communication and compute; empty if neither is known.
std::string compareTimes(const FunctionReport &function);

/// The time that overlap saves on collectives, and what can still be gained;
/// empty if unknown or if there are no collectives.
std::string describeOverlap(const FunctionReport &function);

/// The share of work that every device repeats, in total and by layer; empty if
/// it is 1 % or less.
std::string describeReplicated(const FunctionReport &function);

/// Prints `text` in lines of at most 100 columns that start with `indent`
/// blanks, broken between words; a word that is too long for a line is broken.
void printWrapped(llvm::raw_ostream &os, llvm::StringRef text, size_t indent);

} // namespace tp

#endif // TPOPT_LIB_REPORT_SUMMARY_H
