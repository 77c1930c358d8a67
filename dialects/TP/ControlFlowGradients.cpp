// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of loops and conditionals.
//
// The gradient of a loop is a loop that counts down. It needs values of the
// forward iterations. Cheap values are recomputed; the forward loop saves the
// others in a stack with an entry for each iteration:
//
//     %y = tp.for 3 (%x) {                %y, %s = tp.for 3 (%x, %zeros) {
//     ^bb0(%i, %h):                       ^bb0(%i, %h, %stack):
//       %n = tp.tanh(%h)           ->       tp.dynamic_update_slice %stack, %h
//       tp.yield %n                         tp.yield tanh(%h), %updated
//     }                                   }
//                                         %dx = tp.for 3 (%dy) {
//                                         ^bb0(%j, %g):
//                                           %h = tp.dynamic_slice %s, 2 - %j
//                                           tp.yield %g * (1 - tanh(%h)^2)
//                                         }
//
// The gradients of values from outside the loop are carried and accumulated, so
// that the work and the memory of a loop stay linear in the number of
// iterations.

#include "dialects/OpError.h"
#include "dialects/TP/ReverseMode.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;

/// The operands of `op`, and the outer values that its regions use.
static SmallVector<Value> getUsedValues(Operation *op) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert_range(op->getOperands());
  return used.takeVector();
}

/// Returns true if recomputing an op is better than saving its result: the op
/// is element-wise, or only moves data.
static bool isCheap(Operation *op) {
  if (op->hasTrait<Elementwise>())
    return true;
  auto cost = dyn_cast<CostOpInterface>(op);
  auto rule = dyn_cast<spmd::ShardingRuleOpInterface>(op);
  if (!cost || !rule)
    return false;
  SmallVector<int64_t> sizes;
  for (const Factor &factor : rule.getShardingRule().factors)
    sizes.push_back(factor.size);
  return cost.getFlops(sizes) == 0;
}

static void eraseDead(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// ForOp
//===----------------------------------------------------------------------===//

namespace {

/// Builds the gradient of one loop.
class LoopGradient {
public:
  LoopGradient(ForOp op, ReverseMode &reverse)
      : op(op), reverse(reverse), count(op.getCount()),
        body(op.getBody().front()), active(op.getInits().size()),
        carried(active.size()) {}

  LogicalResult run() {
    if (count == 0) {
      for (auto [init, result] :
           llvm::zip_equal(op.getInits(), op.getResults()))
        if (Value gradient = reverse.getGradient(result))
          reverse.add(init, gradient);
      return success();
    }
    findActive();
    findCarried();
    startBackward();
    if (failed(fillBackward()))
      return failure();
    chooseSaved();
    buildForward();
    loadSaved();
    finishBackward();
    return success();
  }

private:
  void findActive();
  void findCarried();
  void startBackward();
  LogicalResult fillBackward();
  void chooseSaved();
  void buildForward();
  void loadSaved();
  void finishBackward();

  Value getYielded(unsigned i) { return body.getTerminator()->getOperand(i); }
  /// Returns true if the loop passes on its argument i unchanged.
  bool isInvariant(unsigned i) {
    return getYielded(i) == op.getRegionIterArgs()[i];
  }
  /// The start indices of entry `at` of a stack, for reading or writing that
  /// entry.
  SmallVector<Value> getPlace(Emitter emit, Value at, Value stack) {
    SmallVector<Value> starts(typeOf(stack).getRank());
    starts[0] = at;
    for (Value &start : MutableArrayRef(starts).drop_front())
      start = emit.constant(0, at);
    return starts;
  }

  ForOp op;
  ReverseMode &reverse;
  int64_t count;
  Block &body;

  /// Two flags for each value that the loop carries. An `active` value depends
  /// on a value whose gradient is wanted. A `carried` value is active, and the
  /// loss depends on it, so it has a gradient.
  SmallVector<bool> active, carried;
  /// Values defined outside the loop that get gradients from it.
  SmallVector<Value> captured;

  /// The backward loop. Its block has, in this order: the counter of the
  /// forward iteration, the ops of that iteration, the values that the
  /// iteration yields, and the gradients.
  ForOp backward;
  Value at;
  /// Placeholders for the values that a forward iteration receives from the
  /// iteration before it.
  SmallVector<BlockArgument> entering;
  YieldOp yielded;
  SmallVector<Operation *> iteration;
  /// The forward values that the backward iteration needs, each of which is
  /// saved in a stack.
  llvm::SetVector<Value> saved;
  ForOp forward;
};

} // namespace

void LoopGradient::findActive() {
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    active[i] = reverse.isWanted(init);
  bool changed = true;
  while (changed) {
    changed = false;
    ReverseMode inner = reverse.getInner(reverse.getBuilder());
    for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs()))
      if (active[i])
        inner.want(arg);
    inner.wantDependents(body);
    for (unsigned i : llvm::seq<unsigned>(active.size()))
      if (!active[i] && inner.isWanted(getYielded(i)))
        active[i] = changed = true;
  }
}

/// Finds the `carried` values. Starts from the yielded values that the loss
/// depends on, and goes backward through the loop's ops to the loop's
/// arguments.
void LoopGradient::findCarried() {
  ReverseMode inner = reverse.getInner(reverse.getBuilder());
  for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs()))
    if (active[i])
      inner.want(arg);
  inner.wantDependents(body);
  DenseSet<Value> reached;
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    carried[i] = active[i] && reverse.getGradient(result);
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned i : llvm::seq<unsigned>(carried.size()))
      if (carried[i])
        reached.insert(getYielded(i));
    for (Operation &inside : llvm::reverse(body.without_terminator()))
      if (llvm::any_of(inside.getResults(),
                       [&](Value result) { return reached.contains(result); }))
        for (Value used : getUsedValues(&inside))
          if (inner.isWanted(used))
            reached.insert(used);
    for (auto [i, arg] : llvm::enumerate(op.getRegionIterArgs()))
      if (active[i] && !carried[i] && reached.contains(arg))
        carried[i] = changed = true;
  }
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(op.getBody(), outside);
  for (Value value : outside)
    if (reached.contains(value) && inner.isWanted(value))
      captured.push_back(value);
}

void LoopGradient::startBackward() {
  SmallVector<Value> inits;
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (carried[i])
      inits.push_back(reverse.getOrZero(result));
  for (Value value : captured)
    inits.push_back(reverse.getOrZero(value));
  OpBuilder &builder = reverse.getBuilder();
  backward = ForOp::create(builder, reverse.getLoc(),
                           TypeRange(ValueRange(inits)), count, inits);
  Block &block = backward.getBody().emplaceBlock();
  Value counter = block.addArgument(op.getCounter().getType(), op.getLoc());
  for (Value init : inits)
    block.addArgument(init.getType(), op.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  Emitter emit(inside, op.getLoc());
  at = emit.binary<SubOp>(emit.constant(count - 1, counter), counter);
  IRMapping mapping;
  mapping.map(op.getCounter(), at);
  for (BlockArgument arg : op.getRegionIterArgs()) {
    entering.push_back(block.addArgument(arg.getType(), arg.getLoc()));
    mapping.map(arg, entering.back());
  }
  for (Operation &each : body.without_terminator())
    iteration.push_back(inside.clone(each, mapping));
  yielded = cast<YieldOp>(inside.clone(*body.getTerminator(), mapping));
}

LogicalResult LoopGradient::fillBackward() {
  Block &block = backward.getBody().front();
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  ReverseMode inner = reverse.getInner(inside);
  for (auto [i, arg] : llvm::enumerate(entering))
    if (active[i])
      inner.want(arg);
  inner.wantDependents(block);
  Block::BlockArgListType gradients = block.getArguments().drop_front();
  for (auto [i, value] : llvm::enumerate(captured))
    inner.set(value, gradients[llvm::count(carried, true) + i]);
  unsigned next = 0;
  for (unsigned i : llvm::seq<unsigned>(carried.size()))
    if (carried[i])
      inner.add(yielded.getOperand(i), gradients[next++]);
  if (failed(inner.run(iteration)))
    return failure();
  SmallVector<Value> results;
  for (auto [i, arg] : llvm::enumerate(entering))
    if (carried[i])
      results.push_back(inner.getOrZero(arg));
  for (Value value : captured)
    results.push_back(inner.getGradient(value));
  YieldOp::create(inside, op.getLoc(), results);
  inner.finish();
  // Nested loops may have been changed to save more values, so collect the ops
  // of the iteration again.
  iteration.clear();
  Operation *start = at.getDefiningOp();
  for (auto it = std::next(start->getIterator()); it != yielded->getIterator();
       ++it)
    iteration.push_back(&*it);
  return success();
}

void LoopGradient::chooseSaved() {
  DenseSet<Operation *> again(iteration.begin(), iteration.end());
  again.insert(yielded);
  DenseSet<Value> needed;
  Block &block = backward.getBody().front();
  for (auto it = std::next(yielded->getIterator()); it != block.end(); ++it)
    needed.insert_range(getUsedValues(&*it));
  // Invariant values are not saved for every iteration.
  DenseSet<Value> varying;
  varying.insert(at);
  for (auto [i, arg] : llvm::enumerate(entering))
    if (!isInvariant(i))
      varying.insert(arg);
  for (Operation *each : iteration)
    if (llvm::any_of(getUsedValues(each),
                     [&](Value value) { return varying.contains(value); }))
      varying.insert_range(each->getResults());
  for (Operation *each : llvm::reverse(iteration)) {
    if (llvm::none_of(each->getResults(),
                      [&](Value result) { return needed.contains(result); }))
      continue;
    bool varies = llvm::any_of(each->getResults(), [&](Value result) {
      return varying.contains(result);
    });
    if (isCheap(each) || !varies) {
      needed.insert_range(getUsedValues(each));
      continue;
    }
    for (Value result : each->getResults())
      if (needed.contains(result))
        saved.insert(result);
  }
  for (auto [i, arg] : llvm::enumerate(entering)) {
    if (isInvariant(i))
      arg.replaceAllUsesWith(op.getInits()[i]);
    else if (needed.contains(arg))
      saved.insert(arg);
  }
}

void LoopGradient::buildForward() {
  OpBuilder builder(op);
  Emitter outside(builder, op.getLoc());
  SmallVector<Value> inits(op.getInits());
  for (Value value : saved) {
    SmallVector<int64_t> shape{count};
    llvm::append_range(shape, typeOf(value).getShape());
    inits.push_back(outside.constant(0, Emitter::withShape(value, shape)));
  }
  forward = ForOp::create(builder, op.getLoc(), TypeRange(ValueRange(inits)),
                          count, inits);
  forward->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = forward.getBody().emplaceBlock();
  Value counter = block.addArgument(op.getCounter().getType(), op.getLoc());
  IRMapping mapping;
  mapping.map(at, counter);
  for (auto [i, init] : llvm::enumerate(inits)) {
    Value arg = block.addArgument(init.getType(), op.getLoc());
    if (i < entering.size())
      mapping.map(entering[i], arg);
  }
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  for (Operation *each : iteration)
    inside.clone(*each, mapping);
  SmallVector<Value> results;
  for (Value value : yielded.getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  Emitter emit(inside, op.getLoc());
  for (auto [stack, value] : llvm::zip_equal(
           forward.getRegionIterArgs().drop_front(entering.size()), saved)) {
    SmallVector<int64_t> shape(typeOf(stack).getShape());
    shape[0] = 1;
    Value entry = emit.reshape(mapping.lookup(value), shape);
    results.push_back(
        emit.dynamicUpdate(stack, entry, getPlace(emit, counter, stack)));
  }
  YieldOp::create(inside, op.getLoc(), results);
  op.getResults().replaceAllUsesWith(
      forward.getResults().take_front(entering.size()));
  reverse.eraseLater(op);
}

void LoopGradient::loadSaved() {
  OpBuilder inside(backward.getContext());
  inside.setInsertionPointAfterValue(at);
  Emitter emit(inside, op.getLoc());
  for (auto [stack, value] : llvm::zip_equal(
           forward.getResults().drop_front(entering.size()), saved)) {
    SmallVector<int64_t> shape(typeOf(stack).getShape());
    shape[0] = 1;
    Value entry = emit.dynamicSlice(stack, getPlace(emit, at, stack), shape);
    Value(value).replaceAllUsesWith(
        emit.reshape(entry, typeOf(value).getShape()));
  }
  yielded->erase();
  eraseDead(iteration);
  backward.getBody().front().eraseArguments([&](BlockArgument arg) {
    return arg.getArgNumber() > backward.getInits().size();
  });
}

void LoopGradient::finishBackward() {
  // The loop's results include the gradients from before the loop.
  ResultRange results = backward.getResults();
  for (auto [value, gradient] :
       llvm::zip_equal(captured, results.take_back(captured.size())))
    reverse.set(value, gradient);
  unsigned next = 0;
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (carried[i])
      reverse.add(init, results[next++]);
}

LogicalResult ForOp::addGradients(ReverseMode &reverse) {
  return LoopGradient(*this, reverse).run();
}

//===----------------------------------------------------------------------===//
// CaseOp
//===----------------------------------------------------------------------===//

LogicalResult CaseOp::addGradients(ReverseMode &reverse) {
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(getBranches(), outside);
  outside.remove_if([&](Value value) { return !reverse.isWanted(value); });

  // Each branch recomputes its forward ops, starts from the gradients that
  // outer values have so far, and adds to these gradients.
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<SmallVector<Value>> gradients;
  for (Region &branch : getBranches()) {
    regions.push_back(std::make_unique<Region>());
    Block &block = regions.back()->emplaceBlock();
    OpBuilder inside(getContext());
    inside.setInsertionPointToEnd(&block);
    IRMapping mapping;
    SmallVector<Operation *> ops;
    for (Operation &each : branch.front().without_terminator())
      ops.push_back(inside.clone(each, mapping));
    ReverseMode inner = reverse.getInner(inside);
    inner.wantDependents(block);
    for (Value value : outside)
      inner.set(value, reverse.getGradient(value));
    for (auto [value, result] : llvm::zip_equal(
             branch.front().getTerminator()->getOperands(), getResults()))
      if (Value gradient = reverse.getGradient(result))
        inner.add(mapping.lookupOrDefault(value), gradient);
    if (failed(inner.run(ops)))
      return failure();
    inner.finish();
    SmallVector<Value> &own = gradients.emplace_back();
    for (Value value : outside)
      own.push_back(inner.getGradient(value));
  }

  // The gradients of outer values to which at least one branch adds.
  SmallVector<unsigned> changed;
  SmallVector<Type> types;
  for (unsigned i : llvm::seq<unsigned>(outside.size())) {
    Value before = reverse.getGradient(outside[i]);
    if (llvm::all_of(gradients,
                     [&](ArrayRef<Value> own) { return own[i] == before; }))
      continue;
    changed.push_back(i);
    types.push_back(outside[i].getType());
  }
  auto backward = CaseOp::create(reverse.getBuilder(), reverse.getLoc(), types,
                                 getIndex(), regions.size());
  for (auto [to, from, own] :
       llvm::zip_equal(backward.getBranches(), regions, gradients)) {
    to.takeBody(*from);
    Block &block = to.front();
    SmallVector<Operation *> ops(llvm::make_pointer_range(block));
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    Emitter emit(inside, reverse.getLoc());
    SmallVector<Value> results;
    for (unsigned i : changed)
      results.push_back(own[i] ? own[i] : emit.constant(0, outside[i]));
    YieldOp::create(inside, reverse.getLoc(), results);
    eraseDead(ops);
  }
  for (auto [i, result] : llvm::zip_equal(changed, backward.getResults()))
    reverse.set(outside[i], result);
  return success();
}

LogicalResult WhileOp::addGradients(ReverseMode &) {
  return tp::emitOpError(*this, ErrorCode::NoGradient)
         << "has no gradient, because its number of iterations is not known; "
            "write a loop with a known number of iterations, tp.for (lax.scan, "
            "or lax.fori_loop with constant bounds)";
}
