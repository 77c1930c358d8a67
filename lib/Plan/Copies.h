// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reshards that a selection needs for a value.

#ifndef TPOPT_PLAN_COPIES_H
#define TPOPT_PLAN_COPIES_H

#include "PlanGraph.h"

namespace tp::plan {

/// A program runs through twice as many moments as it has points: before each
/// op there is one for the reshards in front of it.
inline unsigned getMoment(unsigned point) { return 2 * point + 1; }

/// A value in one layout.
struct Copy {
  unsigned layout = 0;
  /// The copy that it is made from, in the list; its own number for the value
  /// itself.
  unsigned source = 0;
  /// The first use that needs it, and the use before which it is made; none for
  /// the value itself.
  const PlanUse *need = nullptr, *before = nullptr;
  /// The first and the last moment at which it is held.
  unsigned begin = 0, end = 0;
};

/// The value with this number, which is an origin, and its copies in the order
/// in which they are made.
llvm::SmallVector<Copy, 2> getCopies(const PlanGraph &graph, unsigned value,
                                     const cost::ReshardPrices &prices,
                                     const Selection &selection);

} // namespace tp::plan

#endif // TPOPT_PLAN_COPIES_H
