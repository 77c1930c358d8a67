// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns the global program into the program that each device runs.

#include "dialects/SPMD/Nesting.h"
#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "dialects/TP/TensorTypes.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Localize/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/SaveAndRestore.h"

#include <limits>
#include <map>

#define DEBUG_TYPE "tp-localize"

namespace tp {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "tpopt/Passes/Localize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

/// Builds the device's program next to the global one, op by op, so that the
/// global types of ops remain available.
class FunctionLocalizer : public Localizer {
public:
  /// `symbols` are the names in use in the module; if the global function is
  /// kept, its new name is added.
  FunctionLocalizer(func::FuncOp global, ShardingTable &table, bool keepsGlobal,
                    llvm::DenseSet<StringAttr> &symbols)
      : global(global), table(table), keepsGlobal(keepsGlobal),
        symbols(symbols), builder(global.getContext()),
        shardingsName(builder.getStringAttr(kShardingsAttr)),
        globalOpName(builder.getStringAttr(kGlobalOpAttr)) {}

  /// Returns the local function.
  FailureOr<func::FuncOp> run() {
    // The signature.
    SmallVector<Type> inputs, results;
    for (BlockArgument arg : global.getArguments())
      inputs.push_back(localize(arg));
    for (unsigned i = 0; i < global.getNumResults(); ++i) {
      auto sharding =
          global.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
      Type type = global.getResultTypes()[i];
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && sharding)
        type = spmd::getLocalType(tensor, sharding, table.getMesh());
      results.push_back(type);
    }
    builder.setInsertionPoint(global);
    auto local =
        cast<func::FuncOp>(builder.cloneWithoutRegions(*global.getOperation()));
    local.setType(builder.getFunctionType(inputs, results));
    if (failed(localizeRegion(global.getBody(), local.getBody())))
      return failure(); // the module is discarded with the pass's failure
    if (failed(verifyReturns(local)))
      return failure();
    if (keepsGlobal)
      keepGlobal(local);
    else
      global.erase();
    return local;
  }

  OpBuilder &getBuilder() override { return builder; }
  const Mesh &getMesh() const override { return table.getMesh(); }

  const TensorSharding &getSharding(Value value) const override {
    return parts.find(value)->second->layout;
  }

  RankedTensorType getLocalType(Value value) override {
    return cast<RankedTensorType>(localize(value));
  }

  RankedTensorType getLocalType(RankedTensorType global,
                                const TensorSharding &layout) override {
    if (isInManual)
      return RankedTensorType::get(getLocalShape(layout, global.getShape()),
                                   global.getElementType());
    return spmd::getLocalType(global, table.toAttr(layout.getLayout()),
                              table.getMesh());
  }

  Value getBlockBegin(Value value, unsigned dim) override {
    localize(value);
    const AxisList &axes = getSharding(value).dims[dim].axes;
    if (getSize(axes) == 1)
      return {};
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    int64_t block = BlockLayout{size, getSize(axes)}.block();
    Location loc = builder.getUnknownLoc();
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    Value index = AxisIndexOp::create(
        builder, loc, scalar,
        FlatSymbolRefAttr::get(builder.getContext(), getMesh().name),
        toAttr(builder.getContext(), getMesh(), axes));
    Value length = ConstantOp::create(
        builder, loc, scalar,
        DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(block)));
    return MulOp::create(builder, loc, scalar, index, length);
  }

  Value maskPadding(Value local, ArrayRef<int64_t> dims,
                    ReduceKind kind) override {
    auto type = cast<RankedTensorType>(local.getType());
    auto part = dyn_cast_if_present<LocalAttr>(type.getEncoding());
    if (!part)
      return local;
    TensorSharding layout = std::get<TensorSharding>(
        part.getSharding().resolve(getMesh(), type.getRank()));
    ArrayRef<int64_t> shape = getGlobalType(type).getShape();
    auto padded = llvm::filter_to_vector(dims, [&](int64_t dim) {
      return BlockLayout{shape[dim], getSize(layout.dims[dim].axes)}.isUneven();
    });
    if (padded.empty())
      return local;
    return MaskOp::create(builder, local.getLoc(), type, local,
                          builder.getDenseI64ArrayAttr(padded),
                          getReductionIdentity(kind, type.getElementType()));
  }

private:
  /// The part of a tensor that a device holds.
  struct Part {
    TensorSharding layout;
    RankedTensorType type;
  };

  /// Before tp-partition, a value may be sharded differently from the result
  /// that it is returned as.
  LogicalResult verifyReturns(func::FuncOp local) {
    for (auto end : local.getOps<func::ReturnOp>())
      for (auto [index, made, wanted] :
           llvm::enumerate(end.getOperandTypes(), local.getResultTypes()))
        if (made != wanted)
          return end.emitError()
                 << prefix(ErrorCode::EarlierPassMissing) << "result #" << index
                 << " is computed as " << made << ", but returned as " << wanted
                 << ": run tp-partition first";
    return success();
  }

  /// Returns the local type of a value and remembers its sharding.
  Type localize(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value.getType();
    auto [it, isNew] = parts.try_emplace(value);
    if (isNew) {
      const TensorSharding *sharding = table.lookup(value);
      if (!sharding)
        unknown = value;
      it->second = getPart(type, sharding);
    }
    return it->second->type;
  }

  /// Returns the Part that values of this type and sharding share. A null
  /// sharding means replicated.
  const Part *getPart(RankedTensorType type, const TensorSharding *sharding) {
    std::unique_ptr<Part> &part =
        (isInManual ? distinctInManual : distinct)[{type, sharding}];
    if (!part) {
      part = std::make_unique<Part>();
      part->layout = sharding ? sharding->getLayout()
                              : TensorSharding::replicate(type.getRank());
      part->type = getLocalType(type, part->layout);
    }
    return part.get();
  }

  /// Keeps the global function under a different name, so that the local one
  /// can be checked against it.
  void keepGlobal(func::FuncOp local) {
    global.setPrivate();
    global->setAttr(kLocalFormAttr, FlatSymbolRefAttr::get(local));
    global->removeAttr(kPricesAttr);
    std::string name = (local.getName() + ".global").str();
    while (!symbols.insert(builder.getStringAttr(name)).second)
      name += "_";
    global.setName(name);
    LDBG() << local.getName() << ": " << local.getFunctionType();
  }

  /// Marks `last` as the last of the local ops that implement one global op.
  void tag(Operation *last) {
    if (keepsGlobal)
      last->setDiscardableAttr(globalOpName, builder.getUnitAttr());
  }

  /// Marks the local ops that define `results`, the results of one global op.
  /// They may come from several local ops.
  void tag(ArrayRef<Value> results) {
    Operation *last = results.front().getDefiningOp();
    if (results.size() == last->getNumResults() &&
        llvm::equal(results, last->getResults()))
      return tag(last);
    llvm::MapVector<Operation *, SmallVector<int64_t>> makers;
    for (auto [index, result] : llvm::enumerate(results)) {
      Operation *maker = result.getDefiningOp();
      SmallVector<int64_t> &list = makers[maker];
      list.resize(maker->getNumResults(), -1);
      list[cast<OpResult>(result).getResultNumber()] = index;
    }
    if (keepsGlobal)
      for (auto &[maker, list] : makers)
        maker->setDiscardableAttr(globalOpName,
                                  builder.getDenseI64ArrayAttr(list));
  }

  /// If `global` itself exchanges data, records it as the reason for the
  /// collectives that replace it. `first` is the first op that replaces it.
  void explainLaunches(Operation *global, Operation *first) {
    if (!isa<ExchangeOpInterface>(global))
      return;
    MLIRContext *context = builder.getContext();
    auto reason =
        ReasonAttr::get(context, ReasonKind::Exchanged,
                        builder.getStringAttr(global->getName().getStringRef()),
                        /*axes=*/{}, ReduceKind::Sum, /*from=*/{}, /*to=*/{});
    auto why = WhyAttr::get(context, reason, /*requested=*/false);
    for (Operation *op = first; op; op = op->getNextNode())
      if (isa<CollectiveOpInterface, ShiftOp>(op))
        op->setAttr(kWhyAttr, why);
  }

  LogicalResult localizeRegion(Region &from, Region &to) {
    OpBuilder::InsertionGuard guard(builder);
    for (Block &block : from) {
      Block *copy = new Block();
      to.push_back(copy);
      for (BlockArgument arg : block.getArguments())
        mapping.map(arg, copy->addArgument(localize(arg), arg.getLoc()));
      builder.setInsertionPointToStart(copy);
      for (Operation &op : block) {
        if (failed(localizeOp(&op)))
          return failure();
        if (unknown)
          return emitError(unknown.getLoc())
                 << prefix(ErrorCode::MissingSharding) << getName(unknown)
                 << " has no sharding: run tp-partition first";
      }
    }
    return success();
  }

  LogicalResult localizeOp(Operation *op) {
    if (isa<ReshardOp, ConstraintOp, BarrierOp, GroupOp>(op))
      return op->emitError()
             << prefix(ErrorCode::MissingSharding)
             << "this op is not yet part of a program for one device: run "
                "tp-partition and tp-plan-collectives first";
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookup(operand));
    if (auto manual = dyn_cast<ManualOp>(op))
      return localizeManual(manual, operands);
    if (auto own = dyn_cast<LocalizeOpInterface>(op)) {
      // The op's localize method reads the shardings of the operands.
      for (Value value : op->getOperands())
        localize(value);
      Block *block = builder.getInsertionBlock();
      Operation *before = block->empty() ? nullptr : &block->back();
      FailureOr<SmallVector<Value>> results = own.localize(*this, operands);
      if (failed(results))
        return failure();
      mapping.map(op->getResults(), *results);
      explainLaunches(op, before ? before->getNextNode() : &block->front());
      if (!results->empty() && !isInManual)
        tag(*results);
      return success();
    }
    maskReduced(op, operands);

    Operation *copy = copyOp(op, operands);
    mapping.map(op->getResults(), copy->getResults());
    for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions()))
      if (failed(localizeRegion(from, to)))
        return failure();
    return success();
  }

  /// Copies the op with local types and without the content of its regions.
  Operation *copyOp(Operation *op, ArrayRef<Value> operands) {
    SmallVector<Type> types;
    for (Value result : op->getResults())
      types.push_back(localize(result));
    NamedAttrList attributes(op->getDiscardableAttrDictionary());
    attributes.erase(shardingsName);
    if (keepsGlobal && !isInManual && !op->hasTrait<OpTrait::IsTerminator>())
      attributes.set(globalOpName, builder.getUnitAttr());
    return builder.insert(Operation::create(
        op->getLoc(), op->getName(), types, operands, std::move(attributes),
        op->getPropertiesStorage(), BlockRange(), op->getNumRegions()));
  }

  /// Makes a manual region manual over all axes of the mesh. If the region is
  /// manual over only some axes, localizes its body for the other axes. A
  /// region nested in another one is replaced by its body.
  LogicalResult localizeManual(ManualOp op, ArrayRef<Value> operands) {
    auto copy = cast<ManualOp>(copyOp(op, operands));
    if (getFreeAxes(op, getMesh()).empty())
      cloneBody(op, copy);
    else if (failed(localizeBody(op, copy)))
      return failure();
    if (op->getParentOfType<ManualOp>())
      mapping.map(op->getResults(), inlineBody(copy));
    else
      mapping.map(op->getResults(), copy->getResults());
    return success();
  }

  /// Copies a body whose types are already local.
  void cloneBody(ManualOp op, ManualOp copy) {
    op.getBody().cloneInto(&copy.getBody(), mapping);
    copy.getBody().walk([](Operation *inner) {
      // Propagation has already applied the constraints, so remove them.
      if (auto constraint = dyn_cast<ConstraintOp>(inner)) {
        constraint.replaceAllUsesWith(constraint.getInput());
        constraint.erase();
      } else if (auto nested = dyn_cast<ManualOp>(inner)) {
        inlineBody(nested);
      }
    });
  }

  LogicalResult localizeBody(ManualOp op, ManualOp copy) {
    AxisList all;
    for (unsigned axis = 0; axis < getMesh().axes.size(); ++axis)
      all.push_back(AxisRef::full(getMesh(), axis));
    copy.setAxesAttr(toAttr(builder.getContext(), getMesh(), all));
    auto close = [&](ArrayAttr list) {
      SmallVector<Attribute> closed;
      for (auto sharding : list.getAsRange<ShardingAttr>())
        closed.push_back(table.toAttr(
            table.resolve(sharding, sharding.getDims().size()).getLayout()));
      return builder.getArrayAttr(closed);
    };
    copy.setInShardingsAttr(close(op.getInShardings()));
    copy.setOutShardingsAttr(close(op.getOutShardings()));
    llvm::SaveAndRestore inside(isInManual, true);
    return localizeRegion(op.getBody(), copy.getBody());
  }

  /// Overwrites padding with the identity of the reduction of `op` if a reduced
  /// dimension is sharded unevenly.
  void maskReduced(Operation *op, MutableArrayRef<Value> operands) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled)
      return;
    // Most ops have no padding, so build the rule, which takes time, only when
    // it is needed.
    std::optional<ShardingRule> rule;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      localize(operand);
      const TensorSharding &sharding = getSharding(operand);
      ArrayRef<int64_t> shape =
          cast<RankedTensorType>(operand.getType()).getShape();
      SmallVector<int64_t> dims;
      ReduceKind kind = ReduceKind::Sum;
      for (auto [dim, size] : llvm::enumerate(shape)) {
        if (!BlockLayout{size, getSize(sharding.dims[dim].axes)}.isUneven())
          continue;
        if (!rule)
          rule = ruled.getShardingRule();
        for (unsigned f : rule->operands[index][dim])
          if (rule->factors[f].kind == FactorKind::Reduction) {
            dims.push_back(dim);
            kind = rule->factors[f].reduce;
          }
      }
      // Arguments are passed with padding of zeros, except for donated ones,
      // whose padding holds whatever the last call left there.
      if (dims.empty() || (kind == ReduceKind::Sum && isZeroPadded(operand)))
        continue;
      operands[index] = maskPadding(operands[index], dims, kind);
    }
  }

  bool isZeroPadded(Value value) {
    auto arg = dyn_cast<BlockArgument>(value);
    return arg && arg.getOwner() == &global.getBody().front() &&
           !global.getArgAttr(arg.getArgNumber(), kDonatedAttr);
  }

  func::FuncOp global;
  ShardingTable &table;
  bool keepsGlobal;
  llvm::DenseSet<StringAttr> &symbols;
  OpBuilder builder;
  StringAttr shardingsName, globalOpName;
  IRMapping mapping;
  llvm::DenseMap<Value, const Part *> parts;
  /// Keyed by type and by the table's sharding.
  llvm::DenseMap<std::pair<Type, const TensorSharding *>, std::unique_ptr<Part>>
      distinct, distinctInManual;
  /// True while the current op is in a manual region that is not manual over
  /// all axes.
  bool isInManual = false;
  Value unknown;
};

/// Records on the function how much localization changes its estimated cost.
LogicalResult recordPrice(func::FuncOp local, MeshOp mesh) {
  if (!local->hasAttr(kPricesAttr))
    return success();
  auto machine = readMachineOption(local->getParentOfType<ModuleOp>(), "");
  if (failed(machine))
    return failure();
  ShardingTable table(local.getContext(),
                      withMachineLinks(mesh.toMesh(), *machine));
  recordChange(local, PriceKind::Localized, /*count=*/0, table, *machine);
  return success();
}

struct Localize : tp::impl::LocalizePassBase<Localize> {
  using LocalizePassBase::LocalizePassBase;

  void runOnOperation() override {
    llvm::DenseSet<StringAttr> symbols;
    for (auto symbol : getOperation().getOps<SymbolOpInterface>())
      symbols.insert(symbol.getNameAttr());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh) || failed(verifyNotLocal(function)))
        return signalPassFailure();
      ShardingTable table(&getContext(), mesh->toMesh());
      FailureOr<func::FuncOp> local =
          FunctionLocalizer(function, table, keepGlobal, symbols).run();
      if (failed(local) || failed(recordPrice(*local, *mesh)))
        return signalPassFailure();
    }
  }
};

} // namespace
