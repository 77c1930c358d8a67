// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Comparison.h"

#include "Divergence.h"
#include "FirstDivergence.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

void tp::explain(DenseEvaluator &evaluator, const ProgramPair &programs,
                 const DataSet &data, unsigned index, double tolerance) {
  if (explainFirstDivergence(programs, index, data))
    return;
  InterpreterOptions options;
  options.tolerance = tolerance;
  options.garbage = data.number;
  SmallVector<TensorValue> arguments =
      drawArguments(evaluator, programs.whole.getFunction(), data);
  explainDifference(evaluator, options, programs.local,
                    programs.takeLocal(arguments), programs.whole, arguments);
}

int64_t tp::limitIterations(const Interpreter &ofWhole) {
  return std::min(InterpreterOptions().maxIterations,
                  2 * ofWhole.getMostIterations() + 1024);
}

Verdict tp::compareExactly(DenseEvaluator &evaluator,
                           const ProgramPair &programs, const DataSet &data) {
  InterpreterOptions options;
  options.garbage = data.number;
  SmallVector<TensorValue> arguments =
      drawArguments(evaluator, programs.whole.getFunction(), data);
  Interpreter interpreter(evaluator, options);
  auto expected = interpreter.run(programs.whole, arguments);
  if (failed(expected))
    return failure();
  options.maxIterations = limitIterations(interpreter);
  auto results = Interpreter(evaluator, options)
                     .run(programs.local, programs.takeLocal(arguments));
  if (failed(results)) {
    explain(evaluator, programs, data, 0, /*tolerance=*/0);
    return failure();
  }
  for (auto [index, result] : llvm::enumerate(*results))
    if (auto text = findDifference(evaluator, result, (*expected)[index],
                                   /*tolerance=*/0))
      return std::optional(Difference{unsigned(index), std::move(*text)});
  return std::optional<Difference>();
}

static InterpreterOptions getOptions(const DataSet &data, double unit) {
  InterpreterOptions options;
  // Devices that hold the same block may add its terms in different orders.
  // Terms whose magnitudes vary widely lose more digits when they cancel.
  options.tolerance = data.magnitudes == Magnitudes::Wide ? 1000 * unit : unit;
  options.garbage = data.number;
  return options;
}

FloatComparison::FloatComparison(const ProgramPair &programs,
                                 const DataSet &data, double unit)
    : programs(programs), data(data), options(getOptions(data, unit)),
      localOptions(options),
      wholeArguments(
          drawArguments(evaluator, programs.whole.getFunction(), data)),
      localArguments(programs.takeLocal(wholeArguments)),
      ofWhole(programs.whole, wholeArguments, options, unit),
      ofLocal(programs.local, localArguments, options, unit) {}

LogicalResult FloatComparison::runWhole(IndexCoverage &coverage) {
  InterpreterOptions observed = options;
  observed.operandObserver = [&](Operation *op,
                                 ArrayRef<DeviceValues> operands) {
    coverage.record(op, operands);
    constexpr int64_t kOverhead = 64;
    for (const DeviceValues &operand : operands)
      work += toDense(operand.front()).size() * int64_t(operand.size());
    work += kOverhead;
  };
  Interpreter interpreter(evaluator, observed);
  auto results = interpreter.run(programs.whole, wholeArguments);
  if (failed(results))
    return failure();
  localOptions.maxIterations = limitIterations(interpreter);
  expected = std::move(*results);
  return success();
}

Verdict FloatComparison::compare() {
  auto results =
      Interpreter(evaluator, localOptions).run(programs.local, localArguments);
  if (failed(results)) {
    explain(0);
    return failure();
  }
  for (auto [index, result] : llvm::enumerate(*results)) {
    unsigned number = index;
    auto text = findDifference(evaluator, result, expected[index],
                               [&](int64_t i, Element got, Element wanted) {
                                 return isEqual(number, i, got, wanted);
                               });
    if (text)
      return std::optional(Difference{number, std::move(*text)});
  }
  return std::optional<Difference>();
}

bool FloatComparison::isEqual(unsigned result, int64_t i, Element got,
                              Element wanted) {
  const DenseTensor &tensor = toDense(expected[result]);
  Type type = tensor.getType().getElementType();
  if (evaluator.isClose(got, wanted, type, /*tolerance=*/0))
    return true;
  double distance = std::numeric_limits<double>::infinity();
  if (tensor.isFloat()) {
    if (!std::isfinite(wanted.real) && data.magnitudes == Magnitudes::Wide)
      return true;
    if (std::isfinite(wanted.real) && std::isfinite(got.real))
      distance = std::abs(got.real - wanted.real);
    // Allow a few rounding errors, and differences near the lower end of the
    // range of doubles.
    if (distance <= 1e-13 * std::abs(wanted.real) || distance < 1e-250)
      return true;
  }
  // Runs the programs only as often as needed: one or two runs explain most
  // differences.
  do {
    double spread = ofWhole.getSpread(result, i, wanted) +
                    ofLocal.getSpread(result, i, got);
    if (distance <= 4 * spread)
      return true;
  } while (ofWhole.addRun() || ofLocal.addRun());
  return false;
}

bool FloatComparison::hasNumber(unsigned index) const {
  const DenseTensor &tensor = toDense(expected[index]);
  if (!tensor.isFloat() || tensor.size() == 0)
    return true;
  for (int64_t i = 0; i < tensor.size(); ++i)
    if (!std::isnan(tensor[i].real))
      return true;
  return false;
}
