// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a step of a lowered program takes, by the same machines and the
/// same roofline as the ops that it was made of.

#ifndef TPOPT_LIB_COST_STEPCOST_H
#define TPOPT_LIB_COST_STEPCOST_H

#include "lib/Cost/Machine.h"

#include "tpopt/Dialect/Step/Step.h"

namespace tp::cost {

/// Seconds of a step that computes or moves, on a device that does nothing
/// else.
double getStepTime(mlir::Operation *op, const Machine &machine);

/// Seconds on the link, which the mesh must have.
double getStepTime(step::CollectiveStartOp start, const Mesh &mesh);

} // namespace tp::cost

#endif // TPOPT_LIB_COST_STEPCOST_H
