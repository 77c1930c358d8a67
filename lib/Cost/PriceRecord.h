// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file `tp.prices`: the cost of a function, and how each stage changed it.
///
/// The first item is the cost of the plan that Partition chose. Partition also
/// adds the differences between the cost that the plan counts and the cost that
/// the report counts, as one item for each cause of a difference. Each later
/// stage adds an item with the change that it made. So the sum of all items is
/// the total cost that the report gives:
///
///     plan       sent 96.0  launches 2    estimate for two reshards
///     steps      sent 32.0  launches 1    one reshard takes two collectives
///     combined              launches -1   two collectives share a launch
///     total      sent 128.0 launches 2
///
/// Costs are seconds if the mesh or a machine has links, and otherwise bytes.

#ifndef TPOPT_COST_PRICERECORD_H
#define TPOPT_COST_PRICERECORD_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/Machine.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp::cost {

/// The unit of the costs of plans on `mesh`.
CostUnit getCostUnit(const Mesh &mesh);

/// The cost of one call of a function on one device, as the report counts it.
struct PriceSum {
  double sent = 0, computed = 0; ///< In the unit of the mesh.
  double launches = 0;
  int64_t peak = 0; ///< Bytes.

  PriceSum &operator+=(const PriceSum &other);
};

PriceSum getPriceSum(PricesAttr prices);
/// The sum that the items of the function's prices should have. Reshards have
/// their estimated cost.
PriceSum measurePrice(mlir::FunctionOpInterface function, ShardingTable &table,
                      const std::optional<Machine> &machine);

/// Facts about a plan other than its price.
struct PlanFacts {
  int64_t merged = 0; ///< Constants that were merged into another one.
  double gap = 0;     ///< How much better a plan could be, in the mesh's unit.
};

/// Records the prices (`tp.prices`) of a function that has just been
/// partitioned.
void recordPlan(mlir::FunctionOpInterface function, const PlanFacts &facts,
                ShardingTable &table, const std::optional<Machine> &machine);
/// Returns `prices` with an added item: the change of the cost of `function`
/// since the last item. Returns `prices` as they are if nothing has changed, or
/// if their unit differs. `count` is as in TPRecords.td.
PricesAttr addChange(PricesAttr prices, mlir::FunctionOpInterface function,
                     PriceKind kind, int64_t count, ShardingTable &table,
                     const std::optional<Machine> &machine);
/// Adds an item for the change since the last item to the prices of the
/// function, if it has prices.
void recordChange(mlir::FunctionOpInterface function, PriceKind kind,
                  int64_t count, ShardingTable &table,
                  const std::optional<Machine> &machine);

} // namespace tp::cost

#endif // TPOPT_COST_PRICERECORD_H
