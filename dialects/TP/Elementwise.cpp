// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-wise ops, conversions and activations. The unary and binary ops get
// their methods from ElementwiseOps.td.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using spmd::Linearity;

Linearity tp::getLinearity(UnaryKind unary, ReduceKind kind) {
  switch (unary) {
  case UnaryKind::Neg:
    return kind == ReduceKind::Sum ? Linearity::Joint : Linearity::None;
  case UnaryKind::StopGradient:
    return Linearity::Joint;
  // A non-decreasing function f commutes with maxima: f(max(a, b)) = max(f(a),
  // f(b)). This is not used: reducing the operand before an element-wise op
  // costs as much as reducing the result, and verification replaces f by a
  // random function, which is not monotone.
  case UnaryKind::Sign:
  case UnaryKind::Exp:
  case UnaryKind::Expm1:
  case UnaryKind::Tanh:
  case UnaryKind::Erf:
  case UnaryKind::Logistic:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
  case UnaryKind::Abs:
  case UnaryKind::Log:
  case UnaryKind::Log1p:
  case UnaryKind::Sqrt:
  case UnaryKind::Rsqrt:
  case UnaryKind::Cbrt:
  case UnaryKind::Sin:
  case UnaryKind::Cos:
  case UnaryKind::Tan:
  case UnaryKind::Not:
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros:
    return Linearity::None;
  }
  llvm_unreachable("covered switch");
}

Linearity tp::getLinearity(BinaryKind binary, unsigned operand, ReduceKind kind,
                           Type type) {
  // Integer division truncates. Integer addition wraps around, so it does not
  // commute with a maximum: a device without data holds the smallest number,
  // and adding -1 to it gives the largest.
  bool isInteger = isIntegerTensor(type);
  if (isInteger && (binary == BinaryKind::Div || kind != ReduceKind::Sum) &&
      binary != BinaryKind::Max && binary != BinaryKind::Min)
    return Linearity::None;
  switch (binary) {
  case BinaryKind::Add:
    // max(a, b) + c = max(a + c, b + c), where c is not partial.
    return kind == ReduceKind::Sum ? Linearity::Joint : Linearity::Each;
  case BinaryKind::Sub:
    if (kind == ReduceKind::Sum)
      return Linearity::Joint;
    return operand == 0 ? Linearity::Each : Linearity::None;
  case BinaryKind::Mul:
    return kind == ReduceKind::Sum ? Linearity::Each : Linearity::None;
  case BinaryKind::Div:
    return kind == ReduceKind::Sum && operand == 0 ? Linearity::Each
                                                   : Linearity::None;
  case BinaryKind::Max:
    return kind == ReduceKind::Max ? Linearity::Joint : Linearity::None;
  case BinaryKind::Min:
    return kind == ReduceKind::Min ? Linearity::Joint : Linearity::None;
  case BinaryKind::Pow:
  case BinaryKind::Rem:
  case BinaryKind::Atan2:
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    return Linearity::None;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// CompareOp, SelectOp, ConvertOp, BitcastOp
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  if (typeOf(getLhs()).getElementType() != typeOf(getRhs()).getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "compares element types " << typeOf(getLhs()).getElementType()
           << " and " << typeOf(getRhs()).getElementType()
           << ", which differ; convert one of them";
  return success();
}

FailureOr<SmallVector<TensorValue>>
CompareOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.compare(getPredicate(), operands[0], operands[1], getType())};
}

LogicalResult SelectOp::verify() {
  if (typeOf(getOnTrue()).getElementType() != getType().getElementType() ||
      typeOf(getOnFalse()).getElementType() != getType().getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects on_true, on_false and the result to have the same "
              "element type";
  return success();
}

Linearity SelectOp::getLinearity(unsigned operand, ReduceKind) {
  return operand == 0 ? Linearity::None : Linearity::Joint;
}

FailureOr<SmallVector<TensorValue>>
SelectOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.select(operands[0], operands[1], operands[2], getType())};
}

Linearity ConvertOp::getLinearity(unsigned, ReduceKind kind) {
  auto from = dyn_cast<FloatType>(typeOf(getInput()).getElementType());
  auto to = dyn_cast<FloatType>(getType().getElementType());
  if (!from || !to)
    return Linearity::None;
  // Rounding is monotone, but a sum of rounded addends is not the rounded sum.
  bool widens = to.getFPMantissaWidth() >= from.getFPMantissaWidth() &&
                to.getWidth() >= from.getWidth();
  if (kind == ReduceKind::Sum)
    return widens ? Linearity::Joint : Linearity::None;
  // A device without data holds an infinity, so the result's type must have
  // infinities.
  return APFloat::semanticsHasInf(to.getFloatSemantics()) ? Linearity::Joint
                                                          : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
ConvertOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{evaluator.convert(operands[0], getType())};
}

LogicalResult BitcastOp::verify() {
  Type from = typeOf(getInput()).getElementType();
  Type to = getType().getElementType();
  if (from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "reads " << from << " as " << to
           << ", but the two types must have the same number of bits";
  return success();
}

FailureOr<SmallVector<TensorValue>>
BitcastOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{evaluator.bitcast(operands[0], getType())};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Value emitGelu(Emitter &emit, Value x, bool tanh) {
  Value half = emit.binary<MulOp>(x, emit.constant(0.5, x));
  Value one = emit.constant(1, x);
  Value phi;
  if (tanh) {
    // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    Value cube = emit.binary<MulOp>(emit.binary<MulOp>(x, x), x);
    Value inner = emit.binary<AddOp>(
        x, emit.binary<MulOp>(cube, emit.constant(0.044715, x)));
    phi = emit.unary<TanhOp>(emit.binary<MulOp>(
        inner, emit.constant(std::sqrt(2.0 / 3.14159265358979323846), x)));
  } else {
    phi = emit.unary<ErfOp>(
        emit.binary<MulOp>(x, emit.constant(std::sqrt(0.5), x)));
  }
  return emit.binary<MulOp>(half, emit.binary<AddOp>(one, phi));
}

static Value emitSilu(Emitter &emit, Value x) {
  return emit.binary<MulOp>(x, emit.unary<LogisticOp>(x));
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value y = emitGelu(emit, emit.widen(getInput()), getTanh());
  return {emit.convert(y, getType().getElementType())};
}

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value y = emitSilu(emit, emit.widen(getInput()));
  return {emit.convert(y, getType().getElementType())};
}

SmallVector<Value> ReluOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value x = getInput();
  return {emit.binary<MaxOp>(x, emit.constant(0, x))};
}

SmallVector<Value> GatedOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value gate = emit.widen(getGate());
  Value active;
  switch (getActivation()) {
  case Activation::Silu:
    active = emitSilu(emit, gate);
    break;
  case Activation::Gelu:
    active = emitGelu(emit, gate, /*tanh=*/false);
    break;
  case Activation::GeluTanh:
    active = emitGelu(emit, gate, /*tanh=*/true);
    break;
  case Activation::Relu:
    active = emit.unary<ReluOp>(gate);
    break;
  }
  Value y = emit.binary<MulOp>(active, emit.widen(getUp()));
  return {emit.convert(y, getType().getElementType())};
}
