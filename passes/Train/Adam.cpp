// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adam (arXiv:1412.6980), and AdamW (arXiv:1711.05101), in which the decay of
// weights is separate from the gradient.

#include "Optimizer.h"

#include <cmath>

using namespace mlir;
using namespace tp;

/// 1 - beta^count, accurate even if beta is close to 1.
static Value getCorrection(Formulas &emit, double beta, Value count) {
  if (beta == 0)
    return emit.constant(1, count);
  Value power = emit.unary<Expm1Op>(emit.scale(count, std::log(beta)));
  return emit.unary<NegOp>(power);
}

namespace {
class Adam : public Optimizer {
public:
  Adam(Arguments &arguments, bool isDecoupled) : isDecoupled(isDecoupled) {
    read(arguments, /*defaultRate=*/1e-3,
         /*defaultDecay=*/isDecoupled ? 1e-2 : 0);
    std::tie(beta1, beta2) = arguments.getPair("betas", {0.9, 0.999}, kDecay);
    epsilon = arguments.getNumber("eps", 1e-8, kNotNegative);
  }

  SmallVector<StateTensor> getStates(int64_t rank) const override {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(rank));
    return {{"exp_avg", dims}, {"exp_avg_sq", dims}};
  }

  /// The step size, the number by which the root of the second moment is
  /// divided, and the factor by which weights decay.
  SmallVector<Value> getCorrections(Formulas &emit, Value rate,
                                    Value count) const override {
    return {emit.div(rate, getCorrection(emit, beta1, count)),
            emit.unary<SqrtOp>(getCorrection(emit, beta2, count)),
            isDecoupled ? getKept(emit, rate) : Value()};
  }

  Value update(Formulas &emit, const UpdateValues &values,
               MutableArrayRef<Value> states) const override {
    Value gradient = isDecoupled ? values.gradient : getPenalized(emit, values);
    Value parameter = getDecayed(emit, values, values.corrections[2]);
    states[0] = emit.lerp(states[0], gradient, 1 - beta1);
    states[1] = emit.add(emit.scale(states[1], beta2),
                         emit.scale(emit.square(gradient), 1 - beta2));
    Value root = emit.unary<SqrtOp>(states[1]);
    Value correction =
        emit.splat(values.corrections[1], typeOf(root).getShape());
    Value divisor = emit.add(emit.div(root, correction), epsilon);
    Value direction = emit.div(states[0], divisor);
    return emit.sub(parameter, emit.scale(direction, values.corrections[0]));
  }

private:
  bool isDecoupled;
  double beta1, beta2, epsilon;
};
} // namespace

std::unique_ptr<Optimizer> tp::makeAdam(Arguments &arguments) {
  return std::make_unique<Adam>(arguments, /*isDecoupled=*/false);
}

std::unique_ptr<Optimizer> tp::makeAdamW(Arguments &arguments) {
  return std::make_unique<Adam>(arguments, /*isDecoupled=*/true);
}
