// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stochastic gradient descent, with momentum and Nesterov's momentum.

#include "Optimizer.h"

using namespace mlir;
using namespace tp;

namespace {
class Sgd : public Optimizer {
public:
  explicit Sgd(Arguments &arguments) {
    read(arguments, /*defaultRate=*/1e-3, /*defaultDecay=*/0);
    momentum = arguments.getNumber("momentum", 0, kNotNegative);
    nesterov = arguments.getFlag("nesterov");
  }

  SmallVector<StateTensor> getStates(int64_t rank) const override {
    if (momentum == 0)
      return {};
    return {{"momentum_buffer", llvm::to_vector(llvm::seq<int64_t>(rank))}};
  }

  Value update(Formulas &emit, const UpdateValues &values,
               MutableArrayRef<Value> states) const override {
    Value direction = getPenalized(emit, values);
    if (momentum != 0) {
      // In the first step, the momentum is the gradient, since the state was
      // zero.
      states[0] = emit.add(emit.scale(states[0], momentum), direction);
      direction = nesterov
                      ? emit.add(direction, emit.scale(states[0], momentum))
                      : states[0];
    }
    return emit.sub(values.parameter, emit.scale(direction, values.rate));
  }

  double momentum;
  bool nesterov;
};
} // namespace

std::unique_ptr<Optimizer> tp::makeSgd(Arguments &arguments) {
  auto sgd = std::make_unique<Sgd>(arguments);
  if (sgd->nesterov && sgd->momentum == 0)
    arguments.complain() << "nesterov=true expects a momentum: write "
                            "sgd(momentum=0.9,nesterov=true)";
  return sgd;
}
