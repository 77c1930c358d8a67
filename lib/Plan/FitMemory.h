// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a plan fit into memory.
//
// The cheapest plan holds values in order to send fewer bytes: it keeps the
// gathered weights of all layers for the backward pass, or replicates a large
// value to save a gather. While the plan needs more memory than there is, some
// of these decisions are undone at the moment of the peak, by two kinds of
// moves:
//
//     cut the uses of a value     its copy is freed, and made again later
//     take another option         an op makes or needs smaller blocks
//
// Each move is priced as a change of the plan (PlanPrice.h). Moves with the
// lowest cost per freed byte are made first.

#ifndef TPOPT_PLAN_FITMEMORY_H
#define TPOPT_PLAN_FITMEMORY_H

#include "PlanPrice.h"

namespace tp::plan {

/// Changes a plan until a device holds at most `capacity` bytes, or until no
/// move frees memory at the moment of the peak.
void fitMemory(const PlanGraph &graph, PlanPrice &price, int64_t capacity);

} // namespace tp::plan

#endif // TPOPT_PLAN_FITMEMORY_H
