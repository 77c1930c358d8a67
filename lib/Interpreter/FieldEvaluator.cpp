// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Evaluates ops in a prime field, for proofs: each float becomes an element of
// the field.

#include "lib/Interpreter/FieldEvaluator.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

template <typename Field>
std::string ResidueEvaluator<Field>::print(Element value,
                                           mlir::Type elementType) {
  if (!isa<FloatType>(elementType))
    return DenseEvaluator::print(value, elementType);
  if (value.residue == kNaN)
    return "nan";
  if (!isFinite(value))
    return value.residue == kInfinity ? "inf" : "-inf";
  int64_t number = Field::toSigned(value.residue);
  if (std::abs(number) <= Field::kLargestInteger)
    return std::to_string(number);
  return "#" + llvm::utohexstr(value.residue, /*LowerCase=*/true);
}

template <typename Field>
Element ResidueEvaluator<Field>::getGarbage(uint64_t salt,
                                            mlir::Type elementType) {
  if (!isa<FloatType>(elementType))
    return DenseEvaluator::getGarbage(salt, elementType);
  uint64_t random = scramble(salt);
  // Garbage is often the last or the first number in order, which is the result
  // of every maximum or of every minimum. NaN is the result of both, but
  // comparisons lose it. Other garbage is drawn with another key than the data.
  int64_t end = int64_t(Field::kPrime / 2) - int64_t(salt % 997);
  if (random & 1)
    return make(kNaN);
  switch (random >> 1 & 3) {
  case 0:
    return make(Field::fromSigned(end));
  case 1:
    return make(Field::fromSigned(-end));
  default:
    return make(Field::draw(~key, salt));
  }
}

template <typename Field>
Element ResidueEvaluator<Field>::fromAPFloat(const llvm::APFloat &value) {
  if (value.isNaN())
    return make(kNaN);
  // In a type without infinities, the largest number is treated as infinity.
  bool isEnd = value.isLargest() &&
               !llvm::APFloat::semanticsHasInf(value.getSemantics());
  if (value.isInfinity() || isEnd)
    return make(value.isNegative() ? kMinusInfinity : kInfinity);
  int exponent;
  double fraction = std::frexp(value.convertToDouble(), &exponent);
  int64_t mantissa = int64_t(std::ldexp(fraction, 53));
  return make(Field::scale(Field::fromSigned(mantissa), exponent - 53));
}

template <typename Field>
Element ResidueEvaluator<Field>::fromInteger(int64_t value, bool isUnsigned,
                                             FloatType) {
  return make(isUnsigned ? Field::fromUnsigned(uint64_t(value))
                         : Field::fromSigned(value));
}

template <typename Field>
int64_t ResidueEvaluator<Field>::toInteger(Element value,
                                           mlir::IntegerType type) {
  int64_t number = Field::toSigned(value.residue);
  if (!isFinite(value) || std::abs(number) > Field::kLargestInteger)
    number = int64_t(Field::draw(key, value.residue) % 8);
  return wrapInteger(number, type);
}

template <typename Field>
uint64_t ResidueEvaluator<Field>::toBits(Element value, FloatType) {
  return Field::draw(key + 101, value.residue);
}

template <typename Field>
Element ResidueEvaluator<Field>::fromBits(uint64_t bits, FloatType type) {
  // Use only the low bits, so that a sign extension does not change the value.
  uint64_t low = bits & (~uint64_t(0) >> (64 - type.getWidth()));
  return make(Field::draw(key + 102, low));
}

template <typename Field> Element ResidueEvaluator<Field>::negate(Element x) {
  if (isFinite(x))
    return make(Field::negate(x.residue));
  if (x.residue == kNaN)
    return x;
  return make(x.residue == kInfinity ? kMinusInfinity : kInfinity);
}

template <typename Field>
Element ResidueEvaluator<Field>::add(Element a, Element b) {
  if (isFinite(a) && isFinite(b))
    return make(Field::add(a.residue, b.residue));
  if (isFinite(a) || isFinite(b))
    return isFinite(a) ? b : a;
  return a.residue == b.residue ? a : make(kNaN);
}

template <typename Field>
Element ResidueEvaluator<Field>::unaryFloat(UnaryKind kind, Element x) {
  if (kind == UnaryKind::Neg)
    return negate(x);
  if (kind == UnaryKind::StopGradient)
    return x;
  if (x.residue == kNaN)
    return x;
  if (kind == UnaryKind::Exp && x.residue == kMinusInfinity)
    return make(0);
  uint64_t function = key + uint64_t(kind) + 1;
  return make(kind == UnaryKind::Exp && isFinite(x)
                  ? Field::exp(function, x.residue)
                  : Field::draw(function, x.residue));
}

template <typename Field>
Element ResidueEvaluator<Field>::binaryFloat(BinaryKind kind, Element a,
                                             Element b) {
  bool isField = isFinite(a) && isFinite(b);
  switch (kind) {
  case BinaryKind::Add:
    return add(a, b);
  case BinaryKind::Sub:
    return add(a, negate(b));
  case BinaryKind::Mul:
    return multiply(a, b);
  case BinaryKind::Div:
    if (isFinite(a) && !isFinite(b) && b.residue != kNaN)
      return make(0);
    if (!isField || Field::isZero(b.residue))
      return make(kNaN);
    return make(Field::multiply(a.residue, Field::inverse(b.residue)));
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
    return make(Field::draw(~key - uint64_t(kind), a.residue, b.residue));
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    llvm_unreachable("the verifier allows this op on integers only");
  }
  llvm_unreachable("covered switch");
}

template <typename Field>
void ResidueEvaluator<Field>::binaryFloats(BinaryKind kind, const Element *a,
                                           const Element *b, Element *out,
                                           int64_t count) {
  // Products are most of the work of a check, so they have a fast path.
  if (kind != BinaryKind::Mul)
    return DenseEvaluator::binaryFloats(kind, a, b, out, count);
  for (int64_t i = 0; i < count; ++i)
    out[i] = multiply(a[i], b[i]);
}

template <typename Field>
std::optional<int> ResidueEvaluator<Field>::order(Element a, Element b) {
  if (a.residue == kNaN || b.residue == kNaN)
    return std::nullopt;
  auto rank = [](Element x) {
    if (isFinite(x))
      return Field::toSigned(x.residue);
    return x.residue == kInfinity ? INT64_MAX : INT64_MIN;
  };
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b);
}

template <typename Field>
void ResidueEvaluator<Field>::multiplyAdd(const Element *a, const Element *b,
                                          Element *c, int64_t m, int64_t k,
                                          int64_t n) {
  auto allFinite = [](const Element *x, int64_t count) {
    return std::all_of(x, x + count, isFinite);
  };
  bool isField = allFinite(a, m * k) && allFinite(b, k * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Element &sum = c[i * n + j];
      for (int64_t p = 0; p < k; ++p) {
        Element x = a[i * k + p], y = b[p * n + j];
        sum = isField ? make(Field::add(Field::multiply(x.residue, y.residue),
                                        sum.residue))
                      : add(sum, multiply(x, y));
      }
    }
}

template class tp::interp::ResidueEvaluator<PrimeField>;
template class tp::interp::ResidueEvaluator<PrimePair>;
