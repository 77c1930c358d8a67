// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LegalizeForStep.h"

#include "FusionGroups.h"
#include "Products.h"
#include "ScalarOps.h"
#include "ShareEqual.h"
#include "SimplifySums.h"

#include "dialects/SPMD/Nesting.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::codegen;

static RankedTensorType withElement(Value like, Type element) {
  return RankedTensorType::get(typeOf(like).getShape(), element);
}

//===----------------------------------------------------------------------===//
// Encodings and manual regions
//===----------------------------------------------------------------------===//

/// Records the shardings of `op` in `infos` if lowering needs them later. They
/// come from the types' encodings or, in a manual region, from the collective's
/// attributes.
static LogicalResult remember(Operation *op, const Mesh *mesh,
                              LocalInfos &infos) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective && !isa<MaskOp>(op))
    return success();
  for (auto [part, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = typeOf(operand), global = getGlobalType(type);
    auto local = dyn_cast_if_present<LocalAttr>(type.getEncoding());
    ShardingAttr sharding = local ? local.getSharding() : ShardingAttr();
    if (!local && collective && op->getParentOfType<ManualOp>()) {
      sharding = collective.getPartInSharding(part);
      global = getGlobalType(collective, part);
    }
    if (!sharding || !mesh)
      return op->emitError() << prefix(ErrorCode::NotLocal) << op->getName()
                             << " computes on a whole tensor instead of one "
                                "device's part: run tp-localize first";
    LocalInfo info;
    info.sharding =
        std::get<TensorSharding>(sharding.resolve(*mesh, type.getRank()))
            .getLayout();
    info.global.assign(global.getShape().begin(), global.getShape().end());
    if (collective) {
      info.step = getStep(collective, part);
      info.sharding.kind = isa<ToPartialOp>(op)
                               ? collective.getPartOutSharding(part).getKind()
                               : collective.getPartInSharding(part).getKind();
    }
    infos[op].push_back(std::move(info));
  }
  return success();
}

static void stripEncoding(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getEncoding())
    value.setType(
        RankedTensorType::get(type.getShape(), type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Basic forms
//===----------------------------------------------------------------------===//

static void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

static void decomposeAll(Block &block,
                         const llvm::SmallPtrSetImpl<Operation *> &keep) {
  for (auto it = block.begin(); it != block.end();) {
    auto op = dyn_cast<DecomposeOpInterface>(*it);
    if (!op || keep.contains(op)) {
      ++it;
      continue;
    }
    OpBuilder builder(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> values = op.decompose(builder);
    replace(op, values);
    // The new ops may need to be decomposed, too.
    it = before ? std::next(before->getIterator()) : block.begin();
  }
}

/// Pads the input with the fill value once, instead of each time a window reads
/// the padding.
static void fillAround(WindowOp op) {
  if (!op.getFill())
    return;
  RankedTensorType input = typeOf(op.getInput());
  SmallVector<int64_t> shape(input.getShape()), before(shape.size(), 0),
      low(op.getLow());
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    auto [first, end] = op.getReach(i);
    before[dim] = std::max<int64_t>(0, -first);
    shape[dim] = before[dim] + std::max(shape[dim], end);
    low[i] -= before[dim];
  }
  OpBuilder builder(op);
  Value value = PadOp::create(builder, op.getLoc(), input.clone(shape),
                              op.getInput(), op.getFill(), before);
  op.getInputMutable().assign(value);
  op.getFillMutable().clear();
  op.setLow(low);
}

/// Returns true if only row programs read a view, directly or through other
/// views.
static bool isReadByRows(Operation *view) {
  return llvm::all_of(view->getUsers(), [](Operation *user) {
    return isViewOp(user) ? isReadByRows(user)
                          : isScalarOp(user) || isa<ReduceOp>(user);
  });
}

/// Moves a widening conversion to after the view, so that row programs widen
/// elements as they read them. Before the view, the widened value would be
/// written to memory.
static void widenBehindView(Operation *view) {
  auto convert = view->getOperand(0).getDefiningOp<ConvertOp>();
  if (!convert || !isReadByRows(view))
    return;
  Type from = typeOf(convert.getInput()).getElementType(),
       to = convert.getType().getElementType();
  if (!isa<FloatType>(from) || !isa<FloatType>(to) ||
      from.getIntOrFloatBitWidth() >= to.getIntOrFloatBitWidth())
    return;
  OpBuilder builder(view);
  Value result = view->getResult(0);
  auto widened =
      ConvertOp::create(builder, convert.getLoc(),
                        cast<RankedTensorType>(result.getType()), result);
  result.replaceAllUsesExcept(widened, widened);
  widened->moveAfter(view);
  view->setOperand(0, convert.getInput());
  result.setType(withElement(result, from));
}

/// Moves a narrowing conversion from after a concatenation to its parts, where
/// it is fused with their computation.
static void narrowParts(ConcatOp concat) {
  auto convert = concat->hasOneUse()
                     ? dyn_cast<ConvertOp>(*concat->getUsers().begin())
                     : ConvertOp();
  if (!convert)
    return;
  Type element = convert.getType().getElementType();
  OpBuilder builder(concat);
  for (OpOperand &part : concat->getOpOperands())
    part.set(ConvertOp::create(builder, convert.getLoc(),
                               withElement(part.get(), element), part.get()));
  concat.getResult().setType(convert.getType());
  replace(convert, concat->getResults());
}

/// Replaces values that a loop carries unchanged by their initial values
/// outside.
static void freeInvariants(Operation *op) {
  auto loop = dyn_cast<RegionFlowOpInterface>(op);
  if (!loop || !loop.isLoop())
    return;
  // Replacing one value may show that another one does not change either.
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (Channel channel : getChannels(loop)) {
      Value init = channel.getSources().front()->get();
      SmallVector<Value> same = channel.getTargets();
      same.push_back(init);
      if (!llvm::all_of(channel.getSources(), [&](OpOperand *source) {
            return llvm::is_contained(same, source->get());
          }))
        continue;
      for (Value target : channel.getTargets()) {
        hasChanged |= !target.use_empty();
        target.replaceAllUsesWith(init);
      }
    }
  }
}

static Value convertTo(OpBuilder &builder, Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return ConvertOp::create(builder, value.getLoc(), withElement(value, element),
                           value);
}

/// Makes `op` compute with 32 bits for the given operands and results.
static void computeWide(Operation *op, ArrayRef<unsigned> operands,
                        ArrayRef<unsigned> results) {
  OpBuilder builder(op);
  auto integer = dyn_cast<IntegerType>(
      typeOf(op->getOperand(operands[0])).getElementType());
  Type wide = integer ? Type(IntegerType::get(op->getContext(), 32,
                                              integer.getSignedness()))
                      : Type(builder.getF32Type());
  for (unsigned i : operands)
    op->setOperand(i, convertTo(builder, op->getOperand(i), wide));
  builder.setInsertionPointAfter(op);
  for (unsigned i : results) {
    Value result = op->getResult(i);
    Type element = typeOf(result).getElementType();
    result.setType(withElement(result, wide));
    Value narrow = convertTo(builder, result, element);
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  }
}

/// Some ops are executed by the runtime, which does not support all types.
/// Converts the operands and results of these ops to types that the runtime
/// supports. Sums are rounded only once.
static void widenForRuntime(Operation *op, const Target &target) {
  auto isBelow = [](Value value, unsigned width) {
    Type element = typeOf(value).getElementType();
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < width;
  };
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    OpBuilder builder(op);
    scatter.getIndicesMutable().assign(
        convertTo(builder, scatter.getIndices(), builder.getI64Type()));
    if (scatter.getKind() != ScatterKind::Set &&
        isBelow(scatter.getResult(), 32))
      computeWide(op, {0, 2}, 0u);
  } else if (isa<SortOp, TopKOp>(op)) {
    if (isBelow(op->getOperand(0), 16))
      computeWide(op, 0u, 0u);
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (isReduction(getKind(collective, i)) &&
          !target.combines(typeOf(op->getOperand(i)).getElementType()))
        computeWide(op, i, i);
  }
}

/// Moves the shardings of all tensors from their types to `infos`. Afterwards
/// all of `function` is written for one device, like the bodies of manual
/// regions.
static LogicalResult takeEncodings(func::FuncOp function, const Mesh *mesh,
                                   LocalInfos &infos) {
  if (function
          .walk([&](Operation *op) {
            return succeeded(remember(op, mesh, infos))
                       ? WalkResult::advance()
                       : WalkResult::interrupt();
          })
          .wasInterrupted())
    return failure();
  function.walk([](Block *inner) {
    for (Value argument : inner->getArguments())
      stripEncoding(argument);
    for (Operation &op : *inner)
      for (Value result : op.getResults())
        stripEncoding(result);
  });
  SmallVector<ManualOp> regions;
  function.walk([&](ManualOp manual) { regions.push_back(manual); });
  for (ManualOp manual : regions)
    inlineBody(manual);
  return success();
}

static void eraseDead(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

FailureOr<LocalInfos> tp::legalizeForStep(func::FuncOp function,
                                          const Mesh *mesh,
                                          const Target &target) {
  LocalInfos infos;
  if (failed(takeEncodings(function, mesh, infos)))
    return failure();
  dropEmpty(function, infos);
  function.walk([](Operation *op) { freeInvariants(op); });

  // Visit inner blocks first. The blocks are collected each time, since a
  // change may erase a dead branch or loop with its blocks.
  auto forEach = [&](auto change) {
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      change(*block);
  };
  auto decomposeBlocks = [&] {
    forEach([&](Block &block) {
      llvm::SmallPtrSet<Operation *, 16> keep;
      for (auto einsum : block.getOps<EinsumOp>())
        for (Operation *op : getEpilogue(einsum, target))
          keep.insert(op);
      for (auto topK : block.getOps<TopKOp>())
        keep.insert(topK); // a sort that stops early
      for (auto attention : block.getOps<AttentionOpInterface>())
        if (hasAttentionKernel(attention, target))
          keep.insert(attention);
      decomposeAll(block, keep);
    });
  };
  forEach([](Block &block) { copyUnalignedBlocks(block); });
  forEach([&](Block &block) {
    for (auto op :
         llvm::make_early_inc_range(block.getOps<AttentionOpInterface>()))
      prepareAttention(op, target);
  });
  // Run this twice: sharing equal values of the decompositions adds uses, which
  // may end an epilogue early. Ops that are no longer in an epilogue must then
  // be decomposed.
  for (int round = 0; round < 2; ++round) {
    shareEqual(function);
    decomposeBlocks();
  }
  dropEmpty(function, infos);
  forEach([&](Block &block) {
    for (auto window : block.getOps<WindowOp>())
      fillAround(window);
    for (auto reduce : llvm::make_early_inc_range(block.getOps<ReduceOp>()))
      simplifyReduce(reduce);
    for (auto einsum : llvm::make_early_inc_range(block.getOps<EinsumOp>()))
      simplifyEinsum(einsum, target);
    for (Operation &op : llvm::make_early_inc_range(block))
      widenForRuntime(&op, target);
  });
  shareEqual(function);
  decomposeBlocks();
  function.walk([](Operation *op) { freeInvariants(op); });
  forEach([](Block &block) {
    for (auto concat : llvm::to_vector(block.getOps<ConcatOp>()))
      narrowParts(concat);
    findMotions(block);
    for (Operation &op : block)
      if (isViewOp(&op))
        widenBehindView(&op);
    eraseDead(block);
  });
  return infos;
}
