// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conditioning.h"

#include "lib/Interpreter/RandomRounding.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

Conditioning::Conditioning(const Program &program,
                           ArrayRef<TensorValue> arguments,
                           const InterpreterOptions &options, double unit,
                           Rounding rounding)
    : program(program), arguments(arguments), options(options), unit(unit),
      rounding(rounding) {
  // Copies of a value on different devices may get different random errors if
  // the devices compute in different orders, so accept any difference.
  this->options.tolerance = std::numeric_limits<double>::infinity();
}

bool Conditioning::addRun() {
  bool rounds = rounding == Rounding::ToElementType;
  unsigned numRuns = rounds ? 8 : 4;
  if (key == numRuns)
    return false;
  // Errors of the program have been reported already.
  ScopedDiagnosticHandler silence(program.getFunction().getContext(),
                                  [](Diagnostic &) { return success(); });
  NoisyEvaluator noisy(key, unit, rounding);
  // If the terms of a sum cancel, rounding inside the sum causes a large error.
  // Noise on the result of the sum does not show that error.
  RandomRoundingEvaluator random(key);
  DenseEvaluator &evaluator =
      rounds && key % 2 ? static_cast<DenseEvaluator &>(random) : noisy;
  ++key;
  auto results = Interpreter(evaluator, options).run(program, arguments);
  if (succeeded(results))
    runs.push_back(std::move(*results));
  return true;
}

double Conditioning::getSpread(unsigned result, int64_t i,
                               Element value) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double spread = 0;
  for (const SmallVector<TensorValue> &run : runs) {
    const DenseTensor &tensor = toDense(run[result]);
    Element moved = tensor[i];
    if (!tensor.isFloat()) {
      if (moved.integer != value.integer)
        return kInfinity;
      continue;
    }
    double x = moved.real, y = value.real;
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (!std::isfinite(x) || !std::isfinite(y))
      return kInfinity;
    spread = std::max(spread, std::abs(x - y));
  }
  return spread;
}
