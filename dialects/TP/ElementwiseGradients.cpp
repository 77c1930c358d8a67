// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of element-wise ops. At points where a function is not
// differentiable, the gradient is as in JAX: equal operands of a maximum get
// half of it each, and the gradient of |x| at 0 is 0.

#include "dialects/TP/Formulas.h"
#include "dialects/TP/ReverseMode.h"

#include <cmath>

using namespace mlir;
using namespace tp;

/// g times the derivative of y = f(x); null if that is zero.
static Value getUnaryGradient(UnaryKind unary, Value x, Value y, Value g,
                              Formulas f) {
  switch (unary) {
  case UnaryKind::Neg:
    return f.neg(g);
  case UnaryKind::Abs:
    return f.mul(g, f.unary<SignOp>(x));
  case UnaryKind::Exp:
    return f.mul(g, y);
  case UnaryKind::Expm1:
    return f.mul(g, f.add(y, f.constant(1, x)));
  case UnaryKind::Log:
    return f.div(g, x);
  case UnaryKind::Log1p:
    return f.div(g, f.add(x, f.constant(1, x)));
  case UnaryKind::Sqrt:
    return f.div(f.scale(g, 0.5), y);
  case UnaryKind::Rsqrt:
    return f.mul(g, f.div(f.scale(y, -0.5), x));
  case UnaryKind::Cbrt:
    return f.div(f.scale(g, 1.0 / 3), f.square(y));
  case UnaryKind::Sin:
    return f.mul(g, f.unary<CosOp>(x));
  case UnaryKind::Cos:
    return f.neg(f.mul(g, f.unary<SinOp>(x)));
  case UnaryKind::Tan:
    return f.mul(g, f.add(f.square(y), f.constant(1, x)));
  case UnaryKind::Tanh:
    return f.mul(g, f.complement(f.square(y)));
  case UnaryKind::Erf:
    return f.mul(f.scale(g, 2 / std::sqrt(M_PI)),
                 f.unary<ExpOp>(f.neg(f.square(x))));
  case UnaryKind::Logistic:
    return f.mul(g, f.mul(y, f.complement(y)));
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
  case UnaryKind::StopGradient:
  // Functions of integers have no gradient.
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
                                        reverse.getFormulas()))
    reverse.add(x, gradient);
}

/// The part of the gradient g that an operand of y, a maximum or minimum, gets:
/// all of g if only this operand equals y, half of g if both operands do.
static Value getChoiceGradient(Value operand, Value other, Value y, Value g,
                               Formulas f) {
  Value both = f.equal(operand, other);
  Value share = f.select(both, f.constant(0.5, y), f.constant(1, y));
  return f.mul(g, f.select(f.equal(operand, y), share, f.constant(0, y)));
}

namespace {

/// An element-wise function of two operands, for computing its gradients.
struct Binary {
  Value lhs, rhs, y, g;
  Formulas f;

  Value getPowGradient(unsigned operand);
  Value getGradient(BinaryKind binary, unsigned operand);
};

} // namespace

Value Binary::getPowGradient(unsigned operand) {
  Value zero = f.constant(0, y), one = f.constant(1, y);
  if (operand == 1) {
    // x^y log(x), which is taken to be 0 for x = 0.
    Value base = f.select(f.equal(lhs, zero), one, lhs);
    return f.mul(g, f.mul(f.unary<LogOp>(base), y));
  }
  // y x^(y - 1), which is 0 for y = 0 whatever x is.
  Value isConstant = f.equal(rhs, zero);
  Value exponent = f.select(isConstant, one, f.sub(rhs, one));
  Value slope = f.mul(rhs, f.binary<PowOp>(lhs, exponent));
  return f.mul(g, f.select(isConstant, zero, slope));
}

/// g times the derivative of y with respect to an operand; null if that is
/// zero.
Value Binary::getGradient(BinaryKind binary, unsigned operand) {
  switch (binary) {
  case BinaryKind::Add:
    return g;
  case BinaryKind::Sub:
    return operand == 0 ? g : f.neg(g);
  case BinaryKind::Mul:
    return f.mul(g, operand == 0 ? rhs : lhs);
  case BinaryKind::Div:
    return operand == 0 ? f.div(g, rhs) : f.neg(f.mul(g, f.div(y, rhs)));
  case BinaryKind::Max:
  case BinaryKind::Min:
    return operand == 0 ? getChoiceGradient(lhs, rhs, y, g, f)
                        : getChoiceGradient(rhs, lhs, y, g, f);
  case BinaryKind::Pow:
    return getPowGradient(operand);
  case BinaryKind::Rem: {
    if (operand == 0)
      return g;
    // The truncated quotient.
    Value quotient = f.div(lhs, rhs);
    Value whole = f.unary<FloorOp>(f.unary<AbsOp>(quotient));
    return f.neg(f.mul(g, f.mul(f.unary<SignOp>(quotient), whole)));
  }
  case BinaryKind::Atan2: {
    Value scaled = f.div(g, f.add(f.square(lhs), f.square(rhs)));
    return operand == 0 ? f.mul(scaled, rhs) : f.neg(f.mul(scaled, lhs));
  }
  // Functions of integers have no gradient.
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
                  reverse.getGradient(y), reverse.getFormulas()};
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
  // A bitcast is not a numeric function, so its gradient is 0, as in JAX.
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
