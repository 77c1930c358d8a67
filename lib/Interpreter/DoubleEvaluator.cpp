// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Computes floats as doubles, for reference results.

#include "lib/Interpreter/DenseEvaluator.h"
#include "lib/Support/Random.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

double tp::interp::roundToType(double value, FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

Element DoubleEvaluator::round(Element value, FloatType type) {
  double x = value.real;
  // NaN compares unequal to itself and so clears the flag.
  if (exact && !std::isinf(x) &&
      (std::nearbyint(x) != x || std::abs(x) > 9007199254740992.0))
    exact = false;
  return rounding == Rounding::None ? value : makeReal(roundToType(x, type));
}

Element DoubleEvaluator::drawFloat(uint64_t number, int least, int greatest) {
  int exponent = least + int(scramble(number) % uint64_t(greatest - least + 1));
  double fraction = 1 + double(number >> 12) * 0x1p-52;
  return makeReal(std::ldexp(number & 1 ? -fraction : fraction, exponent));
}

Element NoisyEvaluator::round(Element value, FloatType type) {
  double x = value.real;
  if (std::isfinite(x) && std::nearbyint(x) != x) {
    // A random number from -1 to 1.
    double error =
        double(int64_t(scramble(scramble(key) ^ value.residue))) * 0x1p-63;
    double size = unit;
    if (addsRoundings) {
      const llvm::fltSemantics &format = type.getFloatSemantics();
      int digits = int(llvm::APFloat::semanticsPrecision(format));
      size = std::max(size, std::ldexp(1, 2 - digits));
      // Kernels may flush subnormal numbers to 0.
      double least =
          llvm::APFloat::getSmallestNormalized(format).convertToDouble();
      if (error < 0 && std::abs(x) < least)
        x = 0;
    }
    value = makeReal(x + x * size * error);
  }
  return DoubleEvaluator::round(value, type);
}

Element DoubleEvaluator::fromAPFloat(const llvm::APFloat &value) {
  return makeReal(value.convertToDouble());
}

Element DoubleEvaluator::fromInteger(int64_t value, bool isUnsigned,
                                     FloatType type) {
  // For types narrower than f32, the integer is first converted to f32, as in
  // XLA.
  if (rounding == Rounding::ToElementType && !type.isF64())
    return makeReal(isUnsigned ? float(uint64_t(value)) : float(value));
  return makeReal(isUnsigned ? double(uint64_t(value)) : double(value));
}

int64_t DoubleEvaluator::toInteger(Element value, IntegerType type) {
  // This saturates, and converts NaN to 0.
  llvm::APSInt integer(type.getWidth(), type.isUnsigned());
  bool isExact;
  llvm::APFloat(value.real)
      .convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
  return type.isUnsigned() ? int64_t(integer.getZExtValue())
                           : integer.getSExtValue();
}

uint64_t DoubleEvaluator::toBits(Element value, FloatType type) {
  llvm::APFloat number(value.real);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

Element DoubleEvaluator::fromBits(uint64_t bits, FloatType type) {
  llvm::APFloat number(type.getFloatSemantics(),
                       llvm::APInt(type.getWidth(), bits, /*isSigned=*/false,
                                   /*implicitTrunc=*/true));
  bool losesInfo;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return makeReal(number.convertToDouble());
}

Element DoubleEvaluator::unaryFloat(UnaryKind kind, Element element) {
  double x = element.real;
  switch (kind) {
  case UnaryKind::Neg:
    return makeReal(-x);
  case UnaryKind::Abs:
    return makeReal(std::abs(x));
  case UnaryKind::Sign:
    return makeReal(x > 0 ? 1 : x < 0 ? -1 : x);
  case UnaryKind::Exp:
    return makeReal(std::exp(x));
  case UnaryKind::Log:
    return makeReal(std::log(x));
  case UnaryKind::Log1p:
    return makeReal(std::log1p(x));
  case UnaryKind::Expm1:
    return makeReal(std::expm1(x));
  case UnaryKind::Sqrt:
    return makeReal(std::sqrt(x));
  case UnaryKind::Rsqrt:
    return makeReal(1 / std::sqrt(x));
  case UnaryKind::Cbrt:
    return makeReal(std::cbrt(x));
  case UnaryKind::Sin:
    return makeReal(std::sin(x));
  case UnaryKind::Cos:
    return makeReal(std::cos(x));
  case UnaryKind::Tan:
    return makeReal(std::tan(x));
  case UnaryKind::Tanh:
    return makeReal(std::tanh(x));
  case UnaryKind::Erf:
    return makeReal(std::erf(x));
  case UnaryKind::Logistic:
    return makeReal(1 / (1 + std::exp(-x)));
  case UnaryKind::Floor:
    return makeReal(std::floor(x));
  case UnaryKind::Ceil:
    return makeReal(std::ceil(x));
  case UnaryKind::RoundEven:
    return makeReal(std::nearbyint(x));
  case UnaryKind::StopGradient:
    return makeReal(x);
  case UnaryKind::Not:
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros:
    llvm_unreachable("the verifier allows this op on integers only");
  }
  llvm_unreachable("covered switch");
}

Element DoubleEvaluator::binaryFloat(BinaryKind kind, Element lhs,
                                     Element rhs) {
  double a = lhs.real, b = rhs.real;
  switch (kind) {
  case BinaryKind::Add:
    return makeReal(a + b);
  case BinaryKind::Sub:
    return makeReal(a - b);
  case BinaryKind::Mul:
    return makeReal(a * b);
  case BinaryKind::Div:
    return makeReal(a / b);
  // NaN is propagated.
  case BinaryKind::Max:
    return std::isnan(a) || a > b ? lhs : rhs;
  case BinaryKind::Min:
    return std::isnan(a) || a < b ? lhs : rhs;
  case BinaryKind::Pow:
    return makeReal(std::pow(a, b));
  case BinaryKind::Rem:
    return makeReal(std::fmod(a, b));
  case BinaryKind::Atan2:
    return makeReal(std::atan2(a, b));
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

std::optional<int> DoubleEvaluator::order(Element a, Element b) {
  if (std::isnan(a.real) || std::isnan(b.real))
    return std::nullopt;
  return a.real < b.real ? -1 : a.real > b.real;
}

void DoubleEvaluator::multiplyAdd(const Element *a, const Element *b,
                                  Element *c, int64_t m, int64_t k, int64_t n) {
  // A block of b stays in the first-level cache while all rows of a are
  // multiplied by it. For each element of c, the terms are still added in the
  // order of k.
  constexpr int64_t kBlock = 64;
  for (int64_t k0 = 0; k0 < k; k0 += kBlock)
    for (int64_t n0 = 0; n0 < n; n0 += kBlock)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = k0, pEnd = std::min(k, k0 + kBlock); p < pEnd; ++p) {
          double scale = a[i * k + p].real;
          for (int64_t j = n0, jEnd = std::min(n, n0 + kBlock); j < jEnd; ++j)
            c[i * n + j].real += scale * b[p * n + j].real;
        }
}

bool DoubleEvaluator::isClose(Element a, Element b, mlir::Type elementType,
                              double tolerance) {
  if (!isa<FloatType>(elementType))
    return a.integer == b.integer;
  double x = a.real, y = b.real;
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return true;
  double scale = std::max({1.0, std::abs(x), std::abs(y)});
  return std::isfinite(scale) && std::abs(x - y) <= tolerance * scale;
}

std::string DoubleEvaluator::print(Element value, mlir::Type elementType) {
  if (!isa<FloatType>(elementType))
    return DenseEvaluator::print(value, elementType);
  if (std::isnan(value.real))
    return "nan"; // of either sign
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value.real);
  return text;
}
