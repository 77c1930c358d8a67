// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TPOPT_PLAN_ATOMS_H
#define TPOPT_PLAN_ATOMS_H

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// The parts of mesh axes that all layouts are made of. An axis is divided
/// wherever a sharding of `root` divides it, or where a dimension of several
/// factors would: if `x` is larger than the number of heads in a dimension of
/// heads and features, a part of it shards the features.
///
/// Unless `allAxes`, axes that nothing in `root` uses are left out, as the user
/// has not asked for them. A manual region only has its free axes.
llvm::SmallVector<AxisRef> collectAtoms(mlir::Operation *root,
                                        ShardingTable &table, bool allAxes);

} // namespace tp::plan

#endif // TPOPT_PLAN_ATOMS_H
