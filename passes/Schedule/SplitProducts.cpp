// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitProducts.h"

#include "Pieces.h"

#include "lib/Cost/StepCost.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

/// Returns the steps of the block that use `root`, an alloc of the block, in
/// program order. A loop counts as one step.
static llvm::SmallVector<Operation *> getSteps(Value root) {
  Block *block = root.getParentBlock();
  llvm::SetVector<Operation *> steps;
  llvm::SmallVector<Value> buffers = {root};
  while (!buffers.empty())
    for (Operation *user : buffers.pop_back_val().getUsers())
      if (step::isBufferOp(user))
        llvm::append_range(buffers, user->getResults());
      else
        steps.insert(block->findAncestorOpInBlock(*user));
  llvm::SmallVector<Operation *> order = steps.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return order;
}

/// Returns the product that reads all of a gathered matrix [k, n] first. Its
/// operand B is this matrix, in row-major order, and each device has whole rows
/// of it. Returns null if there is no such product.
static step::MatmulOp findProduct(step::CollectiveStartOp start) {
  Value gathered = start.getDestination(), source = start.getSource();
  if (!start.isAlone() || start.getKind() != step::CollectiveKind::AllGather ||
      !step::isDense(source) || !gathered.getDefiningOp<step::AllocOp>() ||
      gathered.getParentBlock() != start->getBlock())
    return {};
  llvm::SmallVector<Operation *> steps = getSteps(gathered);
  if (steps.size() < 2 || steps.front() != start)
    return {};
  auto product = dyn_cast<step::MatmulOp>(steps[1]);
  if (!product || product.getConstantB() || step::isMoving(product.getB()) ||
      step::getRoot(product.getB()) != gathered)
    return {};
  llvm::SmallVector<Value> others(product.getPostOperands());
  others.append({product.getA(), product.getC()});
  if (llvm::any_of(others, [&](Value other) {
        return step::getRoot(other) == gathered || step::isMoving(other);
      }))
    return {};
  MemRefType b = step::bufferTypeOf(product.getB());
  int64_t k = b.getDimSize(3), n = b.getDimSize(4);
  step::Strides strides(b);
  bool isMatrix = b.getNumElements() == k * n && strides.offset == 0 &&
                  strides.strides[3] == n && strides.strides[4] == 1 &&
                  step::bufferTypeOf(gathered).getNumElements() == k * n;
  bool hasRows = step::bufferTypeOf(source).getNumElements() % n == 0;
  return isMatrix && hasRows ? product : step::MatmulOp();
}

std::optional<GatheredProduct> schedule::findLongestProduct(Block &block,
                                                            const Mesh &mesh) {
  std::optional<GatheredProduct> found;
  double longest = 0;
  for (auto start : block.getOps<step::CollectiveStartOp>())
    if (step::MatmulOp product = findProduct(start))
      if (double seconds = cost::getStepTime(start, mesh); seconds > longest) {
        longest = seconds;
        found = {start, product};
      }
  return found;
}

/// Creates a view of columns [first, first + count) of an operand of a product.
static Value createColumns(OpBuilder &builder, Location loc, Value operand,
                           int64_t first, int64_t count) {
  MemRefType whole = step::bufferTypeOf(operand);
  step::Strides strides(whole);
  llvm::SmallVector<int64_t> sizes(whole.getShape());
  sizes.back() = count;
  return createView(builder, loc, operand, sizes, strides.strides,
                    first * strides.strides.back());
}

int64_t schedule::splitProduct(GatheredProduct found, int64_t pieces) {
  auto [start, product] = found;
  Location loc = start.getLoc();
  MemRefType b = step::bufferTypeOf(product.getB());
  Type element = b.getElementType();
  int64_t k = b.getDimSize(3), n = b.getDimSize(4),
          rows = step::bufferTypeOf(start.getSource()).getNumElements() / n;
  int64_t width = getPieceSize(n, pieces, element);
  step::CollectiveDoneOp done = getDone(start);
  // The first two steps are the gather and the product.
  bool isReadAgain = getSteps(start.getDestination()).size() > 2;
  OpBuilder builder(start), behind(product);
  behind.setInsertionPointAfter(product);
  int64_t bytes = 0;
  for (int64_t first = 0; first < n; first += width) {
    int64_t count = std::min(width, n - first);
    Value sent = step::AllocOp::create(
              builder, loc, MemRefType::get({rows, count}, element), nullptr),
          received = step::AllocOp::create(
              builder, loc, MemRefType::get({k / rows, rows, count}, element),
              nullptr);
    bytes += step::getEndByte(step::bufferTypeOf(sent)) +
             step::getEndByte(step::bufferTypeOf(received));
    step::CopyOp::create(builder, loc,
                         createView(builder, loc, start.getSource(),
                                    {rows, count}, {n, 1}, first),
                         sent);
    createPiece(builder, start, sent, received);

    auto piece = cast<step::MatmulOp>(product->cloneWithoutRegions());
    piece.getBMutable().assign(createView(
        behind, loc, received, {1, 1, 1, k, count}, {0, 0, 0, count, 1}, 0));
    piece.getCMutable().assign(
        createColumns(behind, product.getLoc(), product.getC(), first, count));
    for (OpOperand &operand : piece.getPostOperandsMutable())
      operand.set(
          createColumns(behind, product.getLoc(), operand.get(), first, count));
    behind.insert(piece);
    if (isReadAgain)
      step::CopyOp::create(
          behind, loc,
          createView(behind, loc, received, {k, count}, {count, 1}, 0),
          createView(behind, loc, start.getDestination(), {k, count}, {n, 1},
                     first));
  }
  product->erase();
  done->erase();
  start->erase();
  return bytes;
}
