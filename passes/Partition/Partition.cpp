// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses what every op computes on every device, and writes the reshards.

#include "Problem.h"
#include "Splices.h"

#include "tpopt/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Program/Sources.h"
#include "tpopt/Program/Structure.h"
#include "tpopt/Program/TensorTypes.h"
#include "tpopt/Sharding/Projection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <map>
#include <set>

#define DEBUG_TYPE "tp-partition"

namespace tp {
#define GEN_PASS_DEF_PARTITIONPASS
#include "tpopt/Passes/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Operands first, then results, as in a rule.
static Value getTensor(Operation *op, unsigned i) {
  return i < op->getNumOperands() ? op->getOperand(i)
                                  : op->getResult(i - op->getNumOperands());
}

/// The axes on each factor of `op`, for all its tensors with a sharding.
static SmallVector<AxisList> projectTensors(ShardingRuleOpInterface op,
                                            ShardingTable &table) {
  SmallVector<AxisList> factors;
  ShardingRule rule = op.getShardingRule();
  for (unsigned t = 0; t < rule.getNumTensors(); ++t)
    if (const TensorSharding *sharding = table.lookup(getTensor(op, t)))
      for (FactorSharding &factor : project(rule, t, *sharding))
        factors.push_back(std::move(factor.axes));
  return factors;
}

/// Cuts the axes of the mesh at every place where a sharding of `root` cuts
/// one, or where a dimension of several factors would: where `x` is larger than
/// the heads of a heads-and-features dimension, part of it cuts the features.
/// Then all shardings are lists of whole parts. A manual region has its free
/// axes alone.
static SmallVector<AxisRef> collectAtoms(Operation *root,
                                         ShardingTable &table) {
  const Mesh &mesh = table.getMesh();
  std::vector<std::set<int64_t>> cuts(mesh.axes.size());
  auto addAxes = [&](ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes) {
      cuts[axis.axis].insert(axis.pre);
      cuts[axis.axis].insert(axis.end());
    }
  };
  auto addAttribute = [&](Attribute attribute) {
    attribute.walk([&](AxisRefAttr ref) { addAxes(resolveAxes(ref, mesh)); });
  };
  addAttribute(root->getAttrDictionary());
  // Layers repeat, so most ops have nothing new to say.
  llvm::DenseMap<Operation *, uintptr_t, StructureInfo> structures;
  std::set<std::vector<const void *>> seen;
  root->walk([&](Operation *op) {
    uintptr_t structure =
        structures.try_emplace(op, structures.size()).first->second;
    std::vector<const void *> key{
        reinterpret_cast<const void *>(structure),
        op->getDiscardableAttrDictionary().getAsOpaquePointer()};
    for (Value operand : op->getOperands())
      key.push_back(table.lookup(operand));
    if (!seen.insert(std::move(key)).second)
      return;
    addAttribute(op->getAttrDictionary());
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
      for (const AxisList &factor : projectTensors(ruled, table))
        addAxes(factor);
  });

  auto manual = dyn_cast<ManualOp>(root);
  AxisList free = manual ? getFreeAxes(manual, mesh) : AxisList();
  SmallVector<AxisRef> atoms;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    // Axes that no annotation uses stay idle: nobody asked for them.
    if (cuts[axis].empty() ||
        (manual && !overlap(AxisRef::full(mesh, axis), free)))
      continue;
    cuts[axis].insert(1);
    cuts[axis].insert(mesh.axes[axis].size);
    int64_t last = 1;
    for (int64_t cut : cuts[axis]) {
      // Parts that do not divide each other cannot both be cut; the finer
      // pieces of the first serve.
      if (cut == last || cut % last != 0)
        continue;
      atoms.push_back({axis, last, cut / last});
      last = cut;
    }
  }
  return atoms;
}

/// Whether a factor that `op` wants whole is cut in one of its operands.
static bool hasCutWholeFactor(Operation *op, ShardingTable &table) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return false;
  ShardingRule rule = ruled.getShardingRule();
  for (unsigned t = 0; t < rule.getNumTensors(); ++t) {
    const TensorSharding *sharding = table.lookup(getTensor(op, t));
    if (!sharding)
      continue;
    for (auto [dim, factors] : llvm::zip(sharding->dims, rule.getTensor(t)))
      if (!dim.axes.empty() && llvm::any_of(factors, [&](unsigned f) {
            return rule.factors[f].kind == FactorKind::Whole &&
                   rule.factors[f].size > 1;
          }))
        return true;
  }
  return false;
}

/// What is printed about a reshard: which rule makes it necessary.
static std::string describeReshard(const Mesh &mesh, const TensorSharding &from,
                                   const TensorSharding &to, Operation *user) {
  std::string text;
  llvm::raw_string_ostream os(text);
  AxisList summed, gathered;
  for (const AxisRef &axis : from.unreduced)
    if (!overlap(to.unreduced, axis))
      summed.push_back(axis);
  AxisList kept = to.getDimAxes();
  for (const AxisRef &axis : from.getDimAxes())
    if (!overlap(kept, axis))
      gathered.push_back(axis);
  if (!summed.empty()) {
    os << "inner dimension: a dimension cut along ";
    printAxes(os, mesh, summed, /*quoted=*/false);
    os << " was contracted, and " << user->getName() << " needs the "
       << stringify(from.kind);
  } else if (!gathered.empty()) {
    os << "outer dimension: " << user->getName()
       << " needs whole what is cut along ";
    printAxes(os, mesh, gathered, /*quoted=*/false);
  } else {
    os << "mismatch: " << user->getName()
       << " wants the same pieces on other devices";
  }
  return text;
}

namespace {

/// Whether `user` wants its operands in a layout that the user wrote down.
bool isAnnotation(Operation *user) {
  return isa<ConstraintOp, ManualOp, ReturnOp>(user) ||
         (user->hasTrait<OpTrait::ReturnLike>() &&
          isa<FunctionOpInterface>(user->getParentOp()));
}

/// Partitions a function, or the body of a manual region along its free axes:
/// `root`, but for the manual regions in it.
class Partitioner {
public:
  Partitioner(Operation *root, ShardingTable &table, const CostModel &cost)
      : root(root), manual(dyn_cast<ManualOp>(root)), table(table),
        context(table, collectAtoms(root, table), cost,
                /*evenly=*/bool(manual)) {}

  LogicalResult run() {
    if (failed(checkOps()) || failed(checkSignature()))
      return failure();
    spliceWhereCut();
    decomposeWhereCheaper();
    choose();
    takeSplicesApart(collectOps(), table);
    return success();
  }

private:
  /// Every op must have a rule, or be one whose data flow is known.
  LogicalResult checkOps() {
    for (Operation *op : collectOps()) {
      if (isa<ShardingRuleOpInterface>(op) ||
          isa<GroupOp, RegionFlowOpInterface>(op) ||
          op->hasTrait<OpTrait::ReturnLike>())
        continue;
      return op->emitError()
             << prefix(ErrorCode::NoShardingRule) << op->getName()
             << " has no sharding rule: attach one as an external model of "
                "ShardingRuleOpInterface, or put the op into an spmd.manual "
                "region over all axes";
    }
    return success();
  }

  /// Propagation decides what nobody has sharded.
  LogicalResult checkSignature() {
    auto function = dyn_cast<FunctionOpInterface>(root);
    if (!function)
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

  /// An op that could make way for its decomposition.
  struct Substitute {
    Operation *op;
    SmallVector<Value> values;
    SmallVector<Operation *> parts;

    Substitute(DecomposeOpInterface decomposable, ShardingTable &table)
        : op(decomposable) {
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      values = decomposable.decompose(builder);
      for (Operation *part = before ? before->getNextNode()
                                    : &op->getBlock()->front();
           part != op; part = part->getNextNode()) {
        inferShardings(part, table);
        parts.push_back(part);
      }
      op->replaceAllUsesWith(values);
    }
    void accept() { op->erase(); }
    void reject() {
      for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
        value.replaceAllUsesWith(result);
      for (Operation *part : llvm::reverse(parts))
        part->erase();
    }
  };

  /// Ops that want a factor whole which propagation has cut: decomposed where
  /// that makes the whole program cheaper. Equal ops, as those of repeated
  /// layers are, go together.
  void decomposeWhereCheaper() {
    std::map<std::vector<const void *>, unsigned> numbers;
    std::vector<SmallVector<Operation *>> groups; // in program order
    for (Operation *op : collectOps()) {
      if (!isa<DecomposeOpInterface>(op) || !hasCutWholeFactor(op, table))
        continue;
      auto [it, isNew] = numbers.try_emplace(getStructure(op), groups.size());
      if (isNew)
        groups.emplace_back();
      groups[it->second].push_back(op);
    }
    if (groups.empty())
      return;
    double best = PartitionProblem(context, collectOps(), manual).solve();
    for (ArrayRef<Operation *> members : groups) {
      std::vector<Substitute> substitutes;
      for (Operation *op : members)
        substitutes.emplace_back(cast<DecomposeOpInterface>(op), table);
      llvm::SmallPtrSet<Operation *, 8> replaced(members.begin(),
                                                 members.end());
      SmallVector<Operation *> ops = collectOps();
      llvm::erase_if(ops, [&](Operation *op) { return replaced.count(op); });
      double cost = PartitionProblem(context, ops, manual).solve();
      for (Substitute &substitute : substitutes)
        cost < best ? substitute.accept() : substitute.reject();
      best = std::min(best, cost);
    }
  }

  /// Slices, pads and concatenations along a dimension that is cut.
  void spliceWhereCut() {
    SmallVector<Operation *> ops = collectOps();
    llvm::erase_if(ops, [&](Operation *op) {
      return !isa<SliceOp, PadOp, ConcatOp>(op) ||
             !hasCutWholeFactor(op, table);
    });
    makeSplices(ops, table);
  }

  /// All ops of the root, but for the bodies of manual regions in it.
  SmallVector<Operation *> collectOps() {
    SmallVector<Operation *> ops;
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == root)
        return WalkResult::advance();
      ops.push_back(op);
      return isa<ManualOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    return ops;
  }

  /// A use and the layout that it wants.
  struct Need {
    OpOperand *use;
    const TensorSharding *layout;

    bool hasLayout(const TensorSharding &other) const {
      return layout == &other || layout->sameLayout(other);
    }
  };

  void choose() {
    SmallVector<Operation *> ops = collectOps();
    PartitionProblem problem(context, ops, manual);
    problem.solve();
    recordAlternatives(ops, problem);

    // Read everything before anything changes.
    llvm::MapVector<Value, SmallVector<Need, 2>> needs;
    std::vector<std::pair<Value, const TensorSharding *>> layouts;
    layouts.reserve(ops.size());
    for (Operation *op : ops) {
      if (isa<GroupOp>(op))
        continue;
      for (OpOperand &operand : op->getOpOperands()) {
        if (!isa<RankedTensorType>(operand.get().getType()))
          continue;
        Need need{&operand,
                  &problem.getRequirement(op, operand.getOperandNumber())};
        if (!need.hasLayout(problem.getLayout(operand.get())))
          needs[operand.get()].push_back(need);
      }
      for (Value result : op->getResults())
        layouts.push_back({result, &problem.getLayout(result)});
    }
    std::vector<const TensorSharding *> sources;
    for (auto &[value, list] : needs)
      sources.push_back(&problem.getLayout(value));
    for (auto &[value, layout] : layouts)
      table.set(value, *layout);
    if (manual)
      closeBorder(problem);
    else
      closeSignature(cast<FunctionOpInterface>(root));
    for (auto [source, entry] : llvm::zip_equal(sources, needs))
      reshardUses(entry.first, *source, entry.second);
    dropAnnotations(ops);
    joinReshards();
  }

  /// Where somebody wants explanations: what else values could have been.
  void recordAlternatives(ArrayRef<Operation *> ops,
                          const PartitionProblem &problem) {
    Operation *function = isa<FunctionOpInterface>(root)
                              ? root
                              : root->getParentOfType<FunctionOpInterface>();
    auto record = function->getAttrOfType<ArrayAttr>(kExplanationsAttr);
    if (!record)
      return;
    llvm::StringMap<Value> values; // the first of each name, as in the record
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (isa<RankedTensorType>(result.getType()))
          values.insert({getName(result), result});
    Builder builder(root->getContext());
    SmallVector<Attribute> entries(record.begin(), record.end());
    for (Attribute &attribute : entries) {
      auto entry = dyn_cast<DictionaryAttr>(attribute);
      auto name = entry ? entry.getAs<StringAttr>("name") : nullptr;
      auto lines = entry ? entry.getAs<ArrayAttr>("lines") : nullptr;
      if (!name || !lines || !values.count(name.getValue()))
        continue;
      SmallVector<Attribute> longer(lines.begin(), lines.end());
      for (const auto &alternative :
           problem.getAlternatives(values.lookup(name.getValue()), 3))
        longer.push_back(
            builder.getStringAttr(describeAlternative(alternative)));
      NamedAttrList list(entry);
      list.set("lines", builder.getArrayAttr(longer));
      attribute = list.getDictionary(root->getContext());
    }
    function->setAttr(kExplanationsAttr, builder.getArrayAttr(entries));
  }

  /// `as [{"x"}, {}] it would cost 1.5 KiB more per device`.
  std::string
  describeAlternative(const PartitionProblem::Alternative &alternative) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "as " << alternative.layout.str(table.getMesh()) << " it would cost ";
    // With links costs are seconds, without them bytes.
    if (table.getMesh().hasLinks)
      os << llvm::formatv("{0:F1} us", alternative.regret * 1e6);
    else
      os << llvm::formatv("{0:F0} B", alternative.regret);
    os << " more per device, all else being as it is";
    return text;
  }

  /// Arguments and results keep what propagation gave them, closed now. A
  /// missing sharding is a replicated one from here on, and says so.
  void closeSignature(FunctionOpInterface function) {
    auto close = [&](Type type, ShardingAttr sharding) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return ShardingAttr();
      return table.toAttr(
          table.resolve(sharding, tensor.getRank()).getLayout());
    };
    SmallVector<ShardingAttr> arguments, results;
    for (BlockArgument arg : function.getArguments())
      arguments.push_back(close(arg.getType(), getSharding(arg)));
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      results.push_back(close(
          type, function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr)));
    setSignature(function, arguments, results);
  }

  /// What enters and leaves a manual region does so in the layout that is best
  /// for its body.
  void closeBorder(const PartitionProblem &problem) {
    auto close = [&](ArrayAttr list, ValueRange carriers) {
      SmallVector<Attribute> closed;
      for (auto [sharding, carrier] :
           llvm::zip_equal(list.getAsRange<ShardingAttr>(), carriers))
        closed.push_back(withFreePart(
            manual, sharding, table.toAttr(problem.getCarried(carrier))));
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

  /// Which of `layouts` each other one is made from; the first is there. Always
  /// the cheapest next, so that a scattered sum serves the next gather; then
  /// whatever is cheaper made from a copy that came later is made from that.
  SmallVector<unsigned> growCopies(Type type,
                                   ArrayRef<const TensorSharding *> layouts) {
    unsigned count = layouts.size();
    if (count == 2)
      return {0, 0};
    auto getCost = [&](unsigned from, unsigned to) {
      return context.getReshardCost(type, *layouts[from], *layouts[to]);
    };
    SmallVector<unsigned> parents(count, 0);
    SmallVector<unsigned> made{0};
    while (made.size() < count) {
      double best = std::numeric_limits<double>::infinity();
      unsigned from = 0, next = 0;
      for (unsigned copy : made)
        for (unsigned to = 1; to < count; ++to)
          if (!llvm::is_contained(made, to) && getCost(copy, to) < best) {
            best = getCost(copy, to);
            from = copy;
            next = to;
          }
      parents[next] = from;
      made.push_back(next);
    }
    auto comesFrom = [&](unsigned copy, unsigned origin) {
      while (copy != 0 && copy != origin)
        copy = parents[copy];
      return copy == origin;
    };
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      for (unsigned to = 1; to < count; ++to)
        for (unsigned from = 0; from < count; ++from)
          if (!comesFrom(from, to) &&
              getCost(from, to) < getCost(parents[to], to)) {
            parents[to] = from;
            isBetter = true;
          }
    }
    return parents;
  }

  /// Gives uses of `value`, which is made otherwise, the layouts they need.
  void reshardUses(Value value, const TensorSharding &made,
                   ArrayRef<Need> needs) {
    SmallVector<const TensorSharding *> layouts{&made};
    SmallVector<Need> open(needs);
    for (const Need &need : needs)
      if (llvm::none_of(layouts, [&](const TensorSharding *layout) {
            return need.hasLayout(*layout);
          }))
        layouts.push_back(need.layout);
    SmallVector<unsigned> parents = growCopies(value.getType(), layouts);
    SmallVector<Value> copies(layouts.size());
    copies[0] = value;
    while (!open.empty())
      for (unsigned to = 1; to < layouts.size(); ++to) {
        unsigned from = parents[to];
        if (copies[to] || !copies[from])
          continue;
        copies[to] =
            makeReshard(copies[from], *layouts[from], *layouts[to], open);
        llvm::erase_if(open, [&](const Need &need) {
          if (!need.hasLayout(*layouts[to]))
            return false;
          need.use->set(copies[to]);
          return true;
        });
      }
  }

  /// A reshard of `source`, before the first use of any copy of it that is
  /// still open: later copies may grow from this one.
  Value makeReshard(Value source, const TensorSharding &from,
                    const TensorSharding &to, ArrayRef<Need> open) {
    Block *block = source.getParentBlock();
    Operation *first = nullptr, *user = nullptr;
    for (const Need &need : open) {
      // A use inside a loop of a value from outside: reshard before the loop.
      Operation *at = block->findAncestorOpInBlock(*need.use->getOwner());
      if (!first || at->isBeforeInBlock(first))
        first = at;
      if (!user && need.hasLayout(to))
        user = need.use->getOwner();
    }
    OpBuilder builder(first);
    auto reshard = ReshardOp::create(builder, user->getLoc(), source.getType(),
                                     source, table.toAttr(to));
    describe(reshard, from, to, user);
    LDBG() << reshard;
    return reshard;
  }

  /// Writes why `reshard` is there: for `user`.
  void describe(ReshardOp reshard, const TensorSharding &from,
                const TensorSharding &to, Operation *user) {
    OpBuilder builder(reshard);
    reshard->setAttr(kReasonAttr, builder.getStringAttr(describeReshard(
                                      table.getMesh(), from, to, user)));
    if (isAnnotation(user))
      reshard->setAttr(kRequestedAttr, builder.getUnitAttr());
    else
      reshard->removeAttr(kRequestedAttr);
  }

  /// Constraints and barriers have done their work.
  void dropAnnotations(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      if (isa<ConstraintOp, BarrierOp>(op)) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
      } else if (isa<GroupOp>(op)) {
        op->erase();
      }
    }
  }

  /// A layout that only the next reshard sees, as that of a constraint whose
  /// value is wanted otherwise, is left out.
  void joinReshards() {
    SmallVector<ReshardOp> reshards;
    for (Operation *op : collectOps())
      if (auto reshard = dyn_cast<ReshardOp>(op))
        reshards.push_back(reshard);
    // Those that only an annotation wanted whose result nobody uses.
    for (ReshardOp &op : llvm::reverse(reshards))
      if (op.use_empty()) {
        op.erase();
        op = nullptr;
      }
    llvm::erase(reshards, nullptr);
    for (ReshardOp second : reshards) {
      auto first = second.getInput().getDefiningOp<ReshardOp>();
      if (!first || !first->hasOneUse() ||
          first->getBlock() != second->getBlock())
        continue;
      unsigned rank = second.getType().getRank();
      TensorSharding from = *table.lookup(first.getInput());
      TensorSharding via = table.resolve(first.getSharding(), rank);
      TensorSharding to = table.resolve(second.getSharding(), rank);
      auto cost = [&](const TensorSharding &a, const TensorSharding &b) {
        return context.getReshardCost(second.getType(), a, b);
      };
      if (cost(from, to) > cost(from, via) + cost(via, to))
        continue;
      second.getInputMutable().assign(first.getInput());
      if (from.sameLayout(to)) {
        second.replaceAllUsesWith(first.getInput());
        second.erase();
      } else {
        describe(second, from, to, *second->user_begin());
      }
      first.erase();
    }
  }

  Operation *root;
  ManualOp manual; ///< The root, if it is one.
  ShardingTable &table;
  PartitionContext context;
};

struct Partition : tp::impl::PartitionPassBase<Partition> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    if (!machine.empty()) // what comes later plans and reports for it, too
      getOperation()->setAttr(kMachineAttr,
                              StringAttr::get(&getContext(), machine));
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh) || failed(verifyNotLocal(function)))
        return signalPassFailure();
      ShardingTable table(&getContext(),
                          withMachineLinks(mesh->toMesh(), *device));
      CostModel cost(table.getMesh(), *device);
      // Around a manual region, what it takes and gives is fixed.
      SmallVector<Operation *> roots;
      function->walk([&](ManualOp op) {
        if (!getFreeAxes(op, table.getMesh()).empty())
          roots.push_back(op);
      });
      roots.push_back(function);
      for (Operation *root : roots)
        if (failed(Partitioner(root, table, cost).run()))
          return signalPassFailure();
      mergeSources(function.getFunctionBody());
    }
  }
};

} // namespace
