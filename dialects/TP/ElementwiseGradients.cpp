// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of element-wise ops. Where a function has a corner, the
// gradient is the one that JAX takes: equal maxima share it, and that of |x| at
// 0 is 0.

#include "dialects/TP/ReverseMode.h"

#include <cmath>

using namespace mlir;
using namespace tp;

namespace {

/// Arithmetic on tensors of one type.
class Arithmetic {
public:
  explicit Arithmetic(Emitter emit, Value like) : emit(emit), like(like) {}

  Value mul(Value a, Value b) { return emit.binary<MulOp>(a, b); }
  Value mul(Value a, double b) { return mul(a, number(b)); }
  Value div(Value a, Value b) { return emit.binary<DivOp>(a, b); }
  Value add(Value a, Value b) { return emit.binary<AddOp>(a, b); }
  Value sub(Value a, Value b) { return emit.binary<SubOp>(a, b); }
  Value neg(Value a) { return emit.unary<NegOp>(a); }
  Value square(Value a) { return mul(a, a); }
  Value number(double value) { return emit.constant(value, like); }
  /// 1 - a.
  Value complement(Value a) { return sub(number(1), a); }
  Value equal(Value a, Value b) {
    return emit.compare(ComparePredicate::EQ, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return emit.select(condition, a, b);
  }

private:
  Emitter emit;
  Value like;
};

} // namespace

/// g times the derivative of y = f(x); null if that is zero.
static Value getUnaryGradient(UnaryKind unary, Value x, Value y, Value g,
                              Emitter emit) {
  Arithmetic a(emit, x);
  switch (unary) {
  case UnaryKind::Neg:
    return a.neg(g);
  case UnaryKind::Abs:
    return a.mul(g, emit.unary<SignOp>(x));
  case UnaryKind::Exp:
    return a.mul(g, y);
  case UnaryKind::Expm1:
    return a.mul(g, a.add(y, a.number(1)));
  case UnaryKind::Log:
    return a.div(g, x);
  case UnaryKind::Log1p:
    return a.div(g, a.add(x, a.number(1)));
  case UnaryKind::Sqrt:
    return a.div(a.mul(g, 0.5), y);
  case UnaryKind::Rsqrt:
    return a.mul(g, a.div(a.mul(y, -0.5), x));
  case UnaryKind::Cbrt:
    return a.div(a.mul(g, 1.0 / 3), a.square(y));
  case UnaryKind::Sin:
    return a.mul(g, emit.unary<CosOp>(x));
  case UnaryKind::Cos:
    return a.neg(a.mul(g, emit.unary<SinOp>(x)));
  case UnaryKind::Tan:
    return a.mul(g, a.add(a.square(y), a.number(1)));
  case UnaryKind::Tanh:
    return a.mul(g, a.complement(a.square(y)));
  case UnaryKind::Erf:
    return a.mul(a.mul(g, 2 / std::sqrt(M_PI)),
                 emit.unary<ExpOp>(a.neg(a.square(x))));
  case UnaryKind::Logistic:
    return a.mul(g, a.mul(y, a.complement(y)));
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
  // Functions of integers.
  case UnaryKind::Not:
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros:
    return {};
  }
  llvm_unreachable("covered switch");
}

void tp::addUnaryGradient(UnaryKind unary, Operation *op,
                          ReverseMode &reverse) {
  Value x = op->getOperand(0), y = op->getResult(0);
  if (Value gradient = getUnaryGradient(unary, x, y, reverse.getGradient(y),
                                        reverse.getEmitter()))
    reverse.add(x, gradient);
}

/// The share of g that an operand of a maximum or minimum y has: all of it
/// where the operand is y, half where the other one is so too.
static Value getChoiceGradient(Value operand, Value other, Value y, Value g,
                               Emitter emit) {
  Arithmetic a(emit, y);
  Value both = a.equal(operand, other);
  Value share = a.select(both, a.number(0.5), a.number(1));
  return a.mul(g, a.select(a.equal(operand, y), share, a.number(0)));
}

namespace {

/// One element-wise function of two operands, as its gradients see it.
struct Binary {
  Value lhs, rhs, y, g;
  Emitter emit;

  Value getPowGradient(unsigned operand);
  Value getGradient(BinaryKind binary, unsigned operand);
};

} // namespace

Value Binary::getPowGradient(unsigned operand) {
  Arithmetic a(emit, y);
  Value zero = a.number(0), one = a.number(1);
  if (operand == 1) {
    // x^y log(x), where 0^y is 0.
    Value base = a.select(a.equal(lhs, zero), one, lhs);
    return a.mul(g, a.mul(emit.unary<LogOp>(base), y));
  }
  // y x^(y - 1), which is 0 for y = 0 whatever x is.
  Value isConstant = a.equal(rhs, zero);
  Value exponent = a.select(isConstant, one, a.sub(rhs, one));
  Value slope = a.mul(rhs, emit.binary<PowOp>(lhs, exponent));
  return a.mul(g, a.select(isConstant, zero, slope));
}

/// g times the derivative of y by an operand; null if that is zero.
Value Binary::getGradient(BinaryKind binary, unsigned operand) {
  Arithmetic a(emit, y);
  switch (binary) {
  case BinaryKind::Add:
    return g;
  case BinaryKind::Sub:
    return operand == 0 ? g : a.neg(g);
  case BinaryKind::Mul:
    return a.mul(g, operand == 0 ? rhs : lhs);
  case BinaryKind::Div:
    return operand == 0 ? a.div(g, rhs) : a.neg(a.mul(g, a.div(y, rhs)));
  case BinaryKind::Max:
  case BinaryKind::Min:
    return operand == 0 ? getChoiceGradient(lhs, rhs, y, g, emit)
                        : getChoiceGradient(rhs, lhs, y, g, emit);
  case BinaryKind::Pow:
    return getPowGradient(operand);
  case BinaryKind::Rem: {
    if (operand == 0)
      return g;
    // The truncated quotient.
    Value quotient = a.div(lhs, rhs);
    Value whole = emit.unary<FloorOp>(emit.unary<AbsOp>(quotient));
    return a.neg(a.mul(g, a.mul(emit.unary<SignOp>(quotient), whole)));
  }
  case BinaryKind::Atan2: {
    Value scaled = a.div(g, a.add(a.square(lhs), a.square(rhs)));
    return operand == 0 ? a.mul(scaled, rhs) : a.neg(a.mul(scaled, lhs));
  }
  // Functions of integers.
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    return {};
  }
  llvm_unreachable("covered switch");
}

void tp::addBinaryGradients(BinaryKind binary, Operation *op,
                            ReverseMode &reverse) {
  Value y = op->getResult(0);
  Binary function{op->getOperand(0), op->getOperand(1), y,
                  reverse.getGradient(y), reverse.getEmitter()};
  for (OpOperand &operand : op->getOpOperands())
    if (reverse.isWanted(operand.get()))
      if (Value gradient =
              function.getGradient(binary, operand.getOperandNumber()))
        reverse.add(operand.get(), gradient);
}

LogicalResult SelectOp::addGradients(ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(getResult());
  Value zero = emit.constant(0, g);
  if (reverse.isWanted(getOnTrue()))
    reverse.add(getOnTrue(), emit.select(getCondition(), g, zero));
  if (reverse.isWanted(getOnFalse()))
    reverse.add(getOnFalse(), emit.select(getCondition(), zero, g));
  return success();
}

LogicalResult ConvertOp::addGradients(ReverseMode &reverse) {
  reverse.add(getInput(), reverse.getEmitter().convert(
                              reverse.getGradient(getResult()),
                              getInput().getType().getElementType()));
  return success();
}

LogicalResult BitcastOp::addGradients(ReverseMode &) {
  // Bits are no function of numbers: as in JAX, their gradient is 0.
  return success();
}

LogicalResult ReluOp::addGradients(ReverseMode &reverse) {
  Emitter emit = reverse.getEmitter();
  Value g = reverse.getGradient(getResult());
  Value zero = emit.constant(0, g);
  Value isPositive = emit.compare(ComparePredicate::GT, getInput(), zero);
  reverse.add(getInput(), emit.select(isPositive, g, zero));
  return success();
}
