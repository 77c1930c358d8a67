// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Cost/PriceRecord.h"

#include "OpPricer.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

CostUnit tp::cost::getCostUnit(const Mesh &mesh) {
  return mesh.hasLinks ? CostUnit::Seconds : CostUnit::Bytes;
}

PriceSum &PriceSum::operator+=(const PriceSum &other) {
  sent += other.sent;
  computed += other.computed;
  launches += other.launches;
  peak += other.peak;
  return *this;
}

static PriceSum scale(double factor, const PriceSum &sum) {
  return {factor * sum.sent, factor * sum.computed, factor * sum.launches, 0};
}

static PriceSum getDifference(PriceSum a, const PriceSum &b) {
  a += scale(-1, b);
  a.peak -= b.peak;
  return a;
}

PriceSum tp::cost::getPriceSum(PricesAttr prices) {
  PriceSum sum;
  for (PriceAttr item : prices.getItems())
    sum +=
        {item.getSent().convertToDouble(), item.getComputed().convertToDouble(),
         double(item.getLaunches()), item.getPeak()};
  return sum;
}

namespace {

/// Prices the ops of a function in two ways: as the plan counts them, and as
/// the report does.
class FunctionPricer {
public:
  FunctionPricer(FunctionOpInterface function, ShardingTable &table,
                 const std::optional<Machine> &machine)
      : function(function), table(table), machine(machine),
        cost(table.getMesh(), machine), pricer(table, cost) {}

  /// Returns the cost of the function, as the report counts it.
  PriceSum measure() {
    PriceSum sum;
    walk([&](Operation *op) {
      sum += scale(getTrips(op).times, getReported(op));
    });
    sum.peak = getActivationPeak(function, table).peak.bytes;
    return sum;
  }

  struct Item {
    PriceSum price;
    int64_t count = 0;
  };
  /// Returns the cost as the plan counts it and, for each cause, by how much
  /// the report's cost differs.
  llvm::MapVector<PriceKind, Item> itemize() {
    llvm::MapVector<PriceKind, Item> items;
    items[PriceKind::Plan].price.peak =
        getActivationPeak(function, table).peak.bytes;
    walk([&](Operation *op) { itemize(op, items); });
    return items;
  }

private:
  void walk(function_ref<void(Operation *)> visit) {
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != function.getOperation())
        visit(op);
    });
  }

  void itemize(Operation *op, llvm::MapVector<PriceKind, Item> &items) {
    double trips = getTrips(op).times;
    if (!isPlanned(op)) {
      PriceSum reported = scale(trips, getReported(op));
      items[PriceKind::Manual].price += reported;
      items[PriceKind::Manual].count += reported.launches;
      return;
    }
    OpPrice price = pricer.get(op);
    PriceSum planned{price.sent.cost, price.computed.cost, price.sent.launches,
                     0};
    double expected = getExpectedTimes(op);
    Item &plan = items[PriceKind::Plan];
    plan.price += scale(expected, planned);
    plan.count += isa<ReshardOp>(op);
    if (expected != trips)
      items[PriceKind::Loops].price += scale(trips - expected, planned);
    // The report counts the op's own communication differently, and gives its
    // computation a different weight.
    PriceSum rest = scale(trips, getDifference(getReported(op), planned));
    if (rest.launches != 0 || rest.sent != 0) {
      items[PriceKind::Exchanges].price += {rest.sent, 0, rest.launches, 0};
      items[PriceKind::Exchanges].count += 1;
    }
    if (rest.computed != 0)
      items[PriceKind::Weights].price += {0, rest.computed, 0, 0};
  }

  /// Returns true if the planner plans `op`: the op is outside of manual
  /// regions, or in one that leaves mesh axes free.
  bool isPlanned(Operation *op) {
    auto manual = op->getParentOfType<ManualOp>();
    return !manual || !getFreeAxes(manual, table.getMesh()).empty();
  }

  /// The report's price of one run of `op`. A report is made when collectives
  /// have replaced all reshards. Before that, a reshard has its estimated cost.
  PriceSum getReported(Operation *op) {
    if (isa<ReshardOp>(op)) {
      OpPrice price = pricer.get(op);
      return {price.sent.cost, 0, price.sent.launches, 0};
    }
    if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table))
      return {cost.getTransferCost(launch->axes, launch->wireBytes), 0, 1, 0};
    return {0, machine ? getTime(*machine, getWork(op, table)) : 0, 0, 0};
  }

  FunctionOpInterface function;
  ShardingTable &table;
  const std::optional<Machine> &machine;
  CostModel cost;
  OpPricer pricer;
};

} // namespace

PriceSum tp::cost::measurePrice(FunctionOpInterface function,
                                ShardingTable &table,
                                const std::optional<Machine> &machine) {
  return FunctionPricer(function, table, machine).measure();
}

static PriceAttr toAttr(MLIRContext *context, PriceKind kind,
                        const PriceSum &price, int64_t count) {
  return PriceAttr::get(context, kind, llvm::APFloat(price.sent),
                        llvm::APFloat(price.computed),
                        std::llround(price.launches), price.peak, count);
}

void tp::cost::recordPlan(FunctionOpInterface function, const PlanFacts &facts,
                          ShardingTable &table,
                          const std::optional<Machine> &machine) {
  MLIRContext *context = function.getContext();
  SmallVector<PriceAttr> items;
  for (auto &[kind, item] : FunctionPricer(function, table, machine).itemize())
    items.push_back(toAttr(context, kind, item.price, item.count));
  function->setAttr(
      kPricesAttr, PricesAttr::get(context, getCostUnit(table.getMesh()), items,
                                   facts.merged, llvm::APFloat(facts.gap)));
}

PricesAttr tp::cost::addChange(PricesAttr prices, FunctionOpInterface function,
                               PriceKind kind, int64_t count,
                               ShardingTable &table,
                               const std::optional<Machine> &machine) {
  if (prices.getUnit() != getCostUnit(table.getMesh()))
    return prices;
  PriceSum now = measurePrice(function, table, machine);
  PriceSum change = getDifference(now, getPriceSum(prices));
  // Ignore rounding differences that are due to the order of summation.
  auto round = [](double &part, double whole) {
    if (std::abs(part) <= 1e-12 * std::abs(whole))
      part = 0;
  };
  round(change.sent, now.sent);
  round(change.computed, now.computed);
  if (count == 0 && change.sent == 0 && change.computed == 0 &&
      std::llround(change.launches) == 0 && change.peak == 0)
    return prices;
  MLIRContext *context = function.getContext();
  SmallVector<PriceAttr> items(prices.getItems());
  items.push_back(toAttr(context, kind, change, count));
  return PricesAttr::get(context, prices.getUnit(), items, prices.getMerged(),
                         prices.getGap());
}

void tp::cost::recordChange(FunctionOpInterface function, PriceKind kind,
                            int64_t count, ShardingTable &table,
                            const std::optional<Machine> &machine) {
  if (auto prices = function->getAttrOfType<PricesAttr>(kPricesAttr))
    function->setAttr(kPricesAttr,
                      addChange(prices, function, kind, count, table, machine));
}
