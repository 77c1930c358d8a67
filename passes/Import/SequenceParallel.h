// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a plan cuts along the sequence.

#ifndef TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H
#define TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Between the blocks of a transformer that are cut along `axis`, activations
/// are cut along the sequence (arXiv:2205.05198): asks for it of what products
/// sum because a weight is cut along `axis`, and of what they take whole. The
/// gradient's products are such, too. The sequence is the last dimension that
/// does not come from the weight. Returns how many values it asked of.
unsigned cutSequences(mlir::func::FuncOp function, const Mesh &mesh,
                      AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_SEQUENCEPARALLEL_H
