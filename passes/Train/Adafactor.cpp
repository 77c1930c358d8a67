// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adafactor (arXiv:1804.04235): the second moment of a matrix is stored as one
// vector of row means and one of column means.

#include "Optimizer.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace tp;

namespace {
class Adafactor : public Optimizer {
public:
  explicit Adafactor(Arguments &arguments) {
    read(arguments, /*defaultRate=*/1e-2, /*defaultDecay=*/0);
    decay = arguments.getNumber("beta2_decay", -0.8, kNotPositive);
    clip = arguments.getNumber("d", 1, kAtLeastOne);
    // By default, epsilon1 is the distance from 1 to the next larger number of
    // the parameter's type.
    if (arguments.has("eps"))
      std::tie(epsilon1.emplace(), epsilon2) =
          arguments.getPair("eps", {1e-7, 1e-3}, kNotNegative);
  }

  SmallVector<StateTensor> getStates(int64_t rank) const override {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(rank));
    if (rank < 2)
      return {{"variance", dims}};
    SmallVector<int64_t> rows(dims), columns(dims);
    rows.pop_back();
    columns.erase(columns.end() - 2);
    return {{"row_var", rows}, {"col_var", columns}};
  }

  /// The weight of the new squared gradient in the second moment, the relative
  /// step size, and the factor by which weights decay.
  SmallVector<Value> getCorrections(Formulas &emit, Value rate,
                                    Value count) const override {
    Value power =
        emit.unary<ExpOp>(emit.scale(emit.unary<LogOp>(count), decay));
    Value relative = emit.binary<MinOp>(rate, emit.unary<RsqrtOp>(count));
    return {power, relative, getKept(emit, rate)};
  }

  Value update(Formulas &emit, const UpdateValues &values,
               MutableArrayRef<Value> states) const override {
    auto element = cast<FloatType>(typeOf(values.parameter).getElementType());
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    double epsilon = epsilon1.value_or(
        std::ldexp(1, 1 - int(llvm::APFloat::semanticsPrecision(semantics))));
    Value variance = getVariance(emit, values, states, epsilon);
    Value step =
        emit.mul(emit.unary<RsqrtOp>(emit.max(variance, epsilon * epsilon)),
                 values.gradient);
    Value size =
        emit.mul(emit.max(emit.rootMeanSquare(values.parameter), epsilon2),
                 values.corrections[1]);
    Value excess = emit.max(emit.scale(emit.rootMeanSquare(step), 1 / clip), 1);
    return emit.sub(getDecayed(emit, values, values.corrections[2]),
                    emit.scale(step, emit.div(size, excess)));
  }

private:
  /// Updates `states`, and returns the second moment that they represent.
  Value getVariance(Formulas &emit, const UpdateValues &values,
                    MutableArrayRef<Value> states, double epsilon) const {
    Value square = emit.square(values.gradient), isNew = values.corrections[0];
    auto getMean = [&](Value x, int64_t dim) {
      Value sum = emit.reduce(ReductionKind::Sum, x, dim);
      return emit.scale(sum, 1.0 / typeOf(x).getDimSize(dim));
    };
    int64_t rank = typeOf(square).getRank();
    if (rank < 2)
      return states[0] = emit.lerp(states[0], square, isNew);
    states[0] = emit.lerp(states[0], getMean(square, rank - 1), isNew);
    states[1] = emit.lerp(states[1], getMean(square, rank - 2), isNew);
    Value mean = emit.max(getMean(states[0], rank - 2), epsilon);
    Value row =
        emit.div(states[0], emit.repeatAlong(mean, states[0], rank - 2));
    return emit.mul(emit.repeatAlong(row, square, rank - 1),
                    emit.repeatAlong(states[1], square, rank - 2));
  }

  double decay, clip;
  std::optional<double> epsilon1;
  double epsilon2 = 1e-3;
};
} // namespace

std::unique_ptr<Optimizer> tp::makeAdafactor(Arguments &arguments) {
  return std::make_unique<Adafactor>(arguments);
}
