// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Removes all computation, communication and storage of tensors without
// elements.

#include "LegalizeForStep.h"

#include "ScalarOps.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

bool tp::isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 0;
}

static Value makeSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                       TypedAttr element) {
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, Attribute(element)));
}

/// Replaces all uses of `value` by a constant.
static void replaceEmpty(OpBuilder &builder, Value value) {
  if (value.use_empty())
    return;
  auto type = cast<RankedTensorType>(value.getType());
  value.replaceAllUsesWith(
      makeSplat(builder, value.getLoc(), type,
                builder.getZeroAttr(type.getElementType())));
}

/// Returns the value of an op's non-empty result if an operand is empty: a
/// constant, or a value computed from the other operands. Returns null if there
/// is no rule for the op, which must then be decomposed.
static Value getWithoutEmpty(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ReduceOp reduce) {
        return makeSplat(builder, loc, type,
                         getReductionIdentity(reduce.getKind(), element));
      })
      .Case([&](EinsumOp) {
        return makeSplat(builder, loc, type, builder.getZeroAttr(element));
      })
      .Case([&](GatherOp) { // there is nothing to look up
        return makeSplat(builder, loc, type, builder.getZeroAttr(element));
      })
      .Case([&](PadOp pad) {
        return BroadcastOp::create(builder, loc, type, pad.getValue(),
                                   ArrayRef<int64_t>());
      })
      .Case([&](ConcatOp concat) -> Value {
        SmallVector<Value> parts(llvm::make_filter_range(
            concat->getOperands(), [](Value part) { return !isEmpty(part); }));
        if (parts.size() == 1)
          return parts.front();
        return ConcatOp::create(builder, loc, type, parts, concat.getDim());
      })
      .Case([](ScatterOp scatter) { return scatter.getInput(); })
      .Case([](DynamicUpdateSliceOp update) { return update.getInput(); })
      .Default(Value());
}

/// Rebuilds a combined collective without the tensors that have no elements.
static void dropParts(CombinedOp op, LocalInfos &infos) {
  llvm::BitVector parts(op->getNumOperands());
  SmallVector<Value> results;
  SmallVector<LocalInfo, 1> kept, known = infos.lookup(op);
  infos.erase(op);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (isEmpty(input))
      continue;
    parts.set(i);
    results.push_back(op->getResult(i));
    kept.push_back(known[i]);
  }
  OpBuilder builder(op);
  CombinedOp copy = op.take(builder, parts);
  copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [result, own] : llvm::zip_equal(results, copy->getResults()))
    result.replaceAllUsesWith(own);
  op.erase();
  infos[copy] = std::move(kept);
}

/// Rebuilds a loop or a branch without the empty tensors that it carries.
static void dropCarried(RegionFlowOpInterface op) {
  llvm::BitVector empty(op->getNumResults());
  for (OpResult result : op->getResults())
    if (isEmpty(result))
      empty.set(result.getResultNumber());
  if (empty.none())
    return;
  auto isKept = [&](unsigned i) { return !empty.test(i); };
  SmallVector<Value> operands, results;
  for (OpOperand &operand : op->getOpOperands())
    if (!op.isLoop() || isKept(operand.getOperandNumber()))
      operands.push_back(operand.get());
  for (OpResult result : op->getResults())
    if (isKept(result.getResultNumber()))
      results.push_back(result);
  OpBuilder builder(op);
  Operation *copy = builder.insert(Operation::create(
      op->getLoc(), op->getName(), TypeRange(ValueRange(results)), operands,
      NamedAttrList(op->getDiscardableAttrDictionary()),
      op->getPropertiesStorage(), BlockRange(), op->getNumRegions()));
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), copy->getRegions())) {
    Block &block = from.front();
    if (&from != op.getCondition()) // a condition yields only its i1
      block.getTerminator()->eraseOperands(empty);
    if (op.isLoop()) {
      // Counters come before carried values.
      llvm::BitVector arguments(block.getNumArguments() - empty.size());
      for (unsigned i = 0; i < empty.size(); ++i)
        arguments.push_back(empty.test(i));
      block.eraseArguments(arguments);
    }
    to.takeBody(from);
  }
  for (auto [result, own] : llvm::zip_equal(results, copy->getResults()))
    result.replaceAllUsesWith(own);
  op->erase();
}

static void dropEmpty(Block &block, LocalInfos &infos) {
  OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
  for (BlockArgument argument : block.getArguments())
    if (isEmpty(argument))
      replaceEmpty(atBegin, argument);
  for (auto it = block.begin(); it != block.end();) {
    Operation *op = &*it++;
    if (isa<ConstantOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
      continue;
    OpBuilder behind(block.getParent());
    behind.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      if (isEmpty(result))
        replaceEmpty(behind, result);
    if (op->getNumRegions() != 0) {
      for (Region &region : op->getRegions())
        dropEmpty(region.front(), infos);
      if (auto flow = dyn_cast<RegionFlowOpInterface>(op))
        dropCarried(flow);
      continue;
    }
    if (op->getNumResults() == 0)
      continue;
    if (llvm::all_of(op->getResults(), isEmpty)) {
      infos.erase(op);
      op->erase();
      continue;
    }
    if (llvm::none_of(op->getOperands(), isEmpty))
      continue;
    if (auto combined = dyn_cast<CombinedOp>(op)) {
      dropParts(combined, infos);
    } else if (Value value = getWithoutEmpty(op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (auto whole = dyn_cast<DecomposeOpInterface>(op)) {
      Operation *before = op->getPrevNode();
      OpBuilder builder(op);
      op->replaceAllUsesWith(whole.decompose(builder));
      op->erase();
      it = before ? std::next(before->getIterator()) : block.begin();
    }
  }
}

void tp::dropEmpty(func::FuncOp function, LocalInfos &infos) {
  for (Block &block : function.getBody())
    ::dropEmpty(block, infos);
}
