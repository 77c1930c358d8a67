// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TPOPT_PLAN_ATOMS_H
#define TPOPT_PLAN_ATOMS_H

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// Returns the parts of mesh axes from which all layouts are built. An axis is
/// divided where a sharding in `root` divides it. An axis is also divided to
/// fit the factors of a dimension: if a dimension consists of heads and
/// features, and `x` is larger than the number of heads, part of `x` shards the
/// features.
///
/// Unless `allAxes` is set, axes that nothing in `root` uses are left out,
/// because the user has not asked for them. For a manual region, only its free
/// axes are included.
llvm::SmallVector<AxisRef> collectAtoms(mlir::Operation *root,
                                        ShardingTable &table, bool allAxes);

} // namespace tp::plan

#endif // TPOPT_PLAN_ATOMS_H
