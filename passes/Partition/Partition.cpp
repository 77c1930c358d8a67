// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses how every op is computed on the devices, and inserts the reshards.

#include "passes/Partition/PostponeConstraints.h"

#include "dialects/TP/CheapSources.h"
#include "dialects/TP/TensorTypes.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "lib/Plan/Planner.h"
#include "lib/Report/Capacity.h"
#include "lib/Report/UnusedAxes.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tp-partition"

namespace tp {
#define GEN_PASS_DEF_PARTITIONPASS
#include "tpopt/Passes/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// The reason why `user` makes a reshard necessary.
static ReasonAttr getReason(const Mesh &mesh, const TensorSharding &from,
                            const TensorSharding &to, Operation *user) {
  MLIRContext *context = user->getContext();
  auto make = [&](ReasonKind kind, AxisListAttr axes, ReduceKind reduce) {
    return ReasonAttr::get(
        context, kind, StringAttr::get(context, user->getName().getStringRef()),
        axes, reduce,
        /*from=*/{}, /*to=*/{});
  };
  AxisList summed, gathered;
  for (const AxisRef &axis : from.unreduced)
    if (!overlap(to.unreduced, axis))
      summed.push_back(axis);
  AxisList kept = to.getDimAxes();
  for (const AxisRef &axis : from.getDimAxes())
    if (!overlap(kept, axis))
      gathered.push_back(axis);
  if (!summed.empty())
    return make(ReasonKind::Contracted, toAttr(context, mesh, summed),
                from.kind);
  if (!gathered.empty())
    return make(ReasonKind::Gathered, toAttr(context, mesh, gathered),
                ReduceKind::Sum);
  return make(ReasonKind::Moved, {}, ReduceKind::Sum);
}

namespace {

/// Returns true if the op `user` needs its operands in a layout that the
/// programmer wrote down.
bool isAnnotation(Operation *user) {
  return isa<ConstraintOp, ManualOp, ReturnOp>(user) ||
         (user->hasTrait<OpTrait::ReturnLike>() &&
          isa<FunctionOpInterface>(user->getParentOp()));
}

/// Partitions a function, or the body of a manual region along its free axes:
/// all of `root` except for the manual regions inside it.
class Partitioner {
public:
  Partitioner(Operation *root, ShardingTable &table, const CostModel &cost,
              PlannerOptions options)
      : root(root), manual(dyn_cast<ManualOp>(root)), table(table),
        planner(root, table, cost, options), options(options) {}

  /// Valid after run(): an upper bound on what any other plan could save.
  double getGap() const { return planner.getGap(); }

  LogicalResult run() {
    if (failed(checkOps()) || failed(checkSignature()))
      return failure();
    planner.choose();
    recordAlternatives();
    planner.commit();
    writeLayouts();
    if (manual)
      closeBorder();
    else
      closeSignature(cast<FunctionOpInterface>(root));
    for (const Copied &copied : copies)
      writeReshards(copied);
    planner.takeSplicesApart();
    dropAnnotations();
    for (Operation *op : unused)
      if (op->use_empty())
        op->erase();
    return success();
  }

private:
  /// Checks that every op has a rule or a known data flow.
  LogicalResult checkOps() {
    for (Operation *op : planner.getOps()) {
      if (isa<ShardingRuleOpInterface>(op) ||
          isa<GroupOp, RegionFlowOpInterface>(op) ||
          op->hasTrait<OpTrait::ReturnLike>())
        continue;
      return op->emitError()
             << prefix(ErrorCode::NoShardingRule) << op->getName()
             << " has no sharding rule: implement ShardingRuleOpInterface for "
                "it in an external model, or put the op into an spmd.manual "
                "region over all axes";
    }
    return success();
  }

  /// Checks that the signature has shardings; by now propagation has added
  /// those that were not written down.
  LogicalResult checkSignature() {
    auto function = dyn_cast<FunctionOpInterface>(root);
    if (!function || options.freeArguments)
      return success();
    auto check = [&](Type type, ShardingAttr sharding, StringRef what,
                     unsigned index) -> LogicalResult {
      if (sharding || !isa<RankedTensorType>(type))
        return success();
      return function.emitError()
             << prefix(ErrorCode::MissingSharding) << what << " #" << index
             << " has no sharding: run tp-propagate first";
    };
    for (BlockArgument arg : function.getArguments())
      if (failed(check(arg.getType(), getSharding(arg), "argument",
                       arg.getArgNumber())))
        return failure();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (failed(check(
              type,
              function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
              "result", i)))
        return failure();
    return success();
  }

  /// A value, the layout in which it is made, and its copies in other layouts.
  struct Copied {
    Value value;
    const TensorSharding *layout;
    SmallVector<Planner::Reshard, 0> reshards;
  };

  void writeLayouts() {
    // Read all layouts before the first change.
    std::vector<std::pair<Value, const TensorSharding *>> layouts;
    auto add = [&](Value value) {
      auto reshards = planner.getReshards(value);
      if (!reshards.empty())
        copies.push_back({value, &planner.getLayout(value), reshards});
    };
    for (Value arg : root->getRegion(0).getArguments())
      add(arg);
    for (Operation *op : planner.getOps()) {
      if (isa<ConstraintOp, BarrierOp, GroupOp>(op))
        annotations.push_back(op);
      for (Value result : op->getResults()) {
        if (isa<RankedTensorType>(result.getType()))
          layouts.push_back({result, &planner.getLayout(result)});
        add(result);
      }
      if (!isa<ManualOp>(op))
        for (Region &region : op->getRegions())
          for (Value arg : region.getArguments())
            add(arg);
    }
    for (auto &[value, layout] : layouts)
      table.set(value, *layout);
  }

  /// If explanations were requested, records the alternative layouts of values.
  void recordAlternatives() {
    Operation *function = isa<FunctionOpInterface>(root)
                              ? root
                              : root->getParentOfType<FunctionOpInterface>();
    auto record = function->getAttrOfType<ArrayAttr>(kExplanationsAttr);
    if (!record)
      return;
    // If an op was replaced by several, the last of them has its result.
    llvm::DenseMap<int64_t, Value> values;
    for (Operation *op : planner.getOps())
      for (Value result : op->getResults())
        if (std::optional<int64_t> id = getRecordId(result))
          values[*id] = result;
    SmallVector<Attribute> entries;
    for (auto entry : record.getAsRange<ExplanationAttr>()) {
      auto value = values.find(entry.getId());
      entries.push_back(value == values.end()
                            ? entry
                            : withAlternatives(entry, value->second));
    }
    function->setAttr(kExplanationsAttr,
                      ArrayAttr::get(root->getContext(), entries));
  }

  ExplanationAttr withAlternatives(ExplanationAttr entry, Value value) {
    MLIRContext *context = root->getContext();
    SmallVector<AlternativeAttr> alternatives(entry.getAlternatives());
    for (const auto &alternative : planner.getAlternatives(value, 3))
      alternatives.push_back(AlternativeAttr::get(
          context, table.toAttr(*alternative.layout),
          llvm::APFloat(alternative.regret), getCostUnit(table.getMesh())));
    return ExplanationAttr::get(context, entry.getId(), entry.getName(),
                                entry.getSharding(), entry.getArrivals(),
                                entry.getLosses(), alternatives);
  }

  /// Closes the shardings of arguments and results. An argument or result for
  /// which the planner chose a layout gets that layout. Any other argument or
  /// result gets its sharding from propagation.
  void closeSignature(FunctionOpInterface function) {
    auto close = [&](Type type, ShardingAttr sharding,
                     const TensorSharding *chosen) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return ShardingAttr();
      return table.toAttr(
          chosen ? *chosen
                 : table.resolve(sharding, tensor.getRank()).getLayout());
    };
    SmallVector<ShardingAttr> arguments, results;
    for (BlockArgument arg : function.getArguments())
      arguments.push_back(
          close(arg.getType(), getSharding(arg),
                options.freeArguments ? &planner.getLayout(arg) : nullptr));
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      results.push_back(close(
          type, function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
          planner.getResultLayout(i)));
    setSignature(function, arguments, results);
  }

  /// Makes values enter and leave a manual region in the layout that is best
  /// for its body.
  void closeBorder() {
    auto close = [&](ArrayAttr list, ValueRange carriers) {
      SmallVector<Attribute> closed;
      for (auto [sharding, carrier] :
           llvm::zip_equal(list.getAsRange<ShardingAttr>(), carriers))
        closed.push_back(withFreePart(
            manual, sharding, table.toAttr(planner.getBorder(carrier))));
      return ArrayAttr::get(manual.getContext(), closed);
    };
    manual.setInShardingsAttr(
        close(manual.getInShardings(), manual.getBody().getArguments()));
    manual.setOutShardingsAttr(
        close(manual.getOutShardings(), manual.getResults()));
    for (auto [result, sharding] :
         llvm::zip_equal(manual.getResults(),
                         manual.getOutShardings().getAsRange<ShardingAttr>()))
      setSharding(result, sharding);
  }

  /// Creates the copies of a value in other layouts, and replaces the uses that
  /// need them.
  void writeReshards(const Copied &copied) {
    SmallVector<std::pair<Value, const TensorSharding *>> made;
    for (const Planner::Reshard &plan : copied.reshards) {
      auto [source, from] = plan.source < 0
                                ? std::pair(copied.value, copied.layout)
                                : made[plan.source];
      OpBuilder builder(plan.before);
      Value copy;
      if (Operation *def = source.getDefiningOp();
          def && plan.isFree && isCheapSource(def) && from->unreduced.empty() &&
          plan.layout->unreduced.empty()) {
        // A copy of the cheap source computes the value in this layout.
        copy = builder.clone(*def)->getResult(0);
        table.set(copy, *plan.layout);
      } else {
        auto reshard =
            ReshardOp::create(builder, plan.user->getLoc(), source.getType(),
                              source, table.toAttr(*plan.layout));
        describe(reshard, *from, *plan.layout, plan.user);
        LDBG() << reshard;
        copy = reshard;
      }
      made.push_back({copy, plan.layout});
      for (OpOperand *use : plan.uses)
        use->set(copy);
    }
    if (Operation *def = copied.value.getDefiningOp();
        def && isCheapSource(def) && def->use_empty())
      unused.push_back(def);
  }

  /// Records the reason for `reshard`, which is needed by `user`.
  void describe(ReshardOp reshard, const TensorSharding &from,
                const TensorSharding &to, Operation *user) {
    reshard->setAttr(kWhyAttr,
                     WhyAttr::get(reshard.getContext(),
                                  getReason(table.getMesh(), from, to, user),
                                  /*requested=*/isAnnotation(user)));
  }

  /// Drops constraints and barriers, which are no longer needed.
  void dropAnnotations() {
    for (Operation *op : annotations) {
      if (op->getNumResults() != 0)
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  }

  Operation *root;
  ManualOp manual; ///< The root, if it is one.
  ShardingTable &table;
  Planner planner;
  PlannerOptions options;
  std::vector<Copied> copies;
  SmallVector<Operation *> annotations;
  SmallVector<Operation *> unused; ///< Sources that were recomputed.
};

struct Partition : tp::impl::PartitionPassBase<Partition> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    auto capacity = readMemoryOption(getOperation(), memory, *device);
    if (failed(capacity))
      return signalPassFailure();
    // Later passes use the recorded machine and memory to plan and report.
    PlanRecord plan = PlanRecord::get(getOperation());
    if (!machine.empty())
      plan.machine = machine;
    if (!memory.empty())
      plan.memory = *capacity;
    plan.set(getOperation());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh) || failed(verifyNotLocal(function)))
        return signalPassFailure();
      ShardingTable table(&getContext(),
                          withMachineLinks(mesh->toMesh(), *device));
      CostModel cost(table.getMesh(), *device);
      PlannerOptions options{freeArguments, allAxes, /*capacity=*/0,
                             CombineCollectivesPassOptions().bucketBytes,
                             overlap};
      postponeConstraints(function);
      // Partition manual regions first: the code around a region takes the
      // layouts of its operands and results as fixed.
      SmallVector<Operation *> roots;
      function->walk([&](ManualOp op) {
        if (!getFreeAxes(op, table.getMesh()).empty())
          roots.push_back(op);
      });
      roots.push_back(function);
      PlanFacts facts;
      for (Operation *root : roots) {
        // All memory that a call of the function uses must fit.
        options.capacity = root == function.getOperation() ? *capacity : 0;
        Partitioner partitioner(root, table, cost, options);
        if (failed(partitioner.run()))
          return signalPassFailure();
        facts.gap += partitioner.getGap();
      }
      if (warn)
        reportTooLittleMemory(function, table, *capacity,
                              DiagnosticSeverity::Warning);
      facts.merged = mergeSources(function.getFunctionBody());
      if (prices)
        recordPlan(function, facts, table, *device);
    }
    if (warn)
      reportUnusedAxes(getOperation(), DiagnosticSeverity::Warning);
  }
};

} // namespace
