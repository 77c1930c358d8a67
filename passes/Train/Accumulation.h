// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of a batch that is computed in micro-batches.

#ifndef TPOPT_PASSES_TRAIN_ACCUMULATION_H
#define TPOPT_PASSES_TRAIN_ACCUMULATION_H

#include "Selection.h"

namespace tp {

/// The type of the optimizer's states of `parameter`, in which its gradients
/// are also summed.
mlir::FloatType getStateElement(mlir::Value parameter);

/// Moves the body of `function`, including the `gradients` of the loss, into a
/// loop over `count` micro-batches. The inputs of the function get a new first
/// dimension, which numbers the micro-batches.
///
/// The loss and the gradients become means over all micro-batches, weighted by
/// a result of `function` if `selection` names one as the weight. The gradients
/// are summed in the type of the optimizer's states. The weight becomes the sum
/// of all weights. Other results become stacks with one entry per micro-batch.
/// Values of donated arguments are passed from each micro-batch to the next.
void accumulate(mlir::func::FuncOp function, const Selection &selection,
                int64_t count, llvm::MutableArrayRef<mlir::Value> gradients);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_ACCUMULATION_H
