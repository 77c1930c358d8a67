// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lion (arXiv:2302.06675), which torch.optim does not have.

#include "Optimizer.h"

using namespace mlir;
using namespace tp;

namespace {
class Lion : public Optimizer {
public:
  explicit Lion(Arguments &arguments) {
    read(arguments, /*defaultRate=*/1e-4, /*defaultDecay=*/0);
    std::tie(beta1, beta2) = arguments.getPair("betas", {0.9, 0.99}, kDecay);
  }

  SmallVector<StateTensor> getStates(int64_t rank) const override {
    return {{"exp_avg", llvm::to_vector(llvm::seq<int64_t>(rank))}};
  }

  SmallVector<Value> getCorrections(Formulas &emit, Value rate,
                                    Value) const override {
    return {getKept(emit, rate)};
  }

  Value update(Formulas &emit, const UpdateValues &values,
               MutableArrayRef<Value> states) const override {
    Value direction = emit.unary<SignOp>(emit.add(
        emit.scale(states[0], beta1), emit.scale(values.gradient, 1 - beta1)));
    states[0] = emit.add(emit.scale(states[0], beta2),
                         emit.scale(values.gradient, 1 - beta2));
    return emit.sub(getDecayed(emit, values, values.corrections[0]),
                    emit.scale(direction, values.rate));
  }

private:
  double beta1, beta2;
};
} // namespace

std::unique_ptr<Optimizer> tp::makeLion(Arguments &arguments) {
  return std::make_unique<Lion>(arguments);
}
