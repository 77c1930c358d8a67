// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explanation.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// What stood in the way, in words; `winner` is the axis that did, if one did.
static std::string tellRule(LossRule rule, const std::string &winner) {
  std::string who = winner.empty() ? "another axis" : winner;
  switch (rule) {
  case LossRule::LargerSource:
    return who + " was preferred: it came from a larger tensor";
  case LossRule::MoreSharded:
    return who + " was preferred: it cuts more";
  case LossRule::OperandOrder:
    return who + " was preferred: it came from an earlier operand, all else "
                 "being equal";
  case LossRule::Priority:
    return who + " came in an earlier step";
  case LossRule::DimTaken:
    return who + " cuts the dimension already";
  case LossRule::AxisInUse:
    return who + " is in use on this value already";
  case LossRule::SourcesDisagree:
    return "the op's other tensors want different axes here";
  case LossRule::Closed:
    return "the dimension is closed, its annotation has no `?`";
  case LossRule::Replicated:
    return "the value is annotated replicated along the axis";
  case LossRule::NotDivisible:
    return "the size does not divide, and the dimension is several in one";
  case LossRule::Overflow:
    return "the dimension has axes already that do not divide its size";
  case LossRule::Strided:
    return "the blocks would not be contiguous";
  case LossRule::Barrier:
    return "the op does not let shardings through this way";
  }
  llvm_unreachable("covered switch");
}

namespace {

/// Writes sentences about values and ops of one program.
class Narrator {
public:
  Narrator(const PropagationGraph &graph, const Provenance &provenance,
           ShardingTable &table, const llvm::MapVector<Value, ValueId> &ids,
           ArrayRef<Operation *> ops)
      : graph(graph), provenance(provenance), mesh(table.getMesh()), ops(ops),
        names(graph.getNumValues()) {
    for (auto &[value, id] : ids)
      names[id] = getName(value);
    for (const Loss &loss : provenance.getLosses())
      losses[loss.value].push_back(&loss);
  }

  /// `"model" on dim 1: written on w1; to h over tp.einsum at mlp.mlir:5`.
  std::string tellAxis(ValueId value, unsigned dim, const AxisRef &axis) {
    std::string text;
    llvm::raw_string_ostream os(text);
    axis.print(os, mesh);
    os << " on dim " << dim << ": ";
    SmallVector<Arrival> hops = provenance.trace(graph, value, axis);
    if (hops.empty()) {
      os << "written here";
      return text;
    }
    os << "written on " << name(hops.back().source);
    for (const Arrival &hop : llvm::reverse(hops))
      os << "; to " << name(hop.value) << " over " << place(hop.op)
         << " (priority " << hop.step.priority << ", " << stringify(hop.step.op)
         << ")";
    return text;
  }

  /// `"data" did not come to dim 0 from x over tp.add: "model" cuts the
  /// dimension already`.
  SmallVector<std::string> tellLosses(ValueId value) {
    SmallVector<std::string> lines;
    for (const Loss *loss : losses.lookup(value)) {
      std::string text;
      llvm::raw_string_ostream os(text);
      loss->loser.print(os, mesh);
      os << " did not come to dim " << loss->dim << " from "
         << name(loss->source) << " over " << place(loss->op) << ": "
         << tellRule(loss->rule, printAxis(loss->winner));
      lines.push_back(text);
    }
    return lines;
  }

private:
  std::string name(ValueId id) const {
    return names[id].empty() ? "the function's result" : names[id];
  }
  std::string printAxis(const std::optional<AxisRef> &axis) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (axis)
      axis->print(os, mesh);
    return text;
  }
  std::string place(OpId id) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    Operation *op = id < ops.size() ? ops[id] : nullptr;
    if (!op)
      return "data flow";
    os << op->getName();
    if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
      os << " at " << file.getFilename().getValue() << ':' << file.getLine()
         << ':' << file.getColumn();
    return text;
  }

  const PropagationGraph &graph;
  const Provenance &provenance;
  const Mesh &mesh;
  ArrayRef<Operation *> ops;
  std::vector<std::string> names;
  llvm::DenseMap<ValueId, SmallVector<const Loss *>> losses;
};

} // namespace

void tp::attachExplanations(FunctionOpInterface function,
                            const PropagationGraph &graph,
                            const Provenance &provenance, ShardingTable &table,
                            const llvm::MapVector<Value, ValueId> &ids,
                            ArrayRef<Operation *> ops) {
  Builder builder(function.getContext());
  Narrator narrator(graph, provenance, table, ids, ops);
  SmallVector<Attribute> entries;
  for (auto &[key, id] : ids) {
    Value value = key;
    Operation *owner = value.getParentBlock()->getParentOp();
    if (owner != function.getOperation() &&
        owner->getParentOfType<FunctionOpInterface>() != function)
      continue;
    const TensorSharding &sharding = graph.getSharding(id);
    SmallVector<Attribute> lines;
    for (auto [dim, entry] : llvm::enumerate(sharding.dims))
      for (const AxisRef &axis : entry.axes)
        lines.push_back(
            builder.getStringAttr(narrator.tellAxis(id, dim, axis)));
    for (const std::string &line : narrator.tellLosses(id))
      lines.push_back(builder.getStringAttr(line));
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("lines", builder.getArrayAttr(lines)),
         builder.getNamedAttr("name", builder.getStringAttr(getName(value))),
         builder.getNamedAttr("sharding", builder.getStringAttr(sharding.str(
                                              table.getMesh())))}));
  }
  function->setAttr(kExplanationsAttr, builder.getArrayAttr(entries));
}
