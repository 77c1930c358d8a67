// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers loops and branches.
//
// A value that a loop carries is stored at one location before, during and
// after the loop:
//
//     %r = tp.for 3 (%x) {              copy %x to %place
//     ^bb0(%i, %h):                     step.loop 3 {
//       %y = tp.tanh %h                   rows: tanh of %place to %y
//       tp.yield %y                       copy %y to %place
//     }                                 }
//
// The last copy is omitted if a step can write directly to that location, such
// as a slice of a stack of activations. Values that a loop only reads are not
// carried: they are read in place. A layer of stacked weights is read through a
// view whose offset advances with the loop.

#include "Lowering.h"

#include <limits>

using namespace mlir;
using namespace tp;

bool ProgramLowering::isTooDeep(Operation *op) {
  unsigned depth = 0;
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    depth += isa<spmd::RegionFlowOpInterface>(parent);
  if (depth <= step::kMaxNesting)
    return false;
  fail(op, ErrorCode::UnsupportedOp)
      << "loops and branches must not be nested more than " << step::kMaxNesting
      << " deep";
  return true;
}

SmallVector<View> ProgramLowering::makeCarried(Operation *op, ValueRange inits,
                                               YieldOp yield) {
  SmallVector<View> places;
  auto channels = spmd::getChannels(cast<spmd::RegionFlowOpInterface>(op));
  for (auto [init, next, result, channel] :
       llvm::zip(inits, yield.getOperands(), op->getResults(), channels)) {
    bool isUnused = llvm::all_of(
        channel.getTargets(), [](Value target) { return target.use_empty(); });
    places.push_back(init == next && isUnused ? View()
                                              : getOwn(init, result, op));
  }
  return places;
}

void ProgramLowering::storeYielded(YieldOp yield, ArrayRef<View> results) {
  loc = yield.getLoc();
  llvm::DenseSet<Value> places;
  for (const View &place : results)
    places.insert(place.root);
  // Copy values that are in another value's location to new buffers before that
  // location is overwritten.
  std::vector<std::pair<View, View>> late;
  SmallVector<std::pair<Value, View>> made;
  for (auto [value, place] : llvm::zip(yield.getOperands(), results)) {
    if (!place.root)
      continue; // the same in all iterations
    if (isInline(value)) {
      made.push_back({value, place});
      continue;
    }
    View view = getView(value);
    if (view.root == place.root && view.isRoot())
      continue;
    if (places.contains(view.root)) {
      View aside = allocate(view.shape, view.element);
      copy(view, aside, yield);
      view = aside;
    }
    late.push_back({view, place});
  }
  for (auto &[view, place] : late)
    copy(view, place, yield);
  for (auto &[value, place] : made)
    materialize(value, place);
}

void ProgramLowering::lowerRegion(Region &region, Block &block,
                                  ValueRange arguments, ArrayRef<View> places,
                                  ArrayRef<View> results) {
  // Views created in the region are not available outside of it.
  auto yield = cast<YieldOp>(block.getTerminator());
  // If no op of the body reads a location, an op may write a result there.
  auto isRead = [&](const View &result) {
    return llvm::any_of(llvm::zip(arguments, places), [&](auto pair) {
      auto &[argument, place] = pair;
      return place.root == result.root && !argument.use_empty();
    });
  };
  for (auto [value, result] : llvm::zip(yield.getOperands(), results))
    if (result.root && value.getParentBlock() == &block && !isRead(result))
      outputStorage.try_emplace(value, result.root);
  auto outerViews = views;
  auto outerBuffers = buffers;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&region.emplaceBlock());
  for (auto [argument, place] : llvm::zip(arguments, places))
    views[argument] = place;
  lowerBlock(block);
  if (!failed)
    storeYielded(yield, results);
  views = std::move(outerViews);
  buffers = std::move(outerBuffers);
}

void ProgramLowering::lowerFor(ForOp op) {
  if (isTooDeep(op))
    return;
  if (op.getCount() > std::numeric_limits<int32_t>::max())
    return void(fail(op, ErrorCode::UnsupportedOp)
                << "a loop must have fewer than 2^31 iterations, got "
                << op.getCount());
  Block &body = op.getBody().front();
  SmallVector<View> places =
      makeCarried(op, op.getInits(), cast<YieldOp>(body.getTerminator()));
  auto loop = step::LoopOp::create(builder, loc, op.getCount());
  loops[op] = loop;
  lowerRegion(loop.getBody(), body, body.getArguments().drop_front(), places,
              places);
  for (auto [result, place] : llvm::zip(op.getResults(), places))
    views[result] = place;
}

void ProgramLowering::lowerWhile(WhileOp op) {
  if (isTooDeep(op))
    return;
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  SmallVector<View> places =
      makeCarried(op, op.getInits(), cast<YieldOp>(body.getTerminator()));
  View predicate = allocate({}, builder.getI1Type());
  auto loop = step::WhileOp::create(builder, loc, getBuffer(predicate));
  lowerRegion(loop.getCond(), cond, cond.getArguments(), places, predicate);
  lowerRegion(loop.getBody(), body, body.getArguments(), places, places);
  for (auto [result, place] : llvm::zip(op.getResults(), places))
    views[result] = place;
}

/// Emits the branches one after another, each with its own predicate, so that
/// they do not nest. The last branch becomes the else region of a `step.if`.
/// With only two branches, the first becomes its then region.
void ProgramLowering::lowerCase(CaseOp op) {
  if (isTooDeep(op))
    return;
  SmallVector<View> places;
  for (Value result : op.getResults())
    places.push_back(allocateFor(result));
  auto lowerBranch = [&](Region &region, Region &branch) {
    lowerRegion(region, branch.front(), {}, {}, places);
  };
  auto createIf = [&](int64_t low, int64_t high) {
    View predicate = compareScalar(op.getIndex(), low, high);
    return step::IfOp::create(builder, op.getLoc(), getBuffer(predicate));
  };
  MutableArrayRef<Region> branches = op.getBranches();
  int64_t last = branches.size() - 1;
  for (int64_t i = 0; last > 1 && i < last; ++i) {
    step::IfOp branch = createIf(i, i);
    lowerBranch(branch.getThen(), branches[i]);
    branch.getOtherwise().emplaceBlock();
    loc = op.getLoc();
  }
  // Any other index selects the last branch.
  step::IfOp rest = createIf(0, last - 1);
  if (last == 1)
    lowerBranch(rest.getThen(), branches[0]);
  else
    rest.getThen().emplaceBlock();
  lowerBranch(rest.getOtherwise(), branches[last]);
  for (auto [result, place] : llvm::zip(op.getResults(), places))
    views[result] = place;
}
