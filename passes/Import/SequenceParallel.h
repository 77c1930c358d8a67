// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shards activations along the sequence.

#ifndef TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H
#define TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Shards activations along the sequence, between those blocks of a transformer
/// that are sharded along `axis` (arXiv:2205.05198). If input features of a
/// weight are sharded along `axis`, the weight's product is summed over
/// devices, and its result is constrained. If output features are sharded, the
/// product needs its other operand in full, and this operand is constrained.
/// Products of the backward pass are included. The sequence is the last
/// dimension of the constrained value that the weight does not have. Returns
/// the number of constrained values.
unsigned cutSequences(mlir::func::FuncOp function, const Mesh &mesh,
                      AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H
