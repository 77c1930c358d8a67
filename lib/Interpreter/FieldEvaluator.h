// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Floats as residues modulo 2^61 - 1: proofs without a tolerance.
///
/// # Purpose
///
/// A program and its partition compute the same real numbers, but in a
/// different order and on several devices. With doubles, a sum in a different
/// order looks like a missing addend that happens to be small. In a prime field
/// there is no rounding: whatever is equal by the rules of arithmetic is equal
/// bit by bit, and whatever is not equal differs on random data, except with a
/// probability of about 10^-17.
///
///     FieldEvaluator whole(/*key=*/7), local(/*key=*/7);
///     TensorValue x = ..;                   // x.residue of every element
///     whole.binary(BinaryKind::Add, x, y, type);
///
/// # How floats behave
///
/// * Sum, difference, product and quotient are those of the field; a quotient
///   multiplies by the inverse. A finite constant has its exact value m * 2^e.
///   Nothing is rounded, and converting between float types does nothing.
/// * Every other function (exp, tanh, rsqrt, pow, ..) is a random function,
///   selected by the key: equal arguments give equal results, and no other
///   relation holds. So an activation of a partial sum differs from the partial
///   sum of activations, as it should.
/// * Maximum, minimum and comparisons use the representatives nearest to zero,
///   from -(p-1)/2 to (p-1)/2: a total order in which small integers have their
///   usual order. It is not the order of the reals, but it is the same in both
///   programs, so that the maximum of maxima is the maximum.
/// * Infinities and NaN are additional values outside of the field. A finite
///   number plus inf is inf; inf - inf and anything times inf are NaN; x / inf
///   is 0, and x / 0 is NaN. So every order of summation gives the same result.
///   exp(-inf) is 0. In f8E4M3FN, a type without infinities, the largest number
///   is treated as infinity.
/// * Integers are true integers, as in every evaluator. A float that is a small
///   integer converts to that integer; any other float converts to a random
///   integer below 8.
///
/// This can check neither rounding nor rewrites by rules that do not hold in
/// all fields. One such rule, exp(a + b) = exp(a) exp(b), does hold for the
/// numbers of PrimePair.h and PairEvaluator. See also docs/rationale.md.

#ifndef TPOPT_INTERPRETER_FIELDEVALUATOR_H
#define TPOPT_INTERPRETER_FIELDEVALUATOR_H

#include "lib/Interpreter/DenseEvaluator.h"
#include "lib/Interpreter/PrimeField.h"
#include "lib/Interpreter/PrimePair.h"

namespace tp::interp {

/// Computes floats as numbers of `Field`; PrimeField shows the members that it
/// needs.
template <typename Field> class ResidueEvaluator : public DenseEvaluator {
public:
  /// Evaluators with the same key have the same random functions.
  explicit ResidueEvaluator(uint64_t key = 1) : key(key) {}

  bool isClose(Element a, Element b, mlir::Type elementType,
               double tolerance) override {
    return Field::isEqual(a.residue, b.residue);
  }
  std::string print(Element value, mlir::Type elementType) override;
  bool isNaN(Element value) override { return value.residue == kNaN; }
  Element drawFloat(uint64_t number) override {
    return make(Field::draw(number, key));
  }
  Element getGarbage(uint64_t salt, mlir::Type elementType) override;

protected:
  Element fromAPFloat(const llvm::APFloat &value) override;
  Element fromInteger(int64_t value, bool isUnsigned,
                      mlir::FloatType type) override;
  int64_t toInteger(Element value, mlir::IntegerType type) override;
  bool isZero(Element value) override { return Field::isZero(value.residue); }
  uint64_t toBits(Element value, mlir::FloatType type) override;
  Element fromBits(uint64_t bits, mlir::FloatType type) override;
  Element unaryFloat(UnaryKind kind, Element x) override;
  Element binaryFloat(BinaryKind kind, Element a, Element b) override;
  void binaryFloats(BinaryKind kind, const Element *a, const Element *b,
                    Element *out, int64_t count) override;
  std::optional<int> order(Element a, Element b) override;
  Element round(Element value, mlir::FloatType) override { return value; }
  void multiplyAdd(const Element *a, const Element *b, Element *c, int64_t m,
                   int64_t k, int64_t n) override;

private:
  /// Values that are not numbers of the field. Their codes follow those of the
  /// numbers.
  static constexpr uint64_t kMinusInfinity = Field::kEnd,
                            kInfinity = Field::kEnd + 1, kNaN = Field::kEnd + 2;

  static Element make(uint64_t residue) {
    Element element;
    element.residue = residue;
    return element;
  }
  static bool isFinite(Element x) { return x.residue < Field::kEnd; }
  Element add(Element a, Element b);
  static Element multiply(Element a, Element b) {
    return make(isFinite(a) && isFinite(b)
                    ? Field::multiply(a.residue, b.residue)
                    : kNaN);
  }
  Element negate(Element x);

  uint64_t key;
};

using FieldEvaluator = ResidueEvaluator<PrimeField>;
/// The number system in which exp(a + b) = exp(a) exp(b). It misses errors more
/// often than FieldEvaluator.
using PairEvaluator = ResidueEvaluator<PrimePair>;

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_FIELDEVALUATOR_H
