// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the axes that did not reach a tensor, by visiting every op once
/// more after the fixpoint.

#ifndef TPOPT_LIB_SHARDING_LOSSES_H
#define TPOPT_LIB_SHARDING_LOSSES_H

#include "tpopt/Sharding/Propagation.h"

#include <map>
#include <tuple>

namespace tp {

/// The rule that decided between two factors of an op that wanted the same
/// axis. This cannot be derived from the final state.
struct ContestResult {
  LossRule rule;
  AxisRef winner;
};

/// Keyed by op, tensor and losing factor.
using ContestRecord =
    std::map<std::tuple<OpId, unsigned, unsigned>, ContestResult>;

/// Adds the losses to `provenance`.
void collectLosses(const PropagationGraph &graph, const ContestRecord &contests,
                   Provenance &provenance);

} // namespace tp

#endif // TPOPT_LIB_SHARDING_LOSSES_H
