// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splits dimensions of products that an adjacent reshape splits or merges.
//
//     %y = einsum "bd,de->be" %x, %w      %v = reshape %w : 576x576 -> 576x9x64
//     %h = reshape %y : 576 -> 9x64   ->  %h = einsum "bd,dac->bac" %x, %v
//
// 9 heads on 2 devices are split into 5 and 4, but their 576 features into 288
// each. So the first form has to exchange features of %y. In the second form,
// each device computes exactly its heads. It needs the part of the weight for
// these heads. A replicated weight contains the part, but if the weight is
// sharded, other devices have to send it. The planner prices both forms.

#ifndef TPOPT_PLAN_UNFLATTEN_H
#define TPOPT_PLAN_UNFLATTEN_H

#include "ProgramView.h"

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// Adds rewrites for the products among `ops` that read or write a flat
/// dimension, that is, one that a reshape splits into parts or merges from
/// parts. A product gets a rewrite only if, for some number of devices in
/// `counts`, sharding the first part gives other blocks than sharding the flat
/// dimension.
llvm::SmallVector<ProgramView::Rewrite *>
addUnflattened(ProgramView &view, llvm::ArrayRef<mlir::Operation *> ops,
               llvm::ArrayRef<int64_t> counts, ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_UNFLATTEN_H
