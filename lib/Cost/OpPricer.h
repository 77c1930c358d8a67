// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The price that plans count for one op of a program.

#ifndef TPOPT_LIB_COST_OPPRICER_H
#define TPOPT_LIB_COST_OPPRICER_H

#include "lib/Cost/ProgramCost.h"

namespace tp::cost {

struct OpPrice {
  Price computed, sent;
};

class OpPricer {
public:
  OpPricer(ShardingTable &table, const CostModel &cost)
      : table(table), cost(cost), estimator(table.getMesh(), pool) {}

  /// The price of one run of `op`, without its regions. Reshards have their
  /// estimated cost; an op that cannot be computed with its layouts has
  /// infinite cost.
  OpPrice get(mlir::Operation *op);

private:
  OpPrice get(spmd::ReshardOp reshard);

  ShardingTable &table;
  const CostModel &cost;
  LayoutPool pool;
  ReshardEstimator estimator;
};

} // namespace tp::cost

#endif // TPOPT_LIB_COST_OPPRICER_H
