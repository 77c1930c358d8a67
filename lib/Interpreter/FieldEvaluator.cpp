// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Floats as residues, for proofs.

#include "tpopt/Interpreter/FieldEvaluator.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace tp;

/// Integers that floats may stand for: larger ones are taken for random.
static constexpr int64_t kLargestInteger = int64_t(1) << 40;

std::string FieldEvaluator::print(Element value, mlir::Type elementType) {
  if (!isa<FloatType>(elementType))
    return DenseEvaluator::print(value, elementType);
  if (value.residue == kNaN)
    return "nan";
  if (!isFinite(value))
    return value.residue == kInfinity ? "inf" : "-inf";
  int64_t number = field::toSigned(value.residue);
  if (std::abs(number) <= kLargestInteger)
    return std::to_string(number);
  return "#" + llvm::utohexstr(value.residue, /*LowerCase=*/true);
}

Element FieldEvaluator::getGarbage(uint64_t salt, mlir::Type elementType) {
  // Padding may hold what no factor of zero takes away; and residues, never
  // from the stream that data is drawn from, as NaN is lost in comparisons.
  if (isa<FloatType>(elementType))
    return make(salt % 2 ? kNaN : field::draw(~key, salt));
  return DenseEvaluator::getGarbage(salt, elementType);
}

Element FieldEvaluator::fromAPFloat(const llvm::APFloat &value) {
  if (value.isNaN())
    return make(kNaN);
  // Of a type without infinities the largest number is the end of its order.
  bool isEnd = value.isLargest() &&
               !llvm::APFloat::semanticsHasInf(value.getSemantics());
  if (value.isInfinity() || isEnd)
    return make(value.isNegative() ? kMinusInfinity : kInfinity);
  int exponent;
  double fraction = std::frexp(value.convertToDouble(), &exponent);
  int64_t mantissa = int64_t(std::ldexp(fraction, 53));
  return make(field::scale(field::fromSigned(mantissa), exponent - 53));
}

Element FieldEvaluator::fromInteger(int64_t value, bool isUnsigned) {
  return make(isUnsigned ? field::fromUnsigned(uint64_t(value))
                         : field::fromSigned(value));
}

int64_t FieldEvaluator::toInteger(Element value) {
  int64_t number = field::toSigned(value.residue);
  if (isFinite(value) && std::abs(number) <= kLargestInteger)
    return number;
  return int64_t(field::draw(key, value.residue) % 8);
}

uint64_t FieldEvaluator::toBits(Element value, FloatType) {
  return field::draw(key + 101, value.residue);
}

Element FieldEvaluator::fromBits(uint64_t bits, FloatType type) {
  // A sign-extended integer and its bits are one value.
  uint64_t low = bits & (~uint64_t(0) >> (64 - type.getWidth()));
  return make(field::draw(key + 102, low));
}

Element FieldEvaluator::negate(Element x) {
  if (isFinite(x))
    return make(field::negate(x.residue));
  if (x.residue == kNaN)
    return x;
  return make(x.residue == kInfinity ? kMinusInfinity : kInfinity);
}

Element FieldEvaluator::add(Element a, Element b) {
  if (isFinite(a) && isFinite(b))
    return make(field::add(a.residue, b.residue));
  if (isFinite(a) || isFinite(b))
    return isFinite(a) ? b : a;
  return a.residue == b.residue ? a : make(kNaN);
}

Element FieldEvaluator::unaryFloat(UnaryKind kind, Element x) {
  if (kind == UnaryKind::Neg)
    return negate(x);
  if (x.residue == kNaN)
    return x;
  if (kind == UnaryKind::Exp && x.residue == kMinusInfinity)
    return make(0);
  return make(field::draw(key + uint64_t(kind) + 1, x.residue));
}

Element FieldEvaluator::binaryFloat(BinaryKind kind, Element a, Element b) {
  bool isField = isFinite(a) && isFinite(b);
  switch (kind) {
  case BinaryKind::Add:
    return add(a, b);
  case BinaryKind::Sub:
    return add(a, negate(b));
  case BinaryKind::Mul:
    return make(isField ? field::multiply(a.residue, b.residue) : kNaN);
  case BinaryKind::Div:
    if (isFinite(a) && !isFinite(b) && b.residue != kNaN)
      return make(0);
    if (!isField || b.residue == 0)
      return make(kNaN);
    return make(field::multiply(a.residue, field::inverse(b.residue)));
  case BinaryKind::Max:
  case BinaryKind::Min: {
    std::optional<int> sign = order(a, b);
    if (!sign)
      return make(kNaN);
    return (*sign > 0) == (kind == BinaryKind::Max) ? a : b;
  }
  case BinaryKind::Pow:
  case BinaryKind::Rem:
  case BinaryKind::Atan2:
    if (a.residue == kNaN || b.residue == kNaN)
      return make(kNaN);
    return make(field::draw(~key - uint64_t(kind), a.residue, b.residue));
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    llvm_unreachable("the verifier allows this on integers only");
  }
  llvm_unreachable("covered switch");
}

std::optional<int> FieldEvaluator::order(Element a, Element b) {
  if (a.residue == kNaN || b.residue == kNaN)
    return std::nullopt;
  auto rank = [](Element x) {
    if (isFinite(x))
      return field::toSigned(x.residue);
    return x.residue == kInfinity ? INT64_MAX : INT64_MIN;
  };
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b);
}

void FieldEvaluator::multiplyAdd(const Element *a, const Element *b, Element *c,
                                 int64_t m, int64_t k, int64_t n) {
  auto allFinite = [](const Element *x, int64_t count) {
    return std::all_of(x, x + count, isFinite);
  };
  bool isField = allFinite(a, m * k) && allFinite(b, k * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Element &sum = c[i * n + j];
      for (int64_t p = 0; p < k; ++p) {
        Element x = a[i * k + p], y = b[p * n + j];
        sum = isField ? make(field::add(field::multiply(x.residue, y.residue),
                                        sum.residue))
                      : add(sum, binaryFloat(BinaryKind::Mul, x, y));
      }
    }
}
