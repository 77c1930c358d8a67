// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/ReverseMode.h"

#include "dialects/OpError.h"
#include "dialects/TP/Interface.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tp;

/// Returns a location that marks an op as part of the gradient of the op at
/// `loc`. It contains `loc`, so that the op's layer can still be found.
static Location getGradientLoc(Location loc) {
  StringRef name;
  loc->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName();
    return WalkResult::interrupt();
  });
  MLIRContext *context = loc.getContext();
  std::string marked = name.empty() ? "grad" : ("grad(" + name + ")").str();
  return NameLoc::get(StringAttr::get(context, marked), loc);
}

Value ReverseMode::getOrZero(Value value) {
  if (Value gradient = getGradient(value))
    return gradient;
  return getEmitter().constant(0, value);
}

void ReverseMode::add(Value value, Value gradient) {
  if (!isWanted(value))
    return;
  Value &sum = gradients[value];
  sum = sum ? getEmitter().binary<AddOp>(sum, gradient) : gradient;
}

void ReverseMode::want(Value value) {
  if (isFloatTensor(value.getType()))
    wanted.insert(value);
}

void ReverseMode::wantDependents(Block &block) {
  auto isWantedHere = [&](Value value) { return isWanted(value); };
  for (Operation &op : block) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    if (llvm::any_of(op.getOperands(), isWantedHere) ||
        llvm::any_of(captured, isWantedHere))
      for (Value result : op.getResults())
        want(result);
  }
}

LogicalResult ReverseMode::run(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    auto hasGradient = [&](Value result) {
      return isWanted(result) && getGradient(result);
    };
    if (llvm::none_of(op->getResults(), hasGradient))
      continue;
    loc = getGradientLoc(op->getLoc());
    if (failed(visit(op)))
      return failure();
  }
  return success();
}

LogicalResult ReverseMode::visit(Operation *op) {
  if (auto differentiable = dyn_cast<GradientOpInterface>(op))
    return differentiable.addGradients(*this);
  if (isa<DecomposeOpInterface>(op))
    return addDecomposed(op);
  return tp::emitOpError(op, ErrorCode::NoGradient)
         << "has no gradient, but the loss depends on its result, and its "
            "result depends on a trained argument; leave it out of the loss, "
            "or do not "
            "train that argument";
}

LogicalResult ReverseMode::addDecomposed(Operation *op) {
  Block *block = builder.getInsertionBlock();
  Operation *last = builder.getInsertionPoint() == block->begin()
                        ? nullptr
                        : &*std::prev(builder.getInsertionPoint());
  SmallVector<Value> values = cast<DecomposeOpInterface>(op).decompose(builder);
  SmallVector<Operation *> ops;
  for (auto it = last ? std::next(last->getIterator()) : block->begin();
       it != builder.getInsertionPoint(); ++it)
    ops.push_back(&*it);
  auto isWantedHere = [&](Value value) { return isWanted(value); };
  for (Operation *inner : ops)
    if (llvm::any_of(inner->getOperands(), isWantedHere))
      for (Value result : inner->getResults())
        want(result);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (Value gradient = getGradient(result))
      add(value, gradient);
  Location outer = loc;
  if (failed(run(ops)))
    return failure();
  loc = outer;
  return success();
}

void ReverseMode::finish() {
  for (Operation *op : erased)
    op->erase();
  erased.clear();
}

FailureOr<SmallVector<Value>>
tp::buildGradients(func::FuncOp function, Value loss, ArrayRef<Value> wanted) {
  Block &body = function.getFunctionBody().front();
  OpBuilder builder(body.getTerminator());
  ReverseMode reverse(builder, loss.getLoc());
  for (Value value : wanted)
    reverse.want(value);
  reverse.wantDependents(body);
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  Emitter emit = reverse.getEmitter();
  if (reverse.isWanted(loss))
    reverse.set(loss, emit.constant(1, loss));
  if (failed(reverse.run(ops)))
    return failure();
  SmallVector<Value> gradients;
  for (Value value : wanted) {
    Value gradient = reverse.getGradient(value);
    gradients.push_back(gradient ? gradient : emit.constant(0, value));
  }
  // Decompositions may compute values that no gradient needs: erase these.
  auto isGradient = [&](Value result) {
    return llvm::is_contained(gradients, result);
  };
  for (Operation *op = body.getTerminator()->getPrevNode();
       op && op != ops.back();) {
    Operation *previous = op->getPrevNode();
    if (isOpTriviallyDead(op) && llvm::none_of(op->getResults(), isGradient))
      op->erase();
    op = previous;
  }
  reverse.finish();
  return gradients;
}

void tp::addGradientResult(func::FuncOp function, unsigned argument,
                           Value gradient) {
  Builder builder(function.getContext());
  StringAttr name = getInputName(function, argument);
  NamedAttribute attributes[] = {
      builder.getNamedAttr(kNameAttr,
                           builder.getStringAttr(name.getValue() + ".grad")),
      builder.getNamedAttr(
          kRoleAttr, builder.getStringAttr(stringifyRole(Role::Gradient)))};
  (void)function.insertResult(function.getNumResults(), gradient.getType(),
                              builder.getDictionaryAttr(attributes));
  Operation *end = function.getFunctionBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), gradient);
}
