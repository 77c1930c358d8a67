// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splits dimensions of products that an adjacent reshape splits or merges.
//
//     %y = einsum "bd,de->be" %x, %w      %v = reshape %w : 576x576 -> 576x9x64
//     %h = reshape %y : 576 -> 9x64   ->  %h = einsum "bd,dac->bac" %x, %v
//
// 9 heads on 2 devices are split into 5 and 4, but their 576 features into 288
// each. So the first form has to exchange features, while in the second each
// device computes exactly its heads. For that, a device needs a part of the
// weight. That costs nothing if the weight is whole, but if it is sharded,
// other devices have to send the part. Both forms can be priced.

#ifndef TPOPT_PLAN_UNFLATTEN_H
#define TPOPT_PLAN_UNFLATTEN_H

#include "ProgramView.h"

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// Adds rewrites for the products among `ops` that read or write a flat
/// dimension if, for some number of devices in `counts`, the blocks of the
/// dimension differ from those of its first part.
llvm::SmallVector<ProgramView::Rewrite *>
addUnflattened(ProgramView &view, llvm::ArrayRef<mlir::Operation *> ops,
               llvm::ArrayRef<int64_t> counts, ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_UNFLATTEN_H
