// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs propagation over the functions of a module.

#include "Explanation.h"

#include "dialects/SPMD/Structure.h"
#include "dialects/TP/CheapSources.h"
#include "dialects/TP/ShardingTable.h"
#include "dialects/TP/TensorTypes.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Sharding/Propagation.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/DebugLog.h"

#include <map>

#define DEBUG_TYPE "tp-propagate"

namespace tp {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "tpopt/Passes/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

static OpClass toOpClass(PropagationClass propagationClass) {
  switch (propagationClass) {
  case PropagationClass::Elementwise:
    return OpClass::Elementwise;
  case PropagationClass::DataMovement:
    return OpClass::DataMovement;
  case PropagationClass::DynamicSlice:
    return OpClass::DynamicSlice;
  case PropagationClass::Broadcast:
    return OpClass::Broadcast;
  case PropagationClass::Other:
    return OpClass::Other;
  }
  llvm_unreachable("covered switch");
}

namespace {

/// Builds the propagation graph of functions that share a mesh, and writes the
/// result back.
class Translation {
public:
  Translation(ShardingTable &table, ArrayRef<FunctionOpInterface> functions)
      : table(table) {
    size_t numValues = 0, numOps = 0;
    for (FunctionOpInterface function : functions) {
      numValues += function.getNumArguments() + function.getNumResults();
      numOps += function.getNumResults(); // the returned values
      function->walk([&](Operation *op) {
        ++numOps;
        numValues += op->getNumResults();
      });
    }
    graph.reserve(numValues, numOps);
    ids.reserve(numValues);
  }

  LogicalResult add(FunctionOpInterface function) {
    functions.push_back(function);
    for (BlockArgument arg : function.getArguments()) {
      addValue(arg, getSharding(arg));
      auto name =
          function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), kNameAttr);
      if (name && ids.count(arg))
        named[name].push_back(arg);
    }
    return addRegion(function.getFunctionBody());
  }

  LogicalResult run(bool explain) {
    // Arguments that share storage must have the same sharding.
    for (auto &[name, args] : named) {
      if (args.size() < 2)
        continue;
      SmallVector<ValueId> group;
      for (Value arg : args)
        group.push_back(ids.lookup(arg));
      if (std::optional<GraphError> error = graph.addShardingGroup(group))
        return report(*error);
    }
    Provenance provenance;
    if (std::optional<GraphError> error =
            propagate(graph, table.getMesh(), provenance))
      return report(*error);
    LDBG() << graph.getNumOps() << " ops, " << graph.getNumValues()
           << " values, " << provenance.getLosses().size() << " lost shardings";
    llvm::DenseMap<const TensorSharding *, ShardingAttr> attributes;
    for (auto &[value, id] : ids) {
      LDBG(2) << value << ": " << graph.getSharding(id).str(table.getMesh());
      if (isArgument(value))
        continue;
      if (isInManual(id)) {
        setSharding(value, table.toAttr(getInside(id)));
        continue;
      }
      if (isa_and_present<ManualOp>(value.getDefiningOp())) {
        TensorSharding sharding = graph.getSharding(id);
        sharding.replicated.clear(); // manual axes, from withoutManual
        setSharding(value, table.toAttr(sharding));
        continue;
      }
      const TensorSharding &sharding = graph.getSharding(id);
      ShardingAttr &attribute = attributes[&sharding];
      if (!attribute)
        attribute = table.toAttr(sharding);
      setSharding(value, attribute);
    }
    setManualResults();
    for (FunctionOpInterface function : functions)
      setSignature(function);
    if (explain)
      for (FunctionOpInterface function : functions)
        attachExplanations(function, graph, provenance, table, ids, ops);
    return success();
  }

private:
  static bool isArgument(Value value) {
    auto arg = dyn_cast<BlockArgument>(value);
    return arg && isa<FunctionOpInterface>(arg.getOwner()->getParentOp());
  }

  bool isInManual(ValueId id) const {
    return llvm::any_of(inManual, [&](std::pair<ValueId, ValueId> range) {
      return range.first <= id && id < range.second;
    });
  }

  void setSignature(FunctionOpInterface function) {
    SmallVector<ShardingAttr> arguments, outputs(function.getNumResults());
    for (BlockArgument arg : function.getArguments()) {
      auto it = ids.find(arg);
      arguments.push_back(it == ids.end()
                              ? ShardingAttr()
                              : table.toAttr(graph.getSharding(it->second)));
    }
    for (const Result &result : results)
      if (result.function == function)
        outputs[result.index] = table.toAttr(graph.getSharding(result.id));
    spmd::setSignature(function, arguments, outputs);
  }

  /// Adds a value with its annotation; without one, its dimensions are open.
  /// Returns none for values other than tensors.
  std::optional<ValueId> addValue(Value value, ShardingAttr annotation) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return std::nullopt;
    return addValue(value, annotation
                               ? table.resolve(annotation, type.getRank())
                               : TensorSharding::replicate(type.getRank(),
                                                           /*open=*/true));
  }

  ValueId addValue(Value value, const TensorSharding &sharding) {
    auto type = cast<RankedTensorType>(value.getType());
    ValueId id = graph.addValue(type.getShape(), type.getElementTypeBitWidth(),
                                sharding);
    ids.insert({value, id});
    values.resize(graph.getNumValues());
    values[id] = value;
    return id;
  }

  LogicalResult addRegion(Region &region) {
    for (Block &block : region)
      for (Operation &op : block)
        if (failed(addOp(&op)))
          return failure();
    return success();
  }

  LogicalResult addOp(Operation *op) {
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
      return addRuledOp(ruled);
    if (auto group = dyn_cast<GroupOp>(op)) {
      groups[group.getId()].push_back(ids.lookup(group.getInput()));
      auto &members = groups[group.getId()];
      if (members.size() < 2)
        return success();
      auto error = graph.addShardingGroup(ArrayRef(members).take_back(2));
      return error ? report(*error) : success();
    }
    if (auto manual = dyn_cast<ManualOp>(op))
      return addManual(manual);
    if (auto flow = dyn_cast<RegionFlowOpInterface>(op))
      return addRegionFlow(flow);
    if (op->hasTrait<OpTrait::ReturnLike>()) {
      if (isa<RegionFlowOpInterface>(op->getParentOp()))
        return success(); // RegionFlowOpInterface ties the operands
      if (isa<FunctionOpInterface>(op->getParentOp()))
        return addReturn(op);
    }
    op->emitError() << prefix(ErrorCode::NoShardingRule) << op->getName()
                    << " has no sharding rule: implement "
                       "ShardingRuleOpInterface for it in an external model, "
                       "or put the op into an spmd.manual region over all axes";
    return failure();
  }

  LogicalResult addRuledOp(ShardingRuleOpInterface op) {
    SmallVector<ValueId> operands, outputs;
    for (Value operand : op->getOperands()) {
      auto *known = ids.find(operand);
      if (known == ids.end())
        return op->emitError() << prefix(ErrorCode::NoShardingRule)
                               << "expects operands that are ranked tensors";
      operands.push_back(known->second);
    }
    for (Value result : op->getResults()) {
      ShardingAttr annotation = getSharding(result);
      if (auto constraint = dyn_cast<ConstraintOp>(op.getOperation()))
        annotation = constraint.getSharding();
      std::optional<ValueId> id = addValue(result, annotation);
      if (!id)
        return op->emitError() << prefix(ErrorCode::NoShardingRule)
                               << "expects results that are ranked tensors";
      outputs.push_back(*id);
    }
    Direction allowed = Direction::Both;
    if (auto barrier = dyn_cast<BarrierOp>(op.getOperation())) {
      allowed = llvm::StringSwitch<Direction>(barrier.getAllowedDirection())
                    .Case("forward", Direction::Forward)
                    .Case("backward", Direction::Backward)
                    .Case("none", Direction::None)
                    .Case("both", Direction::Both);
    }
    track(op, graph.addOp(getRule(op), operands, outputs,
                          toOpClass(op.getPropagationClass()), allowed));
    return success();
  }

  /// Equal ops share one rule.
  const ShardingRule *getRule(ShardingRuleOpInterface op) {
    std::unique_ptr<ShardingRule> &rule = rules[op];
    if (!rule)
      rule = std::make_unique<ShardingRule>(op.getShardingRule());
    return rule.get();
  }

  /// Adds an identity op with the operand `from` and the result `to` to the
  /// graph. The identity represents `op`.
  void addIdentity(Operation *op, ValueId from, ValueId to) {
    ArrayRef<int64_t> shape = graph.getShape(from);
    std::unique_ptr<ShardingRule> &rule = identities[shape.vec()];
    if (!rule)
      rule = std::make_unique<ShardingRule>(makeElementwiseRule(1, shape));
    track(op, graph.addOp(rule.get(), from, to, OpClass::DataMovement));
  }

  ValueId addAnonymous(ValueId like, const TensorSharding &sharding) {
    ValueId id = graph.addValue(
        graph.getShape(like),
        graph.getBits(like) / std::max<uint64_t>(1, volume(like)), sharding);
    values.resize(graph.getNumValues());
    return id;
  }
  uint64_t volume(ValueId id) const { return getVolume(graph.getShape(id)); }

  /// Connects each value that a function returns to the sharding of that result
  /// in the function's signature.
  LogicalResult addReturn(Operation *op) {
    auto function = cast<FunctionOpInterface>(op->getParentOp());
    llvm::DenseMap<unsigned, SmallVector<ValueId, 1>> donors =
        getDonors(function);
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      auto it = ids.find(operand);
      if (it == ids.end())
        continue;
      unsigned rank = graph.getShape(it->second).size();
      auto annotation =
          function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr);
      ValueId to = addAnonymous(
          it->second, annotation
                          ? table.resolve(annotation, rank)
                          : TensorSharding::replicate(rank, /*open=*/true));
      values[to] = operand;
      addIdentity(op, it->second, to);
      results.push_back({function, unsigned(index), to});
      // A result that overwrites an argument must be sharded like the argument.
      for (ValueId donor : donors.lookup(index))
        if (auto error = graph.addShardingGroup({donor, to}))
          return report(*error);
    }
    return success();
  }

  /// Maps the number of each result to the arguments that it overwrites.
  llvm::DenseMap<unsigned, SmallVector<ValueId, 1>>
  getDonors(FunctionOpInterface function) {
    llvm::DenseMap<unsigned, SmallVector<ValueId, 1>> donors;
    for (BlockArgument arg : function.getArguments())
      if (auto donated = function.getArgAttrOfType<IntegerAttr>(
              arg.getArgNumber(), kDonatedAttr);
          donated && ids.count(arg))
        donors[donated.getInt()].push_back(ids.lookup(arg));
    return donors;
  }

  /// Propagation includes the body of a manual region like any other code. Its
  /// values are local along the manual axes. Shardings along free axes
  /// propagate across its border unchanged; shardings along manual axes do not
  /// cross it.
  LogicalResult addManual(ManualOp op) {
    if (failed(checkFreeParts(op)))
      return failure();
    SmallVector<ValueId> entering;
    for (auto [operand, entry] : llvm::zip_equal(
             op.getInputs(), op.getInShardings().getAsRange<ShardingAttr>())) {
      ValueId from = ids.lookup(operand);
      entering.push_back(addAnonymous(from, withoutManual(op, operand, entry)));
      addIdentity(op, from, entering.back());
    }
    Operation *end = op.getBody().front().getTerminator();
    bool hasFreeAxes = !getFreeAxes(op, table.getMesh()).empty();
    if (hasFreeAxes) {
      ValueId first = graph.getNumValues();
      for (auto [arg, outside] :
           llvm::zip_equal(op.getBody().getArguments(), entering))
        addBorder(op, op.getInShardings()[arg.getArgNumber()], outside,
                  addValue(arg, withoutManual(op, arg, getSharding(arg))),
                  /*enters=*/true);
      if (failed(addRegion(op.getBody())))
        return failure();
      inManual.push_back({first, graph.getNumValues()});
    }
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      auto entry = cast<ShardingAttr>(op.getOutShardings()[index]);
      TensorSharding outside = withoutManual(op, result, entry);
      if (!hasFreeAxes) {
        addValue(result, outside.getLayout());
        continue;
      }
      ValueId to = addValue(result, outside);
      Value returned = end->getOperand(index);
      ValueId from = ids.lookup(returned);
      ValueId leaving = addAnonymous(
          from, withoutManual(op, returned, getFreePart(op, entry)));
      values[leaving] = returned;
      addIdentity(end, from, leaving);
      addBorder(op, entry, to, leaving, /*enters=*/false);
      manualResults.push_back({op, unsigned(index), leaving});
    }
    return success();
  }

  /// Checks that shardings along free axes divide dimensions evenly, and that
  /// no sharding in the body uses a manual axis.
  LogicalResult checkFreeParts(ManualOp op) {
    AxisList free = getFreeAxes(op, table.getMesh());
    auto check = [&](Location loc, Type type,
                     ShardingAttr sharding) -> LogicalResult {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !sharding)
        return success();
      const TensorSharding &asked = table.resolve(sharding, tensor.getRank());
      for (auto [dim, size] : llvm::zip_equal(asked.dims, tensor.getShape())) {
        for (const AxisRef &axis : dim.axes)
          if (axis.size > 1 && !overlap(axis, free))
            return emitError(loc)
                   << prefix(ErrorCode::FreeAxisInManual) << "axis \""
                   << table.getMesh().axes[axis.axis].name
                   << "\" is manual in the region around this value: inside, "
                      "tensors are already cut along this axis, so it cannot "
                      "cut them again";
        if (BlockLayout{size, getSize(dim.axes)}.isUneven())
          return emitError(loc)
                 << prefix(ErrorCode::FreeAxisInManual)
                 << "in a manual region, " << size
                 << " elements cannot be cut into " << getSize(dim.axes)
                 << " parts: cuts along axes that are not manual must be even; "
                    "pad the tensor, or do not cut the dimension";
      }
      return success();
    };
    Operation *end = op.getBody().front().getTerminator();
    for (auto [arg, entry] :
         llvm::zip_equal(op.getBody().getArguments(),
                         op.getInShardings().getAsRange<ShardingAttr>()))
      if (failed(check(op.getLoc(), arg.getType(), getFreePart(op, entry))))
        return failure();
    for (auto [returned, entry] :
         llvm::zip_equal(end->getOperands(),
                         op.getOutShardings().getAsRange<ShardingAttr>()))
      if (failed(
              check(end->getLoc(), returned.getType(), getFreePart(op, entry))))
        return failure();
    auto result = op.getBody().walk([&](Operation *inner) {
      bool isWrong = false;
      if (auto nested = dyn_cast<ManualOp>(inner)) {
        SmallVector<Value> values(nested.getInputs());
        llvm::append_range(values, nested.getResults());
        SmallVector<Attribute> asked(nested.getInShardings().getValue());
        llvm::append_range(asked, nested.getOutShardings());
        for (auto [value, sharding] : llvm::zip_equal(values, asked))
          isWrong |= failed(check(nested.getLoc(), value.getType(),
                                  cast<ShardingAttr>(sharding)));
      } else if (auto constraint = dyn_cast<ConstraintOp>(inner))
        isWrong = failed(check(constraint.getLoc(), constraint.getType(),
                               constraint.getSharding()));
      else if (inner->hasAttr(kShardingsAttr))
        for (Value value : inner->getResults())
          isWrong |= failed(
              check(inner->getLoc(), value.getType(), getSharding(value)));
      return isWrong ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Resolves `annotation`, the sharding of `value`, which `op` takes, returns
  /// or contains. Manual axes that the sharding does not use are marked
  /// replicated, so that propagation does not add them.
  TensorSharding withoutManual(ManualOp op, Value value,
                               ShardingAttr annotation) {
    TensorSharding sharding = table.resolve(
        annotation, cast<RankedTensorType>(value.getType()).getRank());
    for (const AxisRef &axis :
         resolveAxes(op.getAxes().getAxes(), table.getMesh()))
      if (!sharding.uses(axis) && !overlap(axis, sharding.replicated))
        sharding.replicated.push_back(axis);
    llvm::sort(sharding.replicated);
    return sharding;
  }

  /// Connects a value outside of a manual region to the corresponding value
  /// inside. The value enters or leaves the region with `sharding`.
  void addBorder(ManualOp op, Attribute sharding, ValueId outside,
                 ValueId inside, bool enters) {
    ArrayRef<int64_t> shape = graph.getShape(outside);
    AxisList free = getFreeAxes(op, table.getMesh());
    std::vector<int64_t> counts; // blocks along the manual axes, per dimension
    for (const DimSharding &dim :
         table.resolve(cast<ShardingAttr>(sharding), shape.size()).dims) {
      int64_t &count = counts.emplace_back(1);
      for (const AxisRef &axis : dim.axes)
        count *= overlap(axis, free) ? 1 : axis.size;
    }
    std::vector<int64_t> key(shape.vec());
    llvm::append_range(key, counts);
    key.push_back(enters);
    std::unique_ptr<ShardingRule> &rule = borders[key];
    if (!rule)
      rule = std::make_unique<ShardingRule>(
          makeBlockRule(shape, counts, /*toBlock=*/enters));
    track(op, graph.addOp(rule.get(), enters ? outside : inside,
                          enters ? inside : outside, OpClass::DataMovement));
  }

  /// The sharding along free axes of a value in a manual region. Axes that do
  /// not divide the dimension evenly are dropped, since tp-partition rejects
  /// them there.
  TensorSharding getInside(ValueId id) const {
    TensorSharding sharding = graph.getSharding(id);
    sharding.replicated.clear();
    for (auto [dim, size] :
         llvm::zip_equal(sharding.dims, graph.getShape(id))) {
      while (BlockLayout{size, getSize(dim.axes)}.isUneven())
        dim.axes.pop_back();
      if (dim.axes.empty())
        dim.priority.reset();
    }
    return sharding;
  }

  /// Writes the shardings with which values leave manual regions. The results
  /// of the manual ops, outside of the regions, have their own shardings, which
  /// stay the same.
  void setManualResults() {
    for (ManualResult &result : manualResults) {
      SmallVector<Attribute> list(result.op.getOutShardings().getValue());
      list[result.index] =
          withFreePart(result.op, cast<ShardingAttr>(list[result.index]),
                       table.toAttr(getInside(result.id)));
      result.op.setOutShardingsAttr(
          ArrayAttr::get(result.op.getContext(), list));
    }
  }

  LogicalResult addRegionFlow(RegionFlowOpInterface op) {
    for (Value result : op->getResults())
      addValue(result, getSharding(result));
    for (Region &region : op->getRegions())
      for (Value arg : region.getArguments())
        addValue(arg, nullptr);
    for (Region &region : op->getRegions())
      if (failed(addRegion(region)))
        return failure();
    for (Channel channel : getChannels(op)) {
      if (!ids.count(channel.getOwner()))
        continue; // not a tensor
      SmallVector<ValueId> sources, targets;
      for (OpOperand *source : channel.getSources())
        sources.push_back(ids.lookup(source->get()));
      for (Value target : channel.getTargets())
        targets.push_back(ids.lookup(target));
      if (auto error = addFlow(op, sources, targets))
        return report(*error);
    }
    return success();
  }

  std::optional<GraphError> addFlow(Operation *op, ArrayRef<ValueId> sources,
                                    ArrayRef<ValueId> targets) {
    unsigned number = graph.getNumOps();
    std::optional<GraphError> error = graph.addDataFlow(sources, targets);
    if (!error)
      track(op, number);
    return error;
  }

  void track(Operation *op, OpId id) {
    ops.resize(std::max<size_t>(ops.size(), id + 1));
    ops[id] = op;
  }

  LogicalResult report(const GraphError &error) {
    Location loc = functions.front()->getLoc();
    if (error.op && *error.op < ops.size() && ops[*error.op])
      loc = ops[*error.op]->getLoc();
    else if (error.value && *error.value < values.size() &&
             values[*error.value])
      loc = values[*error.value].getLoc();
    return emitError(loc) << prefix(error.code) << error.message;
  }

  struct Result {
    Operation *function;
    unsigned index;
    ValueId id;
  };

  struct ManualResult {
    ManualOp op;
    unsigned index;
    ValueId id; ///< The value that the body returns.
  };

  ShardingTable &table;
  PropagationGraph graph;
  SmallVector<FunctionOpInterface> functions;
  llvm::MapVector<Value, ValueId> ids;
  std::vector<Value> values;    ///< By value id; null for anonymous ones.
  std::vector<Operation *> ops; ///< By op id.
  std::vector<Result> results;
  std::vector<ManualResult> manualResults;
  /// Ranges of ids of the values in bodies of manual regions; the second id is
  /// exclusive.
  SmallVector<std::pair<ValueId, ValueId>> inManual;
  llvm::MapVector<StringAttr, SmallVector<Value>> named;
  std::map<int64_t, SmallVector<ValueId>> groups;
  llvm::DenseMap<Operation *, std::unique_ptr<ShardingRule>, StructureInfo>
      rules;
  std::map<std::vector<int64_t>, std::unique_ptr<ShardingRule>> identities,
      borders;
};

struct Propagate : tp::impl::PropagatePassBase<Propagate> {
  using PropagatePassBase::PropagatePassBase;

  void runOnOperation() override {
    // Propagate functions that share a mesh together, in program order.
    llvm::MapVector<Operation *, SmallVector<FunctionOpInterface>> byMesh;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh) || failed(verifyNotLocal(function)))
        return signalPassFailure();
      byMesh[*mesh].push_back(function);
      splitSources(function.getFunctionBody());
    }
    for (auto &[mesh, functions] : byMesh) {
      ShardingTable table(&getContext(), cast<MeshOp>(mesh).toMesh());
      Translation translation(table, functions);
      for (FunctionOpInterface function : functions)
        if (failed(translation.add(function)))
          return signalPassFailure();
      if (failed(translation.run(explain)))
        return signalPassFailure();
    }
  }
};

} // namespace
