// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The time of a step of a lowered program. It is computed with the same
/// machines and the same roofline as the time of the ops from which the step
/// was lowered.

#ifndef TPOPT_LIB_COST_STEPCOST_H
#define TPOPT_LIB_COST_STEPCOST_H

#include "lib/Cost/Machine.h"

#include "tpopt/Dialect/Step/Step.h"

namespace tp::cost {

/// Seconds for a step that computes or moves data, on an otherwise idle device.
double getStepTime(mlir::Operation *op, const Machine &machine);

/// Seconds for the launch that a collective begins, with those joined to it.
/// The mesh must have links.
double getStepTime(step::CollectiveStartOp start, const Mesh &mesh);

/// The links that a collective occupies, as in Machine.h.
llvm::SmallVector<unsigned, 2> getLinks(step::CollectiveStartOp start,
                                        const Mesh &mesh);

} // namespace tp::cost

#endif // TPOPT_LIB_COST_STEPCOST_H
