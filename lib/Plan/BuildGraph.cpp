// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads the choices of a program and the values that connect them.

#include "PlanGraph.h"

#include "dialects/TP/Interface.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::plan;
using namespace tp::spmd;

/// Returns the representative of all values that must have the same layout as
/// `value`: the result of a loop or conditional, or an argument of a manual
/// region. Returns null if the layout of `value` depends on no other value.
/// Also returns null for a result of a manual region, because the region fixes
/// its layout.
static Value getCarrier(Value value) {
  std::optional<Channel> channel = getChannel(value);
  if (!channel || (channel->op.isBorder() && isa<OpResult>(value)))
    return {};
  return channel->getOwner();
}

/// Returns the representative of the values to which a use passes its operand
/// on, such as a loop's result. Returns null if there is none, or if the user
/// is a manual region, which fixes the layouts of its operands.
static Value getCarrier(OpOperand &use) {
  std::optional<Channel> channel = getChannel(use);
  if (!channel || (channel->op.isBorder() && channel->op == use.getOwner()))
    return {};
  return channel->getOwner();
}

/// Returns true if `op` only annotates its operand.
static bool passesOn(Operation *op) { return isa<ConstraintOp, BarrierOp>(op); }

static bool hasStrategies(Operation *op) {
  return isa<ShardingRuleOpInterface>(op);
}

namespace {

/// A value that enters or leaves the manual region. `carrier` is the argument
/// or result that represents it. `type` and `inside` are its type and sharding
/// in the region; `outside` is its sharding outside, as propagation has left
/// it.
struct Border {
  Value carrier;
  RankedTensorType type;
  ShardingAttr inside, outside;
};

class GraphBuilder {
public:
  GraphBuilder(SearchSpace &space, const ProgramView &view, Operation *root,
               bool freeArguments)
      : space(space), view(view), manual(dyn_cast<ManualOp>(root)),
        function(dyn_cast<FunctionOpInterface>(root)),
        freeArguments(freeArguments) {}

  PlanGraph run() {
    graph.numPoints = view.getNumPoints();
    // Find the kinds of partial values that ops can compute. A loop may carry
    // values that its body computes, so repeat until nothing is added.
    while (enumerate()) {
    }
    findInPlace();
    addEntries();
    for (Operation *op : view.getOps())
      addOp(op);
    addExits();
    for (PlanValue &value : graph.values)
      if (!value.isBorder)
        addUses(value);
    for (const PlanValue &value : graph.values)
      for (const PlanUse &use : value.uses)
        addNeed(graph.values[value.origin].needs, use);
    return std::move(graph);
  }

private:
  /// Enumerates the strategies of all ops in program order. Returns true if
  /// this has found that a value that a loop carries may be partial in a new
  /// way (a partial sum, a partial maximum..).
  bool enumerate() {
    bool grew = false;
    auto getKinds = [&](Value operand) {
      Value value = view.resolve(operand);
      Value carrier = getCarrier(value);
      return partial.lookup(carrier ? carrier : value);
    };
    for (Operation *op : view.getOps()) {
      if (!hasStrategies(op)) {
        for (OpOperand &use : op->getOpOperands())
          if (Value carrier = getCarrier(use)) {
            KindSet &kinds = partial[carrier];
            KindSet more = kinds | getKinds(use.get());
            grew |= std::exchange(kinds, more) != more;
          }
        continue;
      }
      const StrategySet *&set = strategies[op];
      if (auto constraint = dyn_cast<ConstraintOp>(op)) {
        set = &space.getConstrained(constraint);
        continue;
      }
      SmallVector<KindSet> kinds;
      for (Value operand : op->getOperands())
        kinds.push_back(getKinds(operand));
      set = &space.strategies.get(op, kinds);
      for (Value result : op->getResults())
        partial[result] = set->partial;
    }
    return grew;
  }

  unsigned addChoice(const StrategySet &options, double times) {
    graph.choices.push_back({&options, times, /*point=*/0});
    return graph.choices.size() - 1;
  }
  Port addFixed(unsigned layout) {
    auto [it, isNew] = fixed.try_emplace(layout);
    if (isNew)
      it->second = addChoice(space.getFixed(layout), 1);
    return {it->second, 0};
  }
  unsigned addCarrier(Value carrier, const StrategySet &options, double times) {
    return graph.carriers[carrier] = addChoice(options, times);
  }

  /// How often `op` runs. A copy that is made next to `op` is made as often.
  double getTimes(Operation *op) const {
    return getExpectedTimes(view.getAnchor(op));
  }
  double getTimes(Value value) const {
    if (Operation *def = value.getDefiningOp())
      return getTimes(def);
    Operation *parent = value.getParentBlock()->getParentOp();
    return isa<FunctionOpInterface>(parent)
               ? 1
               : getExpectedTimes(value.getParentBlock()->getTerminator());
  }

  /// Adds a tensor that `producer` computes, held from point `begin` on.
  PlanValue *addValue(Value value, Port producer, unsigned begin) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return nullptr;
    PlanValue &added = graph.values.emplace_back();
    added.value = value;
    added.type = type;
    added.storedType = getStoredType(value, type);
    added.producer = producer;
    added.times = getTimes(value);
    added.position = graph.choices.size();
    added.origin = graph.values.size() - 1;
    added.begin = added.end = begin;
    Operation *def = value.getDefiningOp();
    added.after = (def ? view.getEnd(def) : begin) + 1;
    if (inPlace.contains(value))
      added.storage = PlanValue::Elsewhere;
    if (def && passesOn(def)) {
      auto it = graph.valueNumbers.find(view.resolve(def->getOperand(0)));
      if (it != graph.valueNumbers.end())
        added.origin = graph.values[it->second].origin;
    }
    graph.valueNumbers[value] = graph.values.size() - 1;
    return &added;
  }

  //===--------------------------------------------------------------------===//
  // Arguments, ops and results
  //===--------------------------------------------------------------------===//

  void addEntries() {
    if (function)
      for (BlockArgument arg : function.getArguments())
        addArgument(arg);
    if (!manual)
      return;
    double times = getExpectedTimes(manual);
    for (auto [arg, operand, sharding] :
         llvm::zip_equal(manual.getBody().getArguments(), manual.getInputs(),
                         manual.getInShardings().getAsRange<ShardingAttr>())) {
      Border border = makeBorder(arg, arg, operand, sharding);
      Port inside{addBorderCarrier(border, times), 0};
      addCrossing(border, addFixed(getOutside(border)), inside, times);
      addValue(arg, inside, 0);
    }
  }

  void addArgument(BlockArgument arg) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      return;
    Port port;
    if (freeArguments)
      port = {addCarrier(arg,
                         space.getCarried(type, getAnnotation(arg),
                                          /*kinds=*/0),
                         1),
              0};
    else
      port = addFixed(space.getNumber(arg));
    PlanValue *value = addValue(arg, port, 0);
    if (getRole(function, arg.getArgNumber()) == Role::Input)
      value->end = graph.numPoints - 1; // the caller holds it throughout
    else
      value->storage = PlanValue::Persistent;
  }

  /// The user's annotation of a free argument: on the argument itself, or on
  /// the result that overwrites it.
  const TensorSharding *getAnnotation(BlockArgument arg) {
    if (const TensorSharding *sharding = space.table.lookup(arg))
      return sharding;
    auto donated = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                          kDonatedAttr);
    return donated ? getResultAnnotation(donated.getInt()) : nullptr;
  }
  const TensorSharding *getResultAnnotation(unsigned result) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[result]);
    auto sharding =
        function.getResultAttrOfType<ShardingAttr>(result, kShardingAttr);
    return type && sharding ? &space.table.resolve(sharding, type.getRank())
                            : nullptr;
  }

  void addOp(Operation *op) {
    if (auto it = strategies.find(op); it != strategies.end()) {
      graph.opChoices[op] = addChoice(*it->second, getTimes(op));
      graph.choices.back().point = view.getBegin(op);
    }
    auto flow = dyn_cast<RegionFlowOpInterface>(op);
    bool carries = flow && !flow.isBorder();
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      Port port;
      if (carries)
        port = {addCarrier(result,
                           space.getCarried(type, space.table.lookup(result),
                                            partial.lookup(result)),
                           getTimes(op)),
                0};
      else if (auto it = graph.opChoices.find(op); it != graph.opChoices.end())
        port = {it->second, unsigned(op->getNumOperands() + index)};
      else
        port = addFixed(space.getNumber(result));
      addValue(result, port, view.getEnd(op));
    }
    if (isa<ManualOp>(op)) {
      graph.bodies.push_back({getActivationPeak(op, space.table).peak.bytes,
                              view.getBegin(op), view.getEnd(op)});
      return;
    }
    for (Region &region : op->getRegions())
      for (Value arg : region.getArguments()) {
        Value carrier = getCarrier(arg);
        addValue(arg,
                 carrier ? Port{graph.carriers.lookup(carrier), 0}
                         : addFixed(space.getNumber(arg)),
                 view.getBegin(op) + 1);
      }
  }

  void addExits() {
    if (function && freeArguments)
      addResults();
    if (!manual)
      return;
    double times = getExpectedTimes(manual);
    for (auto [result, returned, sharding] : llvm::zip_equal(
             manual.getOutputs(),
             manual.getBody().front().getTerminator()->getOperands(),
             manual.getOutShardings().getAsRange<ShardingAttr>())) {
      Border border = makeBorder(result, returned, result, sharding);
      Port inside{addBorderCarrier(border, times), 0};
      addCrossing(border, inside, addFixed(getOutside(border)), times);
    }
  }

  /// Adds the choice of each result's layout. A result that overwrites an
  /// argument shares the argument's choice, unless both are annotated.
  void addResults() {
    for (BlockArgument arg : function.getArguments())
      if (auto donated = function.getArgAttrOfType<IntegerAttr>(
              arg.getArgNumber(), kDonatedAttr);
          donated &&
          !(space.table.lookup(arg) && getResultAnnotation(donated.getInt())))
        results[donated.getInt()] = {graph.carriers.lookup(arg), 0};
    for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || results.count(index))
        continue;
      results[index] = {
          addChoice(space.getCarried(tensor, getResultAnnotation(index),
                                     /*kinds=*/0),
                    1),
          0};
    }
    for (auto &[index, port] : results)
      graph.results[index] = port.choice;
  }

  Border makeBorder(Value carrier, Value inside, Value outside,
                    ShardingAttr sharding) {
    ShardingAttr from = getSharding(outside);
    return {carrier, cast<RankedTensorType>(inside.getType()),
            getFreePart(manual, sharding),
            getFreePart(manual, from ? from : sharding)};
  }
  unsigned addBorderCarrier(const Border &border, double times) {
    return addCarrier(
        border.carrier,
        space.getCarried(
            border.type,
            &space.table.resolve(border.inside, border.type.getRank()),
            /*kinds=*/0),
        times);
  }
  unsigned getOutside(const Border &border) {
    return space.getNumber(
        space.table.resolve(border.outside, border.type.getRank()));
  }
  void addCrossing(const Border &border, Port from, Port to, double times) {
    PlanValue &value = graph.values.emplace_back();
    value.value = border.carrier;
    value.type = value.storedType = border.type;
    value.producer = from;
    value.uses.push_back({to, nullptr, 0, 0, 0});
    value.times = times;
    value.position = graph.choices.size();
    value.origin = graph.values.size() - 1;
    value.isBorder = true;
    value.storage = PlanValue::Elsewhere;
  }

  //===--------------------------------------------------------------------===//
  // Uses
  //===--------------------------------------------------------------------===//

  void addUses(PlanValue &value) {
    for (OpOperand *use : view.getUses(value.value)) {
      Operation *user = use->getOwner();
      if (isa<GroupOp>(user))
        continue;
      Operation *at =
          view.getUserInBlock(graph.values[value.origin].value, user);
      unsigned begin = view.getBegin(at);
      value.uses.push_back({getPort(*use), use, begin,
                            at == user ? begin : view.getEnd(at),
                            view.getEnd(at) + 1, passesOn(user)});
    }
  }

  static void addNeed(std::vector<PlanUse> &needs, const PlanUse &use) {
    auto isBefore = [](const PlanUse &a, const PlanUse &b) {
      return a.begin < b.begin;
    };
    needs.insert(llvm::upper_bound(needs, use, isBefore), use);
  }

  Port getPort(OpOperand &use) {
    if (Value carrier = getCarrier(use))
      return {graph.carriers.lookup(carrier), 0};
    if (auto it = graph.opChoices.find(use.getOwner());
        it != graph.opChoices.end())
      return {it->second, use.getOperandNumber()};
    if (auto it = results.find(use.getOperandNumber());
        it != results.end() && isReturn(use.getOwner()))
      return it->second;
    return addFixed(getFixedRequirement(use));
  }

  bool isReturn(Operation *op) {
    return function && op->getParentOp() == function.getOperation() &&
           op->hasTrait<OpTrait::IsTerminator>();
  }

  /// The layout that `use` needs if the planner has no choice for the using op.
  unsigned getFixedRequirement(OpOperand &use) {
    Operation *op = use.getOwner();
    unsigned index = use.getOperandNumber();
    unsigned rank = cast<RankedTensorType>(use.get().getType()).getRank();
    auto resolve = [&](ShardingAttr sharding) {
      return space.getNumber(space.table.resolve(sharding, rank));
    };
    if (auto inner = dyn_cast<ManualOp>(op))
      return resolve(cast<ShardingAttr>(inner.getInShardings()[index]));
    if (isReturn(op)) {
      if (auto sharding =
              function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr))
        return resolve(sharding);
      return space.getReplicated(rank);
    }
    // All devices must have the same value of this scalar.
    if (isDecision(use))
      return space.getReplicated(rank);
    return space.getNumber(use.get());
  }

  void findInPlace() {
    if (function)
      for (Value value : findInPlaceValues(function))
        inPlace.insert(view.resolve(value));
  }

  SearchSpace &space;
  const ProgramView &view;
  ManualOp manual;              ///< The root, if it is a manual region.
  FunctionOpInterface function; ///< The root, if it is a function.
  bool freeArguments;
  PlanGraph graph;
  llvm::DenseMap<Operation *, const StrategySet *> strategies;
  llvm::DenseMap<Value, KindSet> partial;
  llvm::DenseMap<unsigned, unsigned> fixed; ///< Choices by layout.
  std::map<unsigned, Port> results;         ///< Free results, by number.
  llvm::DenseSet<Value> inPlace;
};

} // namespace

PlanGraph tp::plan::buildGraph(SearchSpace &space, const ProgramView &view,
                               Operation *root, bool freeArguments) {
  return GraphBuilder(space, view, root, freeArguments).run();
}
