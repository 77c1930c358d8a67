// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file `tp.prices`: what a function costs, and what each stage changed of
/// that.
///
/// Partition begins it with the cost that its plan has minimised, and with what
/// the report counts in another way; later stages add what they change. So the
/// sums of all items are the totals of the report:
///
///     plan       sent 96.0  launches 2    two reshards, as estimated
///     steps      sent 32.0  launches 1    planned exactly, one takes two steps
///     combined              launches -1   two collectives are issued as one
///                sent 128.0 launches 2    what the report says
///
/// Costs are seconds if the mesh has links, also those of a machine, else
/// bytes.

#ifndef TPOPT_COST_PRICERECORD_H
#define TPOPT_COST_PRICERECORD_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/Machine.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp::cost {

/// The unit of what plans on `mesh` cost.
CostUnit getCostUnit(const Mesh &mesh);

/// What a call of a function costs a device, as the report counts it.
struct PriceSum {
  double sent = 0, computed = 0; ///< In the unit of the mesh.
  double launches = 0;
  int64_t peak = 0; ///< Bytes.

  PriceSum &operator+=(const PriceSum &other);
};

PriceSum getPriceSum(PricesAttr prices);
/// The sum that the items of its prices should have. Reshards count as
/// estimated.
PriceSum measurePrice(mlir::FunctionOpInterface function, ShardingTable &table,
                      const std::optional<Machine> &machine);

/// What Partition knows of its plan beside the price.
struct PlanFacts {
  int64_t merged = 0; ///< Constants that became one with another.
  double gap = 0;     ///< How much better another plan could be, in the unit.
};

/// Begins the prices of a function that has just been partitioned.
void recordPlan(mlir::FunctionOpInterface function, const PlanFacts &facts,
                ShardingTable &table, const std::optional<Machine> &machine);
/// `prices` of `function` with an item of what has changed since the last one,
/// if that is anything; without one, too, if they are in another unit. `count`
/// is that of TPRecords.td.
PricesAttr addChange(PricesAttr prices, mlir::FunctionOpInterface function,
                     PriceKind kind, int64_t count, ShardingTable &table,
                     const std::optional<Machine> &machine);
/// Does so with the prices that the function has, if any.
void recordChange(mlir::FunctionOpInterface function, PriceKind kind,
                  int64_t count, ShardingTable &table,
                  const std::optional<Machine> &machine);

} // namespace tp::cost

#endif // TPOPT_COST_PRICERECORD_H
