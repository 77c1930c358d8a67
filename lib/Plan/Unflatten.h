// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products with dimensions split that a reshape merges or splits beside them.
//
//     %y = einsum "bd,de->be" %x, %w      %v = reshape %w : 576x576 -> 576x9x64
//     %h = reshape %y : 576 -> 9x64   ->  %h = einsum "bd,dac->bac" %x, %v
//
// 9 heads on 2 devices are 5 and 4, but their 576 features 288 each, so that
// the first form moves features and the second does not: what a device computes
// of the product are its heads. Where the weight is whole, its part costs
// nothing; where it is cut, a part of it moves instead. Both can be priced.

#ifndef TPOPT_PLAN_UNFLATTEN_H
#define TPOPT_PLAN_UNFLATTEN_H

#include "ProgramView.h"

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// Adds rewrites for those products among `ops` that read or make a flat
/// dimension of which some of `counts` devices would have other blocks than of
/// its first part.
llvm::SmallVector<ProgramView::Rewrite *>
addUnflattened(ProgramView &view, llvm::ArrayRef<mlir::Operation *> ops,
               llvm::ArrayRef<int64_t> counts, ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_UNFLATTEN_H
