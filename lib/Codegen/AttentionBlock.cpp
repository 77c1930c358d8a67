// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionBlock.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

AttentionSize tp::codegen::getAttentionSize(step::AttentionOpInterface op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  ArrayRef<int64_t> v = op.getValue().getType().getShape();
  return {q[0] * q[2], q[1] * q[3],
          v[1],        q[4],
          v[3],        !op.getQuery().getType().getElementType().isF32()};
}

AttentionBlock::AttentionBlock(OpBuilder &builder,
                               step::AttentionOpInterface op,
                               gpu::GPUFuncOp function)
    : GpuEmitter(builder, op.getLoc()), op(op), function(function),
      element(op.getQuery().getType().getElementType()),
      elementBytes(step::getElementBytes(element)) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  heads = q[2];
  groups = q[3];
  rows = q[1] * groups;
  keys = op.getKey().getType().getDimSize(1);
  query = getArgument(op.getQuery());
  key = getArgument(op.getKey());
  value = getArgument(op.getValue());
  offset = getArgument(op.getOffset());
  lengths = getArgument(op.getLengths());
  mask = getArgument(op.getMask());
  // A window larger than any number of keys hides nothing, so it can be
  // clamped.
  if (op.getWindow())
    window = std::min<uint64_t>(*op.getWindow(), INT32_MAX);
  thread = arith::IndexCastUIOp::create(
      builder, loc, i32,
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));

  std::string name = (function.getName() + "_shared").str();
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    LLVM::GlobalOp::create(builder, loc, bytes, /*isConstant=*/false,
                           LLVM::Linkage::External, name, Attribute(),
                           kSharedAlignment, kSharedSpace);
  }
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  shared = LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

Value AttentionBlock::getArgument(Value operand) {
  if (!operand)
    return {};
  for (OpOperand &each : op->getOpOperands())
    if (each.get() == operand)
      return function.getArgument(each.getOperandNumber());
  llvm_unreachable("expects an operand of the step");
}

MemRefType AttentionBlock::typeOf(Value argument) const {
  auto number = cast<BlockArgument>(argument).getArgNumber();
  return cast<MemRefType>(op->getOperand(number).getType());
}

int64_t AttentionBlock::getStride(Value argument, unsigned dim) const {
  MemRefType type = typeOf(argument);
  return step::Strides(type).strides[dim] *
         step::getElementBytes(type.getElementType());
}

void AttentionBlock::beginHead(Value block) {
  head = rem(block, heads);
  batch = div(block, heads);
  if (offset)
    begin = loadNumber(offset);
  limit = number(keys);
  if (lengths)
    limit = min(limit, loadNumber(lengths));
}

Value AttentionBlock::loadNumber(Value argument) {
  if (typeOf(argument).getRank() == 0)
    return load(i32, argument);
  return load(i32, locate(argument, {{batch, getStride(argument, 0)}}));
}

Value AttentionBlock::getHead(Value argument) {
  return locate(argument, {{batch, getStride(argument, 0)},
                           {head, getStride(argument, 2)}});
}

Value AttentionBlock::getRow(Value argument, Value row) {
  Value place =
      locate(getHead(argument), {{div(row, groups), getStride(argument, 1)}});
  return groups == 1
             ? place
             : locate(place, {{rem(row, groups), getStride(argument, 3)}});
}

Value AttentionBlock::getKey(Value argument, Value key) {
  return locate(getHead(argument), {{key, getStride(argument, 1)}});
}

Value AttentionBlock::getPosition(Value row) {
  Value position = div(row, groups);
  return begin ? add(position, begin) : position;
}

Value AttentionBlock::isMasked(Value row, Value key) {
  // The row or the key may be out of bounds, so clamp both.
  row = div(min(row, number(rows - 1)), groups);
  key = min(key, number(keys - 1));
  Value place = locate(mask, {{batch, getStride(mask, 0)},
                              {row, getStride(mask, 1)},
                              {key, getStride(mask, 2)}});
  Value byte = load(builder.getI8Type(), place);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, byte,
                               zero);
}

Value AttentionBlock::hide(Value score, Value row, Value position, Value key) {
  Value seen = less(key, limit);
  if (op.getCausal())
    seen = both(seen, atMost(key, position));
  if (window)
    seen = both(seen, less(sub(position, key), number(*window)));
  Value hidden = real(-std::numeric_limits<double>::infinity());
  score = select(seen, score, hidden);
  return mask ? select(isMasked(row, key), hidden, score) : score;
}

Value AttentionBlock::getScale() {
  return real(op.getScale().convertToDouble() * kLog2E);
}
