// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Converts 8-bit floats by arithmetic on the bits of f32, since no code
// generator supports them.
//
// f8E4M3FN and f8E5M2 differ in three constants. Subnormal numbers are evenly
// spaced: each is an integer times the spacing. To convert an f32 to a
// subnormal number, we add an f32 whose last bit is worth that spacing. The low
// bits of the sum are then the integer, rounded as f32 rounds.

#include "ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace tp;

namespace {

/// Builds arithmetic on i32, and on the i1 of comparisons.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc, Type element)
      : builder(builder), loc(loc), i8(builder.getI8Type()),
        i32(builder.getI32Type()), f32(builder.getF32Type()),
        isFinite(isa<Float8E4M3FNType>(element)), mantissa(isFinite ? 3 : 2),
        bias(isFinite ? 7 : 15), element(element) {}

  Value widen(Value value) {
    Value bits = arith::ExtUIOp::create(builder, loc, i32, cast(value, i8));
    Value rest = both(bits, 0x7f);
    Value normal = add(shiftLeft(rest, 23 - mantissa), (127 - bias) << 23);
    Value count = arith::UIToFPOp::create(builder, loc, f32, rest);
    Value step = real(std::ldexp(1.0, 1 - bias - mantissa));
    Value small = cast(arith::MulFOp::create(builder, loc, count, step), i32);
    Value number = select(isAbove(rest, (1 << mantissa) - 1), normal, small);
    if (!isFinite)
      number = select(isAbove(rest, 0x7b), integer(0x7f800000), number);
    number = select(isAbove(rest, isFinite ? 0x7e : 0x7c), integer(0x7fc00000),
                    number);
    Value sign = shiftLeft(both(bits, 0x80), 24);
    return cast(either(number, sign), f32);
  }

  Value narrow(Value value) {
    Value bits = cast(value, i32), number = both(bits, 0x7fffffff);
    auto step = float(std::ldexp(1.0, 24 - bias - mantissa));
    Value sum =
        arith::AddFOp::create(builder, loc, cast(number, f32), real(step));
    Value small = add(cast(sum, i32), -int64_t(llvm::bit_cast<int32_t>(step)));
    // Round to nearest, ties to even.
    int64_t dropped = 23 - mantissa;
    Value shifted = add(number, -(int64_t(127 - bias) << 23));
    Value odd = both(shiftRight(shifted, dropped), 1);
    Value half = add(shifted, (int64_t(1) << (dropped - 1)) - 1);
    Value normal =
        shiftRight(arith::AddIOp::create(builder, loc, half, odd), dropped);
    Value rest =
        select(isAbove(number, (int64_t(128 - bias) << 23) - 1), normal, small);
    if (isFinite) {
      rest = select(isAbove(rest, 0x7e), integer(0x7f), rest);
    } else {
      rest = select(isAbove(rest, 0x7c), integer(0x7c), rest);
      rest = select(isAbove(number, 0x7f800000), integer(0x7e), rest);
    }
    Value sign = both(shiftRight(bits, 24), 0x80);
    Value byte = arith::TruncIOp::create(builder, loc, i8, either(rest, sign));
    return cast(byte, element);
  }

private:
  Value integer(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(int32_t(value)));
  }
  Value real(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(f32, value));
  }
  Value cast(Value value, Type type) {
    return arith::BitcastOp::create(builder, loc, type, value);
  }
  Value add(Value value, int64_t other) {
    return arith::AddIOp::create(builder, loc, value, integer(other));
  }
  Value both(Value value, int64_t mask) {
    return arith::AndIOp::create(builder, loc, value, integer(mask));
  }
  Value either(Value a, Value b) {
    return arith::OrIOp::create(builder, loc, a, b);
  }
  Value shiftLeft(Value value, int64_t by) {
    return arith::ShLIOp::create(builder, loc, value, integer(by));
  }
  Value shiftRight(Value value, int64_t by) {
    return arith::ShRUIOp::create(builder, loc, value, integer(by));
  }
  Value isAbove(Value value, int64_t bound) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, value,
                                 integer(bound));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }

  OpBuilder &builder;
  Location loc;
  Type i8, i32, f32;
  bool isFinite; ///< f8E4M3FN, which has no infinities.
  int64_t mantissa, bias;
  Type element;
};

} // namespace

bool tp::isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

Value tp::widenFloat8(OpBuilder &builder, Location loc, Value value) {
  return Bits(builder, loc, value.getType()).widen(value);
}

/// Narrows f64 to f32, setting the last bit if anything was dropped. Rounding
/// the result again then gives the same as rounding the f64 once.
static Value roundToOdd(OpBuilder &builder, Location loc, Value value) {
  Type i64 = builder.getI64Type();
  auto integer = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(number));
  };
  constexpr int64_t kept = -(int64_t(1) << 29), last = int64_t(1) << 29;
  Value bits = arith::BitcastOp::create(builder, loc, i64, value);
  Value dropped = arith::AndIOp::create(builder, loc, bits, integer(~kept));
  Value isExact = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        dropped, integer(0));
  Value rest =
      arith::SelectOp::create(builder, loc, isExact, integer(0), integer(last));
  bits = arith::AndIOp::create(builder, loc, bits, integer(kept));
  bits = arith::OrIOp::create(builder, loc, bits, rest);
  Value odd = arith::BitcastOp::create(builder, loc, value.getType(), bits);
  return arith::TruncFOp::create(builder, loc, builder.getF32Type(), odd);
}

Value tp::narrowFloat8(OpBuilder &builder, Location loc, Value value,
                       Type element) {
  if (value.getType().isF64())
    value = roundToOdd(builder, loc, value);
  return Bits(builder, loc, element).narrow(value);
}
