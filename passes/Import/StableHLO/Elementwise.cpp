// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-wise operations.

#include "Conversion.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static Type elementOf(Value value) { return typeOf(value).getElementType(); }
static bool isBool(Value value) { return elementOf(value).isInteger(1); }

template <typename OpT> static Results convertUnary(Conversion &c) {
  return c.one(c.emit.unary<OpT>(c.in()));
}

template <typename OpT> static Results convertBinary(Conversion &c) {
  return c.one(c.emit.binary<OpT>(c.in(0), c.in(1)));
}

/// On booleans, sums and maxima are "or", products and minima "and".
template <typename OpT, typename BoolOpT>
static Results convertArithmetic(Conversion &c) {
  return isBool(c.in()) ? convertBinary<BoolOpT>(c) : convertBinary<OpT>(c);
}

static Results convertConvert(Conversion &c) {
  return c.one(c.emit.convert(c.in(), c.outElement()));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static IntegerType getBitsType(Type element) {
  return IntegerType::get(element.getContext(),
                          element.getIntOrFloatBitWidth());
}

/// Reinterprets wide elements as several narrow ones, or back, along a last
/// dimension. The lowest bits come first.
static Results convertBitcastShape(Conversion &c) {
  unsigned from = c.inType().getElementTypeBitWidth();
  unsigned to = c.outType().getElementTypeBitWidth();
  unsigned wide = std::max(from, to), narrow = std::min(from, to);
  bool splits = from > to;
  Sizes whole = splits ? c.inShape() : c.outShape();
  SmallVector<int64_t> parts(whole);
  parts.push_back(wide / narrow);
  if (wide % narrow || (splits ? c.outShape() : c.inShape()) != Sizes(parts))
    return c.invalid()
           << " between element types of different widths expects the tensor "
              "of narrower elements to have an additional last dimension for "
              "the parts of each wider element";
  Type wideType =
      IntegerType::get(c.op->getContext(), wide, IntegerType::Unsigned);
  Type narrowType =
      IntegerType::get(c.op->getContext(), narrow, IntegerType::Unsigned);
  unsigned last = whole.size();
  Value shifts = c.emit.binary<MulOp>(
      c.emit.iota(last, parts, wideType),
      c.emit.constant(narrow, RankedTensorType::get(parts, wideType)));
  if (splits) {
    Value x =
        c.emit.repeatAlong(c.emit.bitcast(c.in(), wideType), shifts, last);
    Value bits = c.emit.binary<ShiftRightLogicalOp>(x, shifts);
    return c.one(
        c.emit.bitcast(c.emit.convert(bits, narrowType), c.outElement()));
  }
  Value x = c.emit.convert(c.emit.bitcast(c.in(), narrowType), wideType);
  Value sum = c.emit.reduce(ReductionKind::Sum,
                            c.emit.binary<ShiftLeftOp>(x, shifts), last);
  return c.one(c.emit.bitcast(sum, c.outElement()));
}

static Results convertBitcast(Conversion &c) {
  if (c.inType().getElementTypeBitWidth() !=
      c.outType().getElementTypeBitWidth())
    return convertBitcastShape(c);
  return c.one(c.emit.bitcast(c.in(), c.outElement()));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Returns integers that are ordered in the way that IEEE 754 orders all
/// floats: -NaN, -inf, .., -0, 0, .., inf, NaN.
static Value emitTotalOrder(Emitter &emit, Value x) {
  Type bits = getBitsType(elementOf(x));
  Value signedBits = emit.bitcast(x, bits);
  Value zero = emit.constant(0, signedBits);
  // For negative numbers, all bits except the sign are inverted.
  unsigned width = bits.getIntOrFloatBitWidth();
  Value mask = emit.unary<NotOp>(emit.binary<ShiftLeftOp>(
      emit.constant(1, signedBits), emit.constant(width - 1, signedBits)));
  Value turned = emit.binary<XorOp>(signedBits, mask);
  return emit.select(emit.compare(ComparePredicate::LT, signedBits, zero),
                     turned, signedBits);
}

static Results convertCompare(Conversion &c) {
  auto predicate = llvm::StringSwitch<std::optional<ComparePredicate>>(
                       c.getWord("comparison_direction"))
                       .Case("EQ", ComparePredicate::EQ)
                       .Case("NE", ComparePredicate::NE)
                       .Case("LT", ComparePredicate::LT)
                       .Case("LE", ComparePredicate::LE)
                       .Case("GT", ComparePredicate::GT)
                       .Case("GE", ComparePredicate::GE)
                       .Default(std::nullopt);
  if (!predicate)
    return c.invalid() << " expects a `comparison_direction`";
  Value lhs = c.in(0), rhs = c.in(1);
  if (c.getWord("compare_type") == "TOTALORDER" &&
      isa<FloatType>(elementOf(lhs)) && lhs.getType() == rhs.getType()) {
    lhs = emitTotalOrder(c.emit, lhs);
    rhs = emitTotalOrder(c.emit, rhs);
  }
  return c.one(c.emit.compare(*predicate, lhs, rhs));
}

static Value splatIfScalar(Emitter &emit, Value x, Sizes shape) {
  bool isScalar = typeOf(x).getRank() == 0;
  return isScalar && !shape.empty() ? emit.splat(x, shape) : x;
}

static Results convertSelect(Conversion &c) {
  Value condition = splatIfScalar(c.emit, c.in(0), c.outShape());
  return c.one(c.emit.select(condition, c.in(1), c.in(2)));
}

static Results convertClamp(Conversion &c) {
  Value low = splatIfScalar(c.emit, c.in(0), c.outShape());
  Value high = splatIfScalar(c.emit, c.in(2), c.outShape());
  return c.one(c.emit.binary<MinOp>(c.emit.binary<MaxOp>(c.in(1), low), high));
}

/// True for numbers that are neither infinite nor NaN: comparing a NaN is
/// always false.
static Results convertIsFinite(Conversion &c) {
  if (!isa<FloatType>(elementOf(c.in())))
    return c.invalid() << " expects floats";
  Value size = c.emit.unary<AbsOp>(c.emit.widen(c.in()));
  return c.one(c.emit.compare(ComparePredicate::LT, size,
                              c.emit.constant(HUGE_VAL, size)));
}

//===----------------------------------------------------------------------===//
// Functions computed from other functions
//===----------------------------------------------------------------------===//

/// Rounds to the nearest integer, ties away from zero.
static Results convertRoundAway(Conversion &c) {
  Value x = c.in();
  Value size = c.emit.unary<AbsOp>(x);
  Value whole = c.emit.unary<FloorOp>(size);
  Value rest = c.emit.binary<SubOp>(size, whole);
  Value up =
      c.emit.compare(ComparePredicate::GE, rest, c.emit.constant(0.5, x));
  Value rounded = c.emit.select(
      up, c.emit.binary<AddOp>(whole, c.emit.constant(1, x)), whole);
  // A negative zero stays negative; NaN and infinities stay unchanged.
  Value negative =
      c.emit.compare(ComparePredicate::LT, x, c.emit.constant(0, x));
  Value result = c.emit.select(negative, c.emit.unary<NegOp>(rounded), rounded);
  Value isZero = c.emit.compare(ComparePredicate::EQ, x, c.emit.constant(0, x));
  return c.one(c.emit.select(isZero, x, result));
}

/// Rounds to `exponent` and `mantissa` bits as XLA does: to nearest, ties to
/// even. Numbers that are too large become infinite, and those that would be
/// denormal become zero.
static Value roundBits(Emitter &emit, Value x, int64_t exponent,
                       int64_t mantissa) {
  auto own = cast<FloatType>(typeOf(x).getElementType());
  int64_t width = own.getWidth(), ownMantissa = own.getFPMantissaWidth() - 1,
          ownExponent = width - 1 - ownMantissa;
  Value bits = emit.bitcast(x, IntegerType::get(x.getContext(), width));
  auto number = [&](int64_t n) { return emit.constant(double(n), bits); };
  auto left = [&](Value b, int64_t n) {
    return emit.binary<ShiftLeftOp>(b, number(n));
  };
  auto right = [&](Value b, int64_t n) {
    return emit.binary<ShiftRightLogicalOp>(b, number(n));
  };
  if (int64_t dropped = ownMantissa - mantissa; dropped > 0) {
    // Let the last kept bit be worth 2h. Adds h if it is 1, else h - 1.
    Value last = emit.binary<AndOp>(right(bits, dropped), number(1));
    Value bias =
        emit.binary<AddOp>(last, number((int64_t(1) << (dropped - 1)) - 1));
    bits = left(right(emit.binary<AddOp>(bits, bias), dropped), dropped);
  }
  if (exponent < ownExponent) {
    int64_t most = (int64_t(1) << ownExponent) - 1, bias = most / 2,
            reach = (int64_t(1) << (exponent - 1)) - 1;
    Value sign = left(right(bits, width - 1), width - 1);
    Value power = emit.binary<AndOp>(right(bits, ownMantissa), number(most));
    Value infinity = emit.binary<OrOp>(sign, left(number(most), ownMantissa));
    bits = emit.select(
        emit.compare(ComparePredicate::GT, power, number(bias + reach)),
        infinity, bits);
    bits = emit.select(
        emit.compare(ComparePredicate::LE, power, number(bias - reach)), sign,
        bits);
  }
  Value isNaN = emit.compare(ComparePredicate::NE, x, x);
  return emit.select(isNaN, x, emit.bitcast(bits, own));
}

static Results convertReducePrecision(Conversion &c) {
  FailureOr<int64_t> exponent = c.getInteger("exponent_bits"),
                     mantissa = c.getInteger("mantissa_bits");
  if (failed(exponent) || failed(mantissa))
    return failure();
  auto own = dyn_cast<FloatType>(c.outElement());
  if (!own || c.inType() != c.outType())
    return c.invalid() << " expects floats";
  if (*exponent < 1 || *mantissa < 0)
    return c.invalid() << " expects at least one bit for the exponent";
  if (!own.isF32() && !own.isF64() && !own.isF16() && !own.isBF16())
    return c.unsupported()
           << " of " << own
           << " is not supported: expects f64, f32, f16 or bf16";
  // The exponent has all bits other than those of sign and mantissa.
  int64_t ownMantissa = own.getFPMantissaWidth() - 1,
          ownExponent = own.getWidth() - 1 - ownMantissa;
  if (*mantissa >= ownMantissa && *exponent >= ownExponent)
    return c.one(c.in());
  // This is a conversion to bf16 and back, which later passes may be able to
  // optimise.
  if (own.isF32() && *exponent == 8 && *mantissa == 7)
    return c.one(
        c.emit.convert(c.emit.convert(c.in(), c.builder.getBF16Type()), own));
  return c.one(roundBits(c.emit, c.in(), *exponent, *mantissa));
}

static Results convertReal(Conversion &c) { return c.one(c.in()); }
static Results convertImag(Conversion &c) {
  return c.one(c.emit.constant(0, c.in()));
}

static Results convertSquare(Conversion &c) {
  return c.one(c.emit.binary<MulOp>(c.in(), c.in()));
}

/// For large x, computing e^x / 2 as e^(x/2) / 2 * e^(x/2) avoids early
/// overflow.
static Results convertHyperbolic(Conversion &c, bool isSine) {
  Value x = c.emit.widen(c.in());
  Value half = c.emit.constant(0.5, x);
  Value root =
      c.emit.unary<ExpOp>(c.emit.binary<MulOp>(c.emit.unary<AbsOp>(x), half));
  Value far = c.emit.binary<MulOp>(c.emit.binary<MulOp>(root, half), root);
  Value up = c.emit.unary<Expm1Op>(x);
  Value down = c.emit.unary<Expm1Op>(c.emit.unary<NegOp>(x));
  Value near;
  if (isSine) {
    near = c.emit.binary<MulOp>(half, c.emit.binary<SubOp>(up, down));
    far = c.emit.binary<MulOp>(c.emit.unary<SignOp>(x), far);
  } else {
    near = c.emit.binary<AddOp>(
        c.emit.constant(1, x),
        c.emit.binary<MulOp>(half, c.emit.binary<AddOp>(up, down)));
  }
  Value isFar = c.emit.compare(ComparePredicate::GT, c.emit.unary<AbsOp>(x),
                               c.emit.constant(20, x));
  return c.one(c.emit.convert(c.emit.select(isFar, far, near), c.outElement()));
}
static Results convertSinh(Conversion &c) { return convertHyperbolic(c, true); }
static Results convertCosh(Conversion &c) {
  return convertHyperbolic(c, false);
}

static Results convertAtan(Conversion &c) {
  return c.one(c.emit.binary<Atan2Op>(c.in(), c.emit.constant(1, c.in())));
}

/// Returns sqrt((1 - x) (1 + x)), the other leg of a right triangle with leg x
/// and hypotenuse 1.
static Value emitLeg(Emitter &emit, Value x) {
  Value one = emit.constant(1, x);
  return emit.unary<SqrtOp>(emit.binary<MulOp>(emit.binary<SubOp>(one, x),
                                               emit.binary<AddOp>(one, x)));
}
static Results convertAsin(Conversion &c) {
  return c.one(c.emit.binary<Atan2Op>(c.in(), emitLeg(c.emit, c.in())));
}
static Results convertAcos(Conversion &c) {
  return c.one(c.emit.binary<Atan2Op>(emitLeg(c.emit, c.in()), c.in()));
}

/// Compares x, or with `anySign` its absolute value, with `value`.
static Results convertIsInfinite(Conversion &c, bool anySign, double value) {
  if (!isa<FloatType>(elementOf(c.in())))
    return c.invalid() << " expects floats";
  Value x = c.emit.widen(c.in());
  x = anySign ? c.emit.unary<AbsOp>(x) : x;
  return c.one(
      c.emit.compare(ComparePredicate::EQ, x, c.emit.constant(value, x)));
}
static Results convertIsInf(Conversion &c) {
  return convertIsInfinite(c, true, HUGE_VAL);
}
static Results convertIsPosInf(Conversion &c) {
  return convertIsInfinite(c, false, HUGE_VAL);
}
static Results convertIsNegInf(Conversion &c) {
  return convertIsInfinite(c, false, -HUGE_VAL);
}

/// Applies a scalar region to the elements of tensors.
static Results convertMap(Conversion &c) {
  Operation *end = getReturn(c.op->getRegion(0));
  if (!end || end->getNumOperands() != 1)
    return c.invalid() << " expects a region that returns one value";
  FailureOr<SmallVector<Value>> results = inlineElementwise(
      c, c.op->getRegion(0), c.op->getOperands(), c.outShape());
  return results;
}

static constexpr Row kElementwiseRows[] = {
    {"stablehlo.abs", 1, 1, 0, convertUnary<AbsOp>},
    {"stablehlo.add", 2, 1, 0, convertArithmetic<AddOp, OrOp>},
    {"stablehlo.and", 2, 1, 0, convertBinary<AndOp>},
    {"stablehlo.atan2", 2, 1, 0, convertBinary<Atan2Op>},
    {"stablehlo.bitcast_convert", 1, 1, 0, convertBitcast},
    {"stablehlo.cbrt", 1, 1, 0, convertUnary<CbrtOp>},
    {"stablehlo.ceil", 1, 1, 0, convertUnary<CeilOp>},
    {"stablehlo.clamp", 3, 1, 0, convertClamp},
    {"stablehlo.compare", 2, 1, 0, convertCompare},
    {"stablehlo.convert", 1, 1, 0, convertConvert},
    {"stablehlo.cosine", 1, 1, 0, convertUnary<CosOp>},
    {"stablehlo.count_leading_zeros", 1, 1, 0,
     convertUnary<CountLeadingZerosOp>},
    {"stablehlo.divide", 2, 1, 0, convertBinary<DivOp>},
    {"stablehlo.exponential", 1, 1, 0, convertUnary<ExpOp>},
    {"stablehlo.exponential_minus_one", 1, 1, 0, convertUnary<Expm1Op>},
    {"stablehlo.floor", 1, 1, 0, convertUnary<FloorOp>},
    {"stablehlo.imag", 1, 1, 0, convertImag},
    {"stablehlo.is_finite", 1, 1, 0, convertIsFinite},
    {"stablehlo.log", 1, 1, 0, convertUnary<LogOp>},
    {"stablehlo.log_plus_one", 1, 1, 0, convertUnary<Log1pOp>},
    {"stablehlo.logistic", 1, 1, 0, convertUnary<LogisticOp>},
    {"stablehlo.map", -1, 1, 1, convertMap},
    {"stablehlo.maximum", 2, 1, 0, convertArithmetic<MaxOp, OrOp>},
    {"stablehlo.minimum", 2, 1, 0, convertArithmetic<MinOp, AndOp>},
    {"stablehlo.multiply", 2, 1, 0, convertArithmetic<MulOp, AndOp>},
    {"stablehlo.negate", 1, 1, 0, convertUnary<NegOp>},
    {"stablehlo.not", 1, 1, 0, convertUnary<NotOp>},
    {"stablehlo.or", 2, 1, 0, convertBinary<OrOp>},
    {"stablehlo.popcnt", 1, 1, 0, convertUnary<PopcountOp>},
    {"stablehlo.power", 2, 1, 0, convertBinary<PowOp>},
    {"stablehlo.real", 1, 1, 0, convertReal},
    {"stablehlo.reduce_precision", 1, 1, 0, convertReducePrecision},
    {"stablehlo.remainder", 2, 1, 0, convertBinary<RemOp>},
    {"stablehlo.round_nearest_afz", 1, 1, 0, convertRoundAway},
    {"stablehlo.round_nearest_even", 1, 1, 0, convertUnary<RoundEvenOp>},
    {"stablehlo.rsqrt", 1, 1, 0, convertUnary<RsqrtOp>},
    {"stablehlo.select", 3, 1, 0, convertSelect},
    {"stablehlo.shift_left", 2, 1, 0, convertBinary<ShiftLeftOp>},
    {"stablehlo.shift_right_arithmetic", 2, 1, 0,
     convertBinary<ShiftRightArithmeticOp>},
    {"stablehlo.shift_right_logical", 2, 1, 0,
     convertBinary<ShiftRightLogicalOp>},
    {"stablehlo.sign", 1, 1, 0, convertUnary<SignOp>},
    {"stablehlo.sine", 1, 1, 0, convertUnary<SinOp>},
    {"stablehlo.sqrt", 1, 1, 0, convertUnary<SqrtOp>},
    {"stablehlo.subtract", 2, 1, 0, convertBinary<SubOp>},
    {"stablehlo.tan", 1, 1, 0, convertUnary<TanOp>},
    {"stablehlo.tanh", 1, 1, 0, convertUnary<TanhOp>},
    {"stablehlo.xor", 2, 1, 0, convertBinary<XorOp>},
    {"chlo.acos", 1, 1, 0, convertAcos},
    {"chlo.asin", 1, 1, 0, convertAsin},
    {"chlo.atan", 1, 1, 0, convertAtan},
    {"chlo.conj", 1, 1, 0, convertReal},
    {"chlo.cosh", 1, 1, 0, convertCosh},
    {"chlo.erf", 1, 1, 0, convertUnary<ErfOp>},
    {"chlo.is_inf", 1, 1, 0, convertIsInf},
    {"chlo.is_neg_inf", 1, 1, 0, convertIsNegInf},
    {"chlo.is_pos_inf", 1, 1, 0, convertIsPosInf},
    {"chlo.sinh", 1, 1, 0, convertSinh},
    {"chlo.square", 1, 1, 0, convertSquare},
    {"chlo.tan", 1, 1, 0, convertUnary<TanOp>},
};

ArrayRef<Row> tp::stablehlo::getElementwiseRows() { return kElementwiseRows; }
