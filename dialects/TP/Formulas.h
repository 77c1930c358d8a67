// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Short forms for the formulas of gradients and parameter updates.

#ifndef TPOPT_DIALECTS_TP_FORMULAS_H
#define TPOPT_DIALECTS_TP_FORMULAS_H

#include "dialects/TP/Emitter.h"

#include "llvm/ADT/Sequence.h"

namespace tp {

class Formulas : public Emitter {
public:
  using Emitter::Emitter;

  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  mlir::Value square(mlir::Value x) { return mul(x, x); }
  /// 1 - x.
  mlir::Value complement(mlir::Value x) { return sub(constant(1, x), x); }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return compare(ComparePredicate::EQ, a, b);
  }

  mlir::Value add(mlir::Value x, double number) {
    return add(x, constant(number, x));
  }
  mlir::Value scale(mlir::Value x, double number) {
    return number == 1 ? x : mul(x, constant(number, x));
  }
  /// `x` times a scalar.
  mlir::Value scale(mlir::Value x, mlir::Value scalar) {
    return mul(x, splat(scalar, typeOf(x).getShape()));
  }
  mlir::Value max(mlir::Value x, double number) {
    return binary<MaxOp>(x, constant(number, x));
  }
  mlir::Value min(mlir::Value x, double number) {
    return binary<MinOp>(x, constant(number, x));
  }
  /// Interpolates from `a` to `b` by `weight`, like torch.lerp. The result is
  /// exactly `b` if the weight is 1.
  mlir::Value lerp(mlir::Value a, mlir::Value b, double weight) {
    return weight < 0.5 ? add(a, scale(sub(b, a), weight))
                        : sub(b, scale(sub(b, a), 1 - weight));
  }
  /// Like lerp above, with a scalar tensor as weight.
  mlir::Value lerp(mlir::Value a, mlir::Value b, mlir::Value weight) {
    return add(a, scale(sub(b, a), weight));
  }
  /// The sum of the squares of all elements, a scalar.
  mlir::Value sumOfSquares(mlir::Value x) {
    return reduce(ReductionKind::Sum, square(x),
                  llvm::to_vector(llvm::seq<int64_t>(typeOf(x).getRank())));
  }
  /// sqrt(mean(x^2)), a scalar.
  mlir::Value rootMeanSquare(mlir::Value x) {
    double count = typeOf(x).getNumElements();
    return unary<SqrtOp>(scale(sumOfSquares(x), 1 / count));
  }
};

} // namespace tp

#endif // TPOPT_DIALECTS_TP_FORMULAS_H
