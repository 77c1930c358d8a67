// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reshards that a selection needs for a value.
//
// Uses share copies. If a copy would wait long for its next use, it may be made
// again instead:
//
//     %g = all-gather %w                     %g = all-gather %w
//     use %g                                 use %g
//     ..       %g takes memory        ->     ..
//     use %g                                 %h = all-gather %w
//                                            use %h
//
// This is called a cut of the value's uses before the second use: uses after a
// cut share no copies with those before it.

#ifndef TPOPT_PLAN_COPIES_H
#define TPOPT_PLAN_COPIES_H

#include "PlanGraph.h"

namespace tp::plan {

/// Each program point has two moments: the first for the reshards before the
/// op, the second for the op itself.
inline unsigned getMoment(unsigned point) { return 2 * point + 1; }

/// A value in one layout.
struct Copy {
  unsigned layout = 0;
  /// The index, in the list of copies, of the copy from which this one is made.
  /// Entry 0 of the list is the value itself; its source is 0.
  unsigned source = 0;
  /// The first use that needs the copy; null for the value itself.
  const PlanUse *need = nullptr;
  /// The copy is for the uses [firstUse, lastUse) in the value's `needs`. No
  /// cut lies between these uses.
  unsigned firstUse = 0, lastUse = 0;
  /// The first and the last moment at which the copy is held.
  unsigned begin = 0, end = 0;
};

/// The cuts of a value's uses, ascending: indices in `needs`. Uses before a cut
/// share no copies with uses after it.
using Cuts = llvm::SmallVector<unsigned, 0>;

/// Returns the value with number `value` and then its copies, each after its
/// source. The value must be an origin (see PlanValue). A copy is made as late
/// as its uses allow, or earlier if it is smaller than its source and the
/// source can then be freed.
llvm::SmallVector<Copy, 2> getCopies(SearchSpace &space, const PlanGraph &graph,
                                     unsigned value,
                                     const cost::ReshardPrices &prices,
                                     const Selection &selection,
                                     const Cuts &cuts = {});

} // namespace tp::plan

#endif // TPOPT_PLAN_COPIES_H
