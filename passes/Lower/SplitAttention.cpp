// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splits causal attention into blocks of queries.
//
// A block reads only the keys up to the position of its last query, so most of
// the masked half is not computed: 512 positions in four blocks take 5/8 of the
// work. The scores of a block also stay in the cache between its two products.
// The products themselves need no masking: each reads a part of the keys and
// writes a part of the result. Gradients of keys and values are sums over the
// blocks. All gradients are split in the same way, so that they share the
// attention weights.

#include "LegalizeForStep.h"

#include "dialects/TP/Emitter.h"

using namespace mlir;
using namespace tp;

namespace {

/// The smallest number of queries in a block: enough for the matrix library to
/// be efficient.
constexpr int64_t kMinBlock = 128;
/// The maximum number of blocks, which keeps the program short.
constexpr int64_t kMaxBlocks = 8;

} // namespace

namespace {

/// Some of the queries, and the number of keys that they see.
struct QueryBlock {
  int64_t begin, size, seen;
};

} // namespace

/// `size` elements of dimension `dim`, starting at `begin`.
static Value take(Emitter &emit, Value value, unsigned dim, int64_t begin,
                  int64_t size) {
  SmallVector<int64_t> starts(typeOf(value).getRank(), 0),
      sizes(typeOf(value).getShape());
  starts[dim] = begin;
  sizes[dim] = size;
  return emit.slice(value, starts, sizes);
}

/// The part of an attention operand that `block` needs.
static Value takeOperand(Emitter &emit, OpOperand &operand,
                         const QueryBlock &block) {
  Value whole = operand.get();
  if (isBoolTensor(whole.getType())) // the mask
    return take(emit, take(emit, whole, 1, block.begin, block.size), 2, 0,
                block.seen);
  if (isIntegerTensor(whole.getType())) // the lengths
    return whole;
  unsigned number = operand.getOperandNumber();
  return number == 1 || number == 2 // key and value
             ? take(emit, whole, 1, 0, block.seen)
             : take(emit, whole, 1, block.begin, block.size);
}

/// Returns true if the results of `op` have one row for each key. Otherwise
/// they have one row for each query.
static bool isOfKeys(AttentionOpInterface op) {
  return isa<AttentionKeyValueGradientOp>(op);
}

/// Builds `op` for one block of its queries.
static Operation *buildBlock(OpBuilder &builder, AttentionOpInterface op,
                             const QueryBlock &block) {
  Emitter emit(builder, op.getLoc());
  auto number = RankedTensorType::get({}, builder.getI32Type());
  Value offset = ConstantOp::create(
      builder, op.getLoc(), number,
      DenseElementsAttr::get(number, static_cast<int32_t>(block.begin)));
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(takeOperand(emit, operand, block));
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  cast<AttentionOpInterface>(part).getOffsetMutable().assign(offset);
  for (Value result : part->getResults()) {
    RankedTensorType type = typeOf(result);
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = isOfKeys(op) ? block.seen : block.size;
    result.setType(type.clone(shape));
  }
  return part;
}

/// The sum of the parts, each of which covers a prefix of the keys.
static Value addUp(Emitter &emit, ArrayRef<Value> parts, int64_t keys,
                   Type element) {
  Value sum;
  for (Value part : parts) {
    Value all = emit.pad(emit.widen(part), 1, 0, keys);
    sum = sum ? emit.binary<AddOp>(sum, all) : all;
  }
  return emit.convert(sum, element);
}

void tp::splitCausalAttention(AttentionOpInterface op) {
  int64_t queries = op.getQuery().getType().getDimSize(1),
          keys = op.getKey().getType().getDimSize(1);
  int64_t size =
      std::max<int64_t>(kMinBlock, llvm::divideCeil(queries, kMaxBlocks));
  // An offset makes the last key that a block sees unknown at compile time.
  if (!op.getCausal() || op.getOffset() || queries <= size)
    return;
  OpBuilder builder(op);
  SmallVector<Operation *> blocks;
  for (int64_t begin = 0; begin < queries; begin += size) {
    int64_t end = std::min(begin + size, queries);
    blocks.push_back(
        buildBlock(builder, op, {begin, end - begin, std::min(end, keys)}));
  }
  Emitter emit(builder, op.getLoc());
  for (OpResult result : op->getResults()) {
    SmallVector<Value> parts;
    for (Operation *block : blocks)
      parts.push_back(block->getResult(result.getResultNumber()));
    Type element = typeOf(result).getElementType();
    result.replaceAllUsesWith(isOfKeys(op) ? addUp(emit, parts, keys, element)
                                           : emit.concat(parts, 1));
  }
  op.erase();
}
