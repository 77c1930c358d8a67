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

/// A program has twice as many moments as points: each op is preceded by a
/// moment for its reshards.
inline unsigned getMoment(unsigned point) { return 2 * point + 1; }

/// A value in one layout.
struct Copy {
  unsigned layout = 0;
  /// The index of the copy that this one is made from; for the value itself,
  /// its own index.
  unsigned source = 0;
  /// The first use that needs the copy; null for the value itself.
  const PlanUse *need = nullptr;
  /// The copy serves the value's needs [firstUse, lastUse), with no cut between
  /// them.
  unsigned firstUse = 0, lastUse = 0;
  /// The first and the last moment at which the copy is held.
  unsigned begin = 0, end = 0;
};

/// The indices of the needs before which a value's uses are cut, ascending.
using Cuts = llvm::SmallVector<unsigned, 0>;

/// Returns the value with number `value`, which must be an origin, followed by
/// its copies. Each copy comes after its source. A copy is made as late as its
/// uses allow, or as early as its source allows if that frees memory.
llvm::SmallVector<Copy, 2> getCopies(SearchSpace &space, const PlanGraph &graph,
                                     unsigned value,
                                     const cost::ReshardPrices &prices,
                                     const Selection &selection,
                                     const Cuts &cuts = {});

} // namespace tp::plan

#endif // TPOPT_PLAN_COPIES_H
