// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices, pads and concatenations as splices, and back.
//
//     %a = slice %x [1:16]                %y = splice %x [1:16], %x [0:1]
//     %b = slice %x [0:1]        ->
//     %y = concat %a, %b
//
// A splice can be sharded along its dimension, at the price of exchanging the
// rows that devices lack; the ops that it replaces need the dimension whole.
// Splices only add choices, so the planner always uses them. If the dimension
// stays whole, the splice is turned back into the original ops.

#ifndef TPOPT_PLAN_SPLICES_H
#define TPOPT_PLAN_SPLICES_H

#include "ProgramView.h"

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpCost.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp::plan {

/// Adds rewrites that turn ops into splices, for those of `ops` that move data
/// along one dimension.
llvm::SmallVector<ProgramView::Rewrite *>
addSplices(ProgramView &view, llvm::ArrayRef<mlir::Operation *> ops,
           ShardingTable &table);

/// Returns true if a splice with this layout is turned back into the original
/// ops.
bool isTakenApart(SpliceOp splice, const TensorSharding &layout);

/// The cost of the slices and the concatenation that replace a splice, and the
/// bytes that the slices hold.
struct PartsCost {
  cost::Price price;
  int64_t heldBytes = 0;
};
PartsCost getPartsCost(SpliceOp splice, const TensorSharding &layout,
                       const cost::CostModel &cost);

/// Turns back the splices among `ops` for which isTakenApart() holds.
void takeSplicesApart(llvm::ArrayRef<mlir::Operation *> ops,
                      ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_SPLICES_H
