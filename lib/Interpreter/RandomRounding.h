// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An evaluator whose rounding errors are random.
///
/// To see how far rounding moves a result, run the program a few times, each
/// time with different rounding errors (Parker, Monte Carlo Arithmetic, 1997).
/// Here every kernel computes in doubles, and then
///
///  - a result goes up or down to one of its two neighbors in the element type,
///    more often to the nearer one. A value that the type represents exactly
///    does not change, so that counts, masks and bit tricks work the same in
///    every run;
///  - a sum, a product of matrices, or a scatter that adds is first moved by as
///    much as a different order of its terms may change it: half an ulp of f32
///    (f64 for f64) of the sum of magnitudes. Since devices round their parts
///    of a sum to the element type, the ulp of a narrow type counts as well,
///    but less if there are many terms. Sums that are exact in any order do not
///    change;
///  - a conversion usually rounds to the nearest, as in every compiled form of
///    the program. But its operand differs slightly between these forms, and so
///    may be rounded in the other direction. Therefore one conversion in 16
///    goes up or down as above.
///
/// The errors depend only on the seed and the value: devices that compute the
/// same value round it in the same way.

#ifndef TPOPT_INTERPRETER_RANDOMROUNDING_H
#define TPOPT_INTERPRETER_RANDOMROUNDING_H

#include "lib/Interpreter/DenseEvaluator.h"

namespace tp::interp {

class RandomRoundingEvaluator final : public DoubleEvaluator {
public:
  explicit RandomRoundingEvaluator(uint64_t seed) : seed(seed) {}

  TensorValue convert(TensorValue x, Type type) override;
  TensorValue contract(llvm::StringRef equation, TensorValue a, TensorValue b,
                       Type type) override;
  TensorValue reduce(ReductionKind kind, TensorValue x,
                     llvm::ArrayRef<int64_t> dims, Type type) override;
  TensorValue scatter(ScatterKind kind, TensorValue x, TensorValue indices,
                      TensorValue updates, unsigned axis, unsigned batchDims,
                      Type type) override;

protected:
  Element round(Element value, mlir::FloatType type) override;

private:
  /// Rounds `sum` after moving it by as much as a different order of its terms
  /// may change it. `magnitudes` is the sum of the magnitudes of the same
  /// terms. Each element is a sum of `terms` terms.
  TensorValue finishSum(TensorValue sum, TensorValue magnitudes, int64_t terms);
  /// A random number in [0, 1) for a value.
  double drawFraction(double value) const;

  /// Computes sums that are not rounded yet.
  DoubleEvaluator exact;
  const uint64_t seed;
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_RANDOMROUNDING_H
