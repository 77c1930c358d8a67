// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Optimizer.h"

using namespace mlir;
using namespace tp;

namespace {
struct OptimizerEntry {
  StringLiteral name;
  std::unique_ptr<Optimizer> (*make)(Arguments &arguments);
};
} // namespace

static constexpr OptimizerEntry kOptimizers[] = {{"sgd", makeSgd},
                                                 {"adam", makeAdam},
                                                 {"adamw", makeAdamW},
                                                 {"lion", makeLion},
                                                 {"adafactor", makeAdafactor}};

std::unique_ptr<Optimizer> Optimizer::parse(StringRef text, Location loc) {
  FailureOr<Arguments> arguments =
      Arguments::parse(text, "optimizer", ErrorCode::BadOptimizer, loc);
  if (failed(arguments))
    return nullptr;
  for (const OptimizerEntry &entry : kOptimizers) {
    if (entry.name != arguments->getName())
      continue;
    std::unique_ptr<Optimizer> optimizer = entry.make(*arguments);
    if (failed(arguments->finish()))
      return nullptr;
    optimizer->name = entry.name.str();
    return optimizer;
  }
  InFlightDiagnostic error = arguments->complain();
  error << "unknown optimizer '" << arguments->getName() << "': write ";
  llvm::interleave(
      kOptimizers, [&](const OptimizerEntry &entry) { error << entry.name; },
      [&] { error << ", "; });
  return nullptr;
}

Value Optimizer::getPenalized(Formulas &emit,
                              const UpdateValues &values) const {
  if (!values.decays || weightDecay == 0)
    return values.gradient;
  return emit.add(values.gradient, emit.scale(values.parameter, weightDecay));
}

Value Optimizer::getKept(Formulas &emit, Value rate) const {
  return weightDecay == 0 ? Value()
                          : emit.add(emit.scale(rate, -weightDecay), 1);
}

Value Optimizer::getDecayed(Formulas &emit, const UpdateValues &values,
                            Value kept) const {
  return values.decays && kept ? emit.scale(values.parameter, kept)
                               : values.parameter;
}
