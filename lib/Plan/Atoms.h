// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TPOPT_PLAN_ATOMS_H
#define TPOPT_PLAN_ATOMS_H

#include "dialects/TP/ShardingTable.h"

namespace tp::plan {

/// The parts of mesh axes that all layouts are made of. An axis is divided at
/// every place where a sharding of `root` divides it, or where a dimension of
/// several factors would: where `x` is larger than the heads of a dimension of
/// heads and features, a part of it shards the features.
///
/// Axes that nothing in `root` uses are left out unless `allAxes`: nobody has
/// asked for them. A manual region has its free axes alone.
llvm::SmallVector<AxisRef> collectAtoms(mlir::Operation *root,
                                        ShardingTable &table, bool allAxes);

} // namespace tp::plan

#endif // TPOPT_PLAN_ATOMS_H
