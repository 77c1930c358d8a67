// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

GpuEmitter::GpuEmitter(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc), i32(builder.getI32Type()),
      i64(builder.getI64Type()), f32(builder.getF32Type()) {}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value GpuEmitter::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}
Value GpuEmitter::real(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}
Value GpuEmitter::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}
Value GpuEmitter::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}
Value GpuEmitter::mul(Value a, int64_t b) {
  return arith::MulIOp::create(builder, loc, a, number(b));
}
Value GpuEmitter::div(Value a, int64_t b) {
  return arith::DivUIOp::create(builder, loc, a, number(b));
}
Value GpuEmitter::rem(Value a, int64_t b) {
  return arith::RemUIOp::create(builder, loc, a, number(b));
}
Value GpuEmitter::min(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}
Value GpuEmitter::max(Value a, Value b) {
  return arith::MaxSIOp::create(builder, loc, a, b);
}
Value GpuEmitter::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}
Value GpuEmitter::atMost(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b);
}
Value GpuEmitter::both(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value GpuEmitter::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value GpuEmitter::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value GpuEmitter::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value GpuEmitter::maxF(Value a, Value b) {
  return arith::MaxNumFOp::create(builder, loc, a, b);
}
Value GpuEmitter::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}
Value GpuEmitter::exp2(Value a) {
  return math::Exp2Op::create(builder, loc, a, arith::FastMathFlags::afn);
}
Value GpuEmitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value GpuEmitter::shuffle(Value value, int32_t distance) {
  return gpu::ShuffleOp::create(builder, loc, value, distance, kWarp,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value GpuEmitter::at(Value base, Value distance) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>(distance));
}
Value GpuEmitter::at(Value base, int64_t distance) {
  return at(base, arith::ConstantOp::create(
                      builder, loc, builder.getI64IntegerAttr(distance)));
}
Value GpuEmitter::load(Type type, Value place) {
  int64_t bytes = step::getElementBytes(getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  return LLVM::LoadOp::create(builder, loc, type, place, bytes);
}
void GpuEmitter::store(Value value, Value place) {
  int64_t bytes = step::getElementBytes(getElementTypeOrSelf(value.getType()));
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    bytes *= vector.getNumElements();
  LLVM::StoreOp::create(builder, loc, value, place, bytes);
}
Value GpuEmitter::locate(Value base,
                         ArrayRef<std::pair<Value, int64_t>> steps) {
  Value place = base;
  for (auto [index, bytes] : steps) {
    Value wide = arith::ExtUIOp::create(builder, loc, i64, index);
    Value distance = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(bytes));
    place = at(place, arith::MulIOp::create(builder, loc, wide, distance));
  }
  return place;
}

void GpuEmitter::ifTrue(Value condition, llvm::function_ref<void()> emit) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  emit();
}
