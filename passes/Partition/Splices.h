// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices, pads and concatenations as splices, and back.
//
//     %a = slice %x [1:16]                %y = splice %x [1:16], %x [0:1]
//     %b = slice %x [0:1]        ->
//     %y = concat %a, %b
//
// A splice can be cut along its dimension, at the price of what crosses; what
// it replaces wants it whole. So it is a choice more, and none less. One along
// a dimension that stays whole becomes what it was.

#ifndef TPOPT_PASSES_PARTITION_SPLICES_H
#define TPOPT_PASSES_PARTITION_SPLICES_H

#include "tpopt/Program/ShardingTable.h"

namespace tp {

/// Replaces those of `ops` that move data along one dimension by splices.
void makeSplices(llvm::ArrayRef<mlir::Operation *> ops, ShardingTable &table);

/// Replaces the splices among `ops` whose dimension is not cut.
void takeSplicesApart(llvm::ArrayRef<mlir::Operation *> ops,
                      ShardingTable &table);

} // namespace tp

#endif // TPOPT_PASSES_PARTITION_SPLICES_H
