// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SortKeys.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

SortKeys::SortKeys(OpBuilder &builder, Location loc, Type element,
                   bool isDescending)
    : builder(builder), loc(loc), element(element),
      stored(builder.getIntegerType(8 * step::getElementBytes(element))),
      isDescending(isDescending) {}

Value SortKeys::number(const llvm::APInt &value) {
  auto type = builder.getIntegerType(value.getBitWidth());
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

/// Extends or truncates an unsigned number to `width` bits.
Value SortKeys::resize(Value value, unsigned width) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  Type type = builder.getIntegerType(width);
  if (from < width)
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (from > width)
    return arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

/// Maps a float's bits to an integer with the float's order. If the sign bit is
/// clear, the bits are already in order. If it is set, the bits are subtracted
/// from those of -0.0, which gives a negative number, or 0 for -0.0. NaN of
/// either sign comes after all numbers.
Value SortKeys::order(Value bits, FloatType type) {
  unsigned width = getWidth();
  Value negated = arith::SubIOp::create(
      builder, loc, number(llvm::APInt::getSignedMinValue(width)), bits);
  Value isNegative =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, bits,
                            number(llvm::APInt::getZero(width)));
  Value ordered =
      arith::SelectOp::create(builder, loc, isNegative, negated, bits);
  Value magnitude = arith::AndIOp::create(
      builder, loc, bits, number(llvm::APInt::getSignedMaxValue(width)));
  Value isNaN = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ugt, magnitude,
      number(llvm::APFloat::getInf(type.getFloatSemantics()).bitcastToAPInt()));
  return arith::SelectOp::create(builder, loc, isNaN,
                                 number(llvm::APInt::getSignedMaxValue(width)),
                                 ordered);
}

Value SortKeys::getKey(Value bits) {
  auto type = dyn_cast<FloatType>(element);
  if (type)
    bits = order(bits, type);
  llvm::APInt flips = llvm::APInt::getZero(getWidth());
  if (!element.isInteger(1) && !element.isUnsignedInteger())
    flips.setSignBit();
  if (isDescending)
    flips.flipAllBits();
  return arith::XOrIOp::create(builder, loc, bits, number(flips));
}

Value SortKeys::getWord(Value bits, Value index, int64_t width) {
  Value high =
      arith::ShLIOp::create(builder, loc, resize(getKey(bits), width),
                            number(llvm::APInt(width, width - getWidth())));
  return arith::OrIOp::create(builder, loc, high, resize(index, width));
}

Value SortKeys::getIndex(Value word) {
  unsigned width = word.getType().getIntOrFloatBitWidth();
  Value index = arith::AndIOp::create(
      builder, loc, word,
      number(llvm::APInt::getLowBitsSet(width, width - getWidth())));
  return resize(index, 64);
}
