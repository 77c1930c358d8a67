// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An evaluator whose rounding errors are random.
///
/// How far does rounding move a result? Run the program a few times, each time
/// with other rounding errors, and look (Parker, Monte Carlo Arithmetic, 1997).
/// Here every kernel computes in doubles, and then
///
///  - a result goes up or down to one of its two neighbors in the element type,
///    more often to the nearer one. What the type holds exactly stays as it is,
///    so that counts, masks and bit tricks mean the same in every run;
///  - a sum, a product of matrices, or a scatter that adds is first moved by
///    what another order of its terms may change: half an ulp of f32 (f64 for
///    f64) of the sum of magnitudes. As devices round their parts of a sum to
///    the element type, a narrow type counts, too, less the more terms there
///    are. Sums that are exact in any order stay as they are;
///  - a conversion rounds to the nearest, as it does in every form of a
///  program.
///    What it is given differs a little from form to form, though, and now and
///    then lands on the other side: so one in 16 goes up or down as above.
///
/// The errors depend on the seed and the value alone: devices that compute the
/// same value round it alike.

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
  /// Rounds `sum` after moving it by what its order may change. `magnitudes` is
  /// the same sum of magnitudes, and has `terms` terms for each element.
  TensorValue finishSum(TensorValue sum, TensorValue magnitudes, int64_t terms);
  /// From 0 up to 1, for a value.
  double drawFraction(double value) const;

  /// Sums, not rounded yet.
  DoubleEvaluator exact;
  const uint64_t seed;
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_RANDOMROUNDING_H
