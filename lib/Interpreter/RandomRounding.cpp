// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Interpreter/RandomRounding.h"

#include "lib/Support/Random.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

/// The number of significand bits, including the implicit one.
static int getPrecision(FloatType type) {
  return int(llvm::APFloat::semanticsPrecision(type.getFloatSemantics()));
}

/// log2 of a magnitude, rounded down; -1023 for 0 and for subnormal numbers.
static int getExponent(double value) {
  return int(llvm::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
}

double RandomRoundingEvaluator::drawFraction(double value) const {
  uint64_t random = scramble(llvm::bit_cast<uint64_t>(value) ^ scramble(seed));
  return double(random >> 11) * 0x1p-53;
}

Element RandomRoundingEvaluator::round(Element value, FloatType type) {
  double x = value.real;
  if (x == 0 || !std::isfinite(x))
    return value;
  if (type.isF64()) {
    // The rounding error of a double is not known here. A double with few
    // significant bits is treated as exact.
    bool isShort = (llvm::bit_cast<uint64_t>(x) & 0x3ffffff) == 0;
    double error = (2 * drawFraction(x) - 1) * 0x1p-53;
    return makeReal(isShort ? x : x + x * error);
  }
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  int exponent = std::max(getExponent(x),
                          int(llvm::APFloat::semanticsMinExponent(semantics)));
  double spacing = std::ldexp(1.0, exponent - getPrecision(type) + 1);
  double steps = x / spacing, down = std::floor(steps);
  double rounded = (steps - down > drawFraction(x) ? down + 1 : down) * spacing;
  // Values that are too large overflow exactly where rounding to the nearest
  // overflows.
  bool mayOverflow =
      exponent >= int(llvm::APFloat::semanticsMaxExponent(semantics));
  return makeReal(mayOverflow ? roundToType(rounded, type) : rounded);
}

TensorValue RandomRoundingEvaluator::convert(TensorValue x, Type type) {
  auto result = std::make_shared<DenseTensor>(toDense(exact.convert(x, type)));
  auto to = dyn_cast<FloatType>(type.getElementType());
  if (!to)
    return result;
  for (Element &element : result->getElements()) {
    // Use a random number that is independent of the rounding direction.
    bool isRandom = drawFraction(-element.real) < 1.0 / 16;
    element =
        isRandom ? round(element, to) : makeReal(roundToType(element.real, to));
  }
  return result;
}

static TensorValue getMagnitudes(const TensorValue &x) {
  auto result = std::make_shared<DenseTensor>(toDense(x));
  for (Element &element : result->getElements())
    element.real = std::abs(element.real);
  return result;
}

TensorValue RandomRoundingEvaluator::finishSum(TensorValue sum,
                                               TensorValue magnitudes,
                                               int64_t terms) {
  auto type = cast<FloatType>(sum->getType().getElementType());
  // A device adds up narrow floats in f32, but the sums of several devices are
  // added in the narrow type itself.
  double inOrder = type.isF64() ? 0x1p-53 : 0x1p-24;
  double inParts = std::ldexp(1.0, -getPrecision(type)) /
                   std::sqrt(double(std::max<int64_t>(terms, 1)));
  double error = std::max(inOrder, inParts);
  auto isExact = [&](double x) {
    return type.isF64() ? (llvm::bit_cast<uint64_t>(x) & 0x3ffffff) == 0
                        : roundToType(x, type) == x;
  };
  auto result = std::make_shared<DenseTensor>(toDense(sum));
  for (int64_t i = 0; i < result->size(); ++i) {
    double x = (*result)[i].real, magnitude = toDense(magnitudes)[i].real;
    if (!std::isfinite(magnitude) || (isExact(x) && isExact(magnitude)))
      continue;
    double fraction = 2 * drawFraction(x + magnitude) - 1;
    (*result)[i] = makeReal(x + fraction * error * magnitude);
  }
  for (Element &element : result->getElements())
    element = round(element, type);
  return result;
}

TensorValue RandomRoundingEvaluator::contract(StringRef equation, TensorValue a,
                                              TensorValue b, Type type) {
  if (!isa<FloatType>(type.getElementType()))
    return DoubleEvaluator::contract(equation, a, b, type);
  EinsumTerms names = EinsumTerms::split(equation);
  int64_t terms = 1;
  for (auto [name, size] : llvm::zip_equal(names.lhs, a->getShape()))
    terms *= names.result.contains(name) ? 1 : size;
  for (auto [name, size] : llvm::zip_equal(names.rhs, b->getShape()))
    if (!names.lhs.contains(name) && !names.result.contains(name))
      terms *= size;
  return finishSum(
      exact.contract(equation, a, b, type),
      exact.contract(equation, getMagnitudes(a), getMagnitudes(b), type),
      terms);
}

TensorValue RandomRoundingEvaluator::reduce(ReductionKind kind, TensorValue x,
                                            ArrayRef<int64_t> dims, Type type) {
  if (kind != ReductionKind::Sum || !isa<FloatType>(type.getElementType()))
    return DoubleEvaluator::reduce(kind, x, dims, type);
  int64_t terms = 1;
  for (int64_t dim : dims)
    terms *= x->getShape()[dim];
  return finishSum(exact.reduce(kind, x, dims, type),
                   exact.reduce(kind, getMagnitudes(x), dims, type), terms);
}

TensorValue RandomRoundingEvaluator::scatter(ScatterKind kind, TensorValue x,
                                             TensorValue indices,
                                             TensorValue updates, unsigned axis,
                                             unsigned batchDims, Type type) {
  if (kind != ScatterKind::Add || !isa<FloatType>(type.getElementType()))
    return DoubleEvaluator::scatter(kind, x, indices, updates, axis, batchDims,
                                    type);
  return finishSum(
      exact.scatter(kind, x, indices, updates, axis, batchDims, type),
      exact.scatter(kind, getMagnitudes(x), indices, getMagnitudes(updates),
                    axis, batchDims, type),
      /*terms=*/1);
}
