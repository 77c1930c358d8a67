// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Records what propagation did, for tp-explain.

#ifndef TPOPT_PASSES_PROPAGATE_EXPLANATION_H
#define TPOPT_PASSES_PROPAGATE_EXPLANATION_H

#include "dialects/TP/ShardingTable.h"
#include "tpopt/Sharding/Propagation.h"

#include "llvm/ADT/MapVector.h"

namespace tp {

/// Attaches `tp.explanations` to `function`: an `#tp.explanation` per value.
/// Each value's location gets the number of its record. `ops` are the program's
/// ops by their number in `graph`.
void attachExplanations(mlir::FunctionOpInterface function,
                        const PropagationGraph &graph,
                        const Provenance &provenance, ShardingTable &table,
                        const llvm::MapVector<mlir::Value, ValueId> &ids,
                        llvm::ArrayRef<mlir::Operation *> ops);

} // namespace tp

#endif // TPOPT_PASSES_PROPAGATE_EXPLANATION_H
