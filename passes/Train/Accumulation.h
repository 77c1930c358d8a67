// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of a batch that is computed part by part.

#ifndef TPOPT_PASSES_TRAIN_ACCUMULATION_H
#define TPOPT_PASSES_TRAIN_ACCUMULATION_H

#include "Selection.h"

namespace tp {

/// The type that gradients of `parameter` are summed in, and states have.
mlir::FloatType getStateElement(mlir::Value parameter);

/// Puts what `function` computes, `gradients` of the loss among it, into a loop
/// over `count` micro-batches, of which its inputs get one more dimension.
///
/// The gradients become those of all micro-batches, in the states' types. So
/// does the loss: it is the mean of theirs, weighted by the selection's weight.
/// The weight becomes their sum. Other results are those of each micro-batch,
/// stacked. What is donated, other than a parameter, goes from each to the
/// next.
void accumulate(mlir::func::FuncOp function, const Selection &selection,
                int64_t count, llvm::MutableArrayRef<mlir::Value> gradients);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_ACCUMULATION_H
