// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The axes that did not arrive, found by looking at every op once more
/// after the fixpoint.

#ifndef TPOPT_LIB_SHARDING_LOSSES_H
#define TPOPT_LIB_SHARDING_LOSSES_H

#include "tpopt/Sharding/Propagation.h"

#include <map>
#include <tuple>

namespace tp {

/// How two factors of an op that wanted the same axis were told apart. The one
/// thing that the final state does not show.
struct ContestResult {
  LossRule rule;
  AxisRef winner;
};

/// By op, tensor and the factor that lost.
using ContestRecord =
    std::map<std::tuple<OpId, unsigned, unsigned>, ContestResult>;

/// Fills in the losses of `provenance`.
void collectLosses(const PropagationGraph &graph, const ContestRecord &contests,
                   Provenance &provenance);

} // namespace tp

#endif // TPOPT_LIB_SHARDING_LOSSES_H
