// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tp;

static Type getElement(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

Type tp::getComputeType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

Value tp::widenScalar(OpBuilder &builder, Location loc, Value value,
                      Type element) {
  Type type = getComputeType(element);
  if (isa<IntegerType>(element) || value.getType() == type)
    return value;
  if (isFloat8(element))
    return widenFloat8(builder, loc, value);
  return arith::ExtFOp::create(builder, loc, type, value);
}

Value tp::narrowScalar(OpBuilder &builder, Location loc, Value value,
                       Type element) {
  if (isa<IntegerType>(element) || value.getType() == element)
    return value;
  if (isFloat8(element))
    return narrowFloat8(builder, loc, value, element);
  return arith::TruncFOp::create(builder, loc, element, value);
}

Value tp::createScalar(OpBuilder &builder, Location loc, double value,
                       Type element) {
  Type type = getComputeType(element);
  TypedAttr attribute;
  if (isa<FloatType>(type))
    attribute = builder.getFloatAttr(type, value);
  else
    attribute = builder.getIntegerAttr(
        type, APInt(type.getIntOrFloatBitWidth(), int64_t(value),
                    /*isSigned=*/true, /*implicitTrunc=*/true));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value tp::createScalar(OpBuilder &builder, Location loc, Attribute value,
                       Type element) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return createScalar(builder, loc, number.getValueAsDouble(), element);
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(getComputeType(element),
                             cast<IntegerAttr>(value).getValue()));
}

bool tp::isScalarOp(Operation *op) {
  return isa_and_present<TPDialect>(op->getDialect()) &&
         op->hasTrait<Elementwise>() && op->getNumResults() == 1;
}

namespace {

/// Builds the scalar form of one op.
class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Operation *op, ValueRange operands)
      : builder(builder), loc(op->getLoc()), operands(operands),
        element(getElement(op->getOperand(op->getNumOperands() - 1))),
        type(getComputeType(element)), isFloat(isa<FloatType>(type)),
        isUnsigned(element.isUnsignedInteger() || element.isInteger(1)) {}

  Value unary(UnaryKind kind);
  Value binary(BinaryKind kind);
  Value compare(ComparePredicate predicate);
  Value convert(Type to);
  Value bitcast(Type to);

private:
  Value truncate(IntegerType to);
  Value number(double value) {
    return createScalar(builder, loc, value, element);
  }
  template <typename OpT> Value op(ValueRange values) {
    return OpT::create(builder, loc, values).getResult();
  }
  Value compareFloat(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compareInteger(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value unaryInteger(UnaryKind kind);
  Value binaryInteger(BinaryKind kind);
  Value divide(bool remainder);
  Value shift(BinaryKind kind);
  Value integerPower();

  OpBuilder &builder;
  Location loc;
  ValueRange operands;
  Type element, type; ///< Type of the last operand: stored, computed.
  bool isFloat, isUnsigned;
};

} // namespace

Value ScalarBuilder::unaryInteger(UnaryKind kind) {
  Value x = operands[0], zero = number(0);
  auto isNegative = [&] {
    return compareInteger(arith::CmpIPredicate::slt, x, zero);
  };
  switch (kind) {
  case UnaryKind::Neg:
    return op<arith::SubIOp>({zero, x});
  case UnaryKind::Abs:
    return isUnsigned ? x
                      : select(isNegative(), op<arith::SubIOp>({zero, x}), x);
  case UnaryKind::Sign: {
    Value isZero = compareInteger(arith::CmpIPredicate::eq, x, zero);
    Value sign = number(1);
    if (!isUnsigned)
      sign = select(isNegative(), number(-1), sign);
    return select(isZero, zero, sign);
  }
  case UnaryKind::Not:
    return op<arith::XOrIOp>({x, number(-1)});
  case UnaryKind::Popcount:
    return op<math::CtPopOp>(x);
  case UnaryKind::CountLeadingZeros:
    return op<math::CountLeadingZerosOp>(x);
  default:
    return {};
  }
}

Value ScalarBuilder::unary(UnaryKind kind) {
  if (!isFloat)
    return unaryInteger(kind);
  Value x = operands[0];
  switch (kind) {
  case UnaryKind::Neg:
    return op<arith::NegFOp>(x);
  case UnaryKind::Abs:
    return op<math::AbsFOp>(x);
  case UnaryKind::Sign: {
    Value zero = number(0);
    Value isOrdered =
        compareFloat(arith::CmpFPredicate::ONE, x, zero); // not zero, not NaN
    return select(isOrdered, op<math::CopySignOp>({number(1), x}), x);
  }
  case UnaryKind::Exp:
    return op<math::ExpOp>(x);
  case UnaryKind::Expm1:
    return op<math::ExpM1Op>(x);
  case UnaryKind::Log:
    return op<math::LogOp>(x);
  case UnaryKind::Log1p:
    return op<math::Log1pOp>(x);
  case UnaryKind::Sqrt:
    return op<math::SqrtOp>(x);
  case UnaryKind::Rsqrt:
    return op<arith::DivFOp>({number(1), op<math::SqrtOp>(x)});
  case UnaryKind::Cbrt:
    return op<math::CbrtOp>(x);
  case UnaryKind::Sin:
    return op<math::SinOp>(x);
  case UnaryKind::Cos:
    return op<math::CosOp>(x);
  case UnaryKind::Tan:
    return op<math::TanOp>(x);
  case UnaryKind::Tanh:
    return op<math::TanhOp>(x);
  case UnaryKind::Erf:
    return op<math::ErfOp>(x);
  case UnaryKind::Logistic: {
    Value one = number(1);
    Value exp = op<math::ExpOp>(op<arith::NegFOp>(x));
    return op<arith::DivFOp>({one, op<arith::AddFOp>({one, exp})});
  }
  case UnaryKind::Floor:
    return op<math::FloorOp>(x);
  case UnaryKind::Ceil:
    return op<math::CeilOp>(x);
  case UnaryKind::RoundEven:
    return op<math::RoundEvenOp>(x);
  case UnaryKind::StopGradient:
    return x;
  case UnaryKind::Not:
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros:
    return {};
  }
  llvm_unreachable("covered switch");
}

/// Division traps on 0, and on the smallest integer divided by -1. Here x / 0
/// is -1 with remainder x, and x / -1 is -x with remainder 0, as StableHLO
/// defines.
Value ScalarBuilder::divide(bool remainder) {
  Value a = operands[0], b = operands[1];
  Value zero = number(0), one = number(1), minusOne = number(-1);
  Value isZero = compareInteger(arith::CmpIPredicate::eq, b, zero);
  if (isUnsigned) {
    Value safe = select(isZero, one, b);
    return remainder ? select(isZero, a, op<arith::RemUIOp>({a, safe}))
                     : select(isZero, minusOne, op<arith::DivUIOp>({a, safe}));
  }
  Value isMinusOne = compareInteger(arith::CmpIPredicate::eq, b, minusOne);
  Value safe = select(op<arith::OrIOp>({isZero, isMinusOne}), one, b);
  if (remainder)
    return select(isZero, a,
                  select(isMinusOne, zero, op<arith::RemSIOp>({a, safe})));
  return select(isZero, minusOne,
                select(isMinusOne, op<arith::SubIOp>({zero, a}),
                       op<arith::DivSIOp>({a, safe})));
}

/// Shifting by the width or more is undefined in LLVM; here all bits are
/// shifted out.
Value ScalarBuilder::shift(BinaryKind kind) {
  Value x = operands[0], by = operands[1];
  unsigned width = type.getIntOrFloatBitWidth();
  Value last = number(width - 1);
  Value inside = compareInteger(arith::CmpIPredicate::ule, by, last);
  if (kind == BinaryKind::ShiftRightArithmetic)
    return op<arith::ShRSIOp>({x, select(inside, by, last)});
  Value safe = select(inside, by, number(0));
  Value shifted = kind == BinaryKind::ShiftLeft ? op<arith::ShLIOp>({x, safe})
                                                : op<arith::ShRUIOp>({x, safe});
  return select(inside, shifted, number(0));
}

/// Computes the power by repeated squaring, modulo 2^width. With a negative
/// exponent it is 1 / base^n, truncated.
Value ScalarBuilder::integerPower() {
  Value base = operands[0], exponent = operands[1], one = number(1);
  Value power = one, square = base;
  auto isOdd = [&](Value x) {
    return compareInteger(arith::CmpIPredicate::ne, op<arith::AndIOp>({x, one}),
                          number(0));
  };
  unsigned width = type.getIntOrFloatBitWidth();
  for (unsigned bit = 0; bit < width; ++bit) {
    Value rest = op<arith::ShRUIOp>({exponent, number(bit)});
    power = select(isOdd(rest), op<arith::MulIOp>({power, square}), power);
    if (bit + 1 < width)
      square = op<arith::MulIOp>({square, square});
  }
  if (isUnsigned)
    return power;
  Value isUnit =
      compareInteger(arith::CmpIPredicate::ule, op<arith::AddIOp>({base, one}),
                     number(2)); // -1, 0, 1
  Value isZero = compareInteger(arith::CmpIPredicate::eq, base, number(0));
  Value ofUnit = select(isOdd(exponent), base, op<arith::MulIOp>({base, base}));
  Value inverse = select(isUnit, select(isZero, base, ofUnit), number(0));
  Value isNegative =
      compareInteger(arith::CmpIPredicate::slt, exponent, number(0));
  return select(isNegative, inverse, power);
}

Value ScalarBuilder::binaryInteger(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
    return op<arith::AddIOp>(operands);
  case BinaryKind::Sub:
    return op<arith::SubIOp>(operands);
  case BinaryKind::Mul:
    return op<arith::MulIOp>(operands);
  case BinaryKind::Div:
    return divide(/*remainder=*/false);
  case BinaryKind::Rem:
    return divide(/*remainder=*/true);
  case BinaryKind::Max:
    return isUnsigned ? op<arith::MaxUIOp>(operands)
                      : op<arith::MaxSIOp>(operands);
  case BinaryKind::Min:
    return isUnsigned ? op<arith::MinUIOp>(operands)
                      : op<arith::MinSIOp>(operands);
  case BinaryKind::And:
    return op<arith::AndIOp>(operands);
  case BinaryKind::Or:
    return op<arith::OrIOp>(operands);
  case BinaryKind::Xor:
    return op<arith::XOrIOp>(operands);
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    return shift(kind);
  case BinaryKind::Pow:
    return integerPower();
  case BinaryKind::Atan2:
    break; // floats only
  }
  llvm_unreachable("covered switch");
}

Value ScalarBuilder::binary(BinaryKind kind) {
  if (!isFloat)
    return binaryInteger(kind);
  switch (kind) {
  case BinaryKind::Add:
    return op<arith::AddFOp>(operands);
  case BinaryKind::Sub:
    return op<arith::SubFOp>(operands);
  case BinaryKind::Mul:
    return op<arith::MulFOp>(operands);
  case BinaryKind::Div:
    return op<arith::DivFOp>(operands);
  case BinaryKind::Max:
    return op<arith::MaximumFOp>(operands);
  case BinaryKind::Min:
    return op<arith::MinimumFOp>(operands);
  case BinaryKind::Pow:
    return op<math::PowFOp>(operands);
  case BinaryKind::Rem:
    return op<arith::RemFOp>(operands);
  case BinaryKind::Atan2:
    return op<math::Atan2Op>(operands);
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

Value ScalarBuilder::compare(ComparePredicate predicate) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  struct Row {
    F floating;
    I isSigned, isUnsigned;
  };
  // One row for each ComparePredicate, in the order of the enum.
  static constexpr Row rows[] = {
      {F::OEQ, I::eq, I::eq},   {F::UNE, I::ne, I::ne},
      {F::OLT, I::slt, I::ult}, {F::OLE, I::sle, I::ule},
      {F::OGT, I::sgt, I::ugt}, {F::OGE, I::sge, I::uge}};
  const Row &row = rows[unsigned(predicate)];
  if (isFloat)
    return compareFloat(row.floating, operands[0], operands[1]);
  return compareInteger(isUnsigned ? row.isUnsigned : row.isSigned, operands[0],
                        operands[1]);
}

/// Truncates towards zero. Values out of range saturate, and NaN becomes 0. The
/// cast itself is undefined for such values, so it is applied only to values
/// that fit.
Value ScalarBuilder::truncate(IntegerType to) {
  using F = arith::CmpFPredicate;
  bool toUnsigned = to.isUnsigned();
  unsigned valueBits = to.getWidth() - !toUnsigned;
  Type target = getComputeType(to);
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(target, value));
  };
  // The limits are 0 or powers of two, so every float type holds them exactly.
  double past = std::ldexp(1.0, valueBits);
  Value least = number(toUnsigned ? 0 : -past), end = number(past);
  Value x = operands[0];
  Value notBelow = select(compareFloat(F::OGE, x, least), x, least);
  Value isAbove = compareFloat(F::OGE, notBelow, end);
  Value inside = select(isAbove, least, notBelow);
  Value result =
      toUnsigned
          ? arith::FPToUIOp::create(builder, loc, target, inside).getResult()
          : arith::FPToSIOp::create(builder, loc, target, inside).getResult();
  result = select(
      isAbove, integer(APInt::getLowBitsSet(to.getWidth(), valueBits)), result);
  if (toUnsigned) // NaN has been replaced by `least`, which is 0.
    return result;
  return select(compareFloat(F::UNO, x, x),
                integer(APInt::getZero(to.getWidth())), result);
}

Value ScalarBuilder::convert(Type to) {
  Value x = operands[0];
  Type target = getComputeType(to);
  if (to.isInteger(1))
    return isFloat ? compareFloat(arith::CmpFPredicate::UNE, x, number(0))
                   : compareInteger(arith::CmpIPredicate::ne, x, number(0));
  unsigned fromBits = type.getIntOrFloatBitWidth(),
           toBits = target.getIntOrFloatBitWidth();
  auto cast = [&](auto tag) -> Value {
    return decltype(tag)::create(builder, loc, target, x);
  };
  if (isFloat && isa<FloatType>(target)) {
    if (fromBits < toBits)
      x = cast(arith::ExtFOp());
    else if (fromBits > toBits && !isFloat8(to))
      x = cast(arith::TruncFOp());
    // Round here, although the value stays in a wider register.
    return widenScalar(builder, loc, narrowScalar(builder, loc, x, to), to);
  }
  if (isFloat)
    return truncate(llvm::cast<IntegerType>(to));
  if (isa<FloatType>(target)) {
    x = isUnsigned ? cast(arith::UIToFPOp()) : cast(arith::SIToFPOp());
    return widenScalar(builder, loc, narrowScalar(builder, loc, x, to), to);
  }
  if (fromBits == toBits)
    return x;
  if (fromBits > toBits)
    return cast(arith::TruncIOp());
  return isUnsigned ? cast(arith::ExtUIOp()) : cast(arith::ExtSIOp());
}

/// Narrow floats are computed in f32, but a bitcast is on the bits of the
/// stored type.
Value ScalarBuilder::bitcast(Type to) {
  Value x = narrowScalar(builder, loc, operands[0], element);
  Type stored = isa<FloatType>(to) ? to : getComputeType(to);
  if (x.getType() != stored)
    x = arith::BitcastOp::create(builder, loc, stored, x);
  return widenScalar(builder, loc, x, to);
}

/// The kind of `op` if it is one of `OpTs`.
template <typename Kind, typename... OpTs>
static std::optional<Kind> getKind(Operation *op) {
  std::optional<Kind> kind;
  ((isa<OpTs>(op) ? void(kind = OpTs::kKind) : void()), ...);
  return kind;
}

static constexpr auto getUnaryKind =
    getKind<UnaryKind, NegOp, AbsOp, SignOp, ExpOp, Expm1Op, LogOp, Log1pOp,
            SqrtOp, RsqrtOp, CbrtOp, SinOp, CosOp, TanOp, TanhOp, ErfOp,
            LogisticOp, FloorOp, CeilOp, RoundEvenOp, StopGradientOp, NotOp,
            PopcountOp, CountLeadingZerosOp>;
static constexpr auto getBinaryKind =
    getKind<BinaryKind, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, RemOp,
            Atan2Op, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightArithmeticOp,
            ShiftRightLogicalOp>;

Value tp::createScalarOp(OpBuilder &builder, Operation *op,
                         ValueRange operands) {
  ScalarBuilder scalar(builder, op, operands);
  if (std::optional<UnaryKind> kind = getUnaryKind(op))
    return scalar.unary(*kind);
  if (std::optional<BinaryKind> kind = getBinaryKind(op))
    return scalar.binary(*kind);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](CompareOp compare) {
        return scalar.compare(compare.getPredicate());
      })
      .Case([&](ConvertOp convert) {
        return scalar.convert(getElement(convert.getResult()));
      })
      .Case([&](BitcastOp bitcast) {
        return scalar.bitcast(getElement(bitcast.getResult()));
      })
      .Case([&](SelectOp select) -> Value {
        return arith::SelectOp::create(builder, op->getLoc(), operands[0],
                                       operands[1], operands[2]);
      })
      .Default(Value());
}
