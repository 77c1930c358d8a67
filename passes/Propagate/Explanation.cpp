// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explanation.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {

/// Writes the records of one program's values.
class Recorder {
public:
  Recorder(const PropagationGraph &graph, const Provenance &provenance,
           ShardingTable &table, const llvm::MapVector<Value, ValueId> &ids,
           ArrayRef<Operation *> ops, MLIRContext *context)
      : graph(graph), provenance(provenance), table(table), ops(ops),
        context(context), names(graph.getNumValues()) {
    for (auto &[value, id] : ids)
      names[id] = StringAttr::get(context, getName(value));
    for (const Loss &loss : provenance.getLosses())
      losses[loss.value].push_back(&loss);
  }

  ExplanationAttr record(ValueId id) {
    const TensorSharding &sharding = graph.getSharding(id);
    SmallVector<ArrivalAttr> arrivals;
    for (auto [dim, entry] : llvm::enumerate(sharding.dims))
      for (const AxisRef &axis : entry.axes)
        arrivals.push_back(recordArrival(id, dim, axis));
    return ExplanationAttr::get(context, id, names[id], table.toAttr(sharding),
                                arrivals, recordLosses(id),
                                /*alternatives=*/{});
  }

private:
  ArrivalAttr recordArrival(ValueId value, unsigned dim, const AxisRef &axis) {
    SmallVector<Arrival> way = provenance.trace(graph, value, axis);
    SmallVector<HopAttr> hops;
    for (const Arrival &hop : llvm::reverse(way))
      hops.push_back(HopAttr::get(context, names[hop.value], getOpName(hop.op),
                                  getPlace(hop.op), hop.step.priority,
                                  hop.step.op));
    return ArrivalAttr::get(
        context, toAttr(axis), dim,
        way.empty() ? StringAttr() : names[way.back().source], hops);
  }

  SmallVector<LossAttr> recordLosses(ValueId value) {
    SmallVector<LossAttr> records;
    for (const Loss *loss : losses.lookup(value))
      records.push_back(LossAttr::get(
          context, toAttr(loss->loser), loss->dim, names[loss->source],
          getOpName(loss->op), getPlace(loss->op), loss->rule,
          loss->winner ? toAttr(*loss->winner) : AxisRefAttr()));
    return records;
  }

  AxisRefAttr toAttr(const AxisRef &axis) const {
    return spmd::toAttr(context, table.getMesh(), axis).getAxes().front();
  }
  Operation *getOp(OpId id) const {
    return id < ops.size() ? ops[id] : nullptr;
  }
  StringAttr getOpName(OpId id) const {
    Operation *op = getOp(id);
    return op ? op->getName().getIdentifier() : StringAttr();
  }
  LocationAttr getPlace(OpId id) const {
    Operation *op = getOp(id);
    return op ? op->getLoc()->findInstanceOf<FileLineColLoc>() : LocationAttr();
  }

  const PropagationGraph &graph;
  const Provenance &provenance;
  ShardingTable &table;
  ArrayRef<Operation *> ops;
  MLIRContext *context;
  std::vector<StringAttr> names; ///< Null for results of functions.
  llvm::DenseMap<ValueId, SmallVector<const Loss *>> losses;
};

} // namespace

/// Writes the number of a value's record into the value's location.
static void setRecordId(Value value, ValueId id) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    argument.setLoc(withRecordIds(argument.getLoc(), int64_t(id)));
    return;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<int64_t> ids(op->getNumResults(), -1);
  for (OpResult result : op->getResults())
    if (std::optional<int64_t> known = getRecordId(result))
      ids[result.getResultNumber()] = *known;
  ids[cast<OpResult>(value).getResultNumber()] = id;
  op->setLoc(withRecordIds(op->getLoc(), ids));
}

void tp::attachExplanations(FunctionOpInterface function,
                            const PropagationGraph &graph,
                            const Provenance &provenance, ShardingTable &table,
                            const llvm::MapVector<Value, ValueId> &ids,
                            ArrayRef<Operation *> ops) {
  Recorder recorder(graph, provenance, table, ids, ops, function.getContext());
  SmallVector<Attribute> entries;
  for (auto &[value, id] : ids) {
    Operation *owner = Value(value).getParentBlock()->getParentOp();
    if (owner != function.getOperation() &&
        owner->getParentOfType<FunctionOpInterface>() != function)
      continue;
    entries.push_back(recorder.record(id));
    setRecordId(value, id);
  }
  function->setAttr(kExplanationsAttr,
                    ArrayAttr::get(function.getContext(), entries));
}
