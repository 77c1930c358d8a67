// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-write-trial: write data for a test of the compiled program.

#include "Conditioning.h"
#include "RandomData.h"
#include "TensorFile.h"

#include "dialects/TP/Interface.h"
#include "passes/Import/StableHLO/StableHLO.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include <cmath>
#include <limits>

#include "llvm/ADT/Sequence.h"

namespace tp {
#define GEN_PASS_DEF_WRITETRIALPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {
struct WriteTrial : tp::impl::WriteTrialPassBase<WriteTrial> {
  using WriteTrialPassBase::WriteTrialPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // Do not change the input.
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if ((hasStableHLO(*copy) && failed(importStableHLO(*copy))) ||
        failed(write(*copy)))
      signalPassFailure();
  }

private:
  LogicalResult write(ModuleOp module);
};
} // namespace

/// The allowed error of a result is this factor times the distance by which a
/// few runs move the result, as in `tp-run --check`.
static constexpr double kFactor = 8;

/// Avoids wide magnitudes for optimizers, which divide a gradient by its size.
/// The gradient might consist of rounding errors only, and the results would be
/// meaningless.
static void choose(DataSet &data, func::FuncOp function) {
  auto isState = [&](unsigned i) {
    return getRole(function, i) == Role::OptimizerState;
  };
  if (data.magnitudes == Magnitudes::Wide &&
      llvm::any_of(llvm::seq(function.getNumArguments()), isState))
    data.magnitudes = Magnitudes::Moderate;
}

/// The allowed error of each element of `value`, in f64.
static TensorValue getAllowed(const Conditioning &conditioning, unsigned index,
                              const TensorValue &value, bool isWide) {
  const DenseTensor &tensor = toDense(value);
  RankedTensorType type = tensor.getType();
  auto allowed = std::make_shared<DenseTensor>(
      type.clone(Float64Type::get(type.getContext())));
  auto format = dyn_cast<FloatType>(type.getElementType());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double spread = kFactor * conditioning.getSpread(index, i, tensor[i]);
    if (format) {
      double x = tensor[i].real;
      // If a number consists of rounding errors only, or is divided by such a
      // number, any value is allowed.
      if (spread >= std::abs(x))
        spread = std::numeric_limits<double>::infinity();
      const llvm::fltSemantics &semantics = format.getFloatSemantics();
      int digits = int(llvm::APFloat::semanticsPrecision(semantics));
      // Whether a value leaves the range of the type may depend on the order of
      // ops.
      if (!std::isfinite(x))
        spread = isWide ? std::numeric_limits<double>::infinity() : 0;
      else
        spread +=
            std::ldexp(std::abs(x), 2 - digits) +
            llvm::APFloat::getSmallestNormalized(semantics).convertToDouble();
    }
    (*allowed)[i] = makeReal(spread);
  }
  return allowed;
}

LogicalResult WriteTrial::write(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || !isEntry(function))
    return module.emitError() << prefix(ErrorCode::UnknownEntry)
                              << "the module has no entry '" << entry << "'";
  FailureOr<Program> program = Program::analyze(function);
  InterpreterOptions options;
  options.tolerance = tolerance;
  if (failed(program) || failed(checkArguments(*program, options)))
    return failure();
  DoubleEvaluator evaluator(Rounding::ToElementType);
  DataSet data = getDataSet(seed, number);
  choose(data, function);
  SmallVector<TensorValue> arguments = drawArguments(evaluator, function, data);
  // Turn the drawn states into states that can exist after a step: optimizers
  // take the roots of second moments, so these must not be negative.
  makeStates(function, arguments, /*scale=*/1);
  for (TensorValue &argument : arguments) // round to the stored type
    if (isa<FloatType>(argument->getType().getElementType()))
      argument = evaluator.convert(argument, argument->getType());
  auto results = Interpreter(evaluator, options).run(*program, arguments);
  if (failed(results))
    return failure();
  Conditioning conditioning(*program, arguments, options, tolerance,
                            Rounding::ToElementType);
  while (conditioning.addRun())
    ;
  SmallVector<TensorValue> allowed;
  for (auto [index, result] : llvm::enumerate(*results))
    allowed.push_back(getAllowed(conditioning, index, result,
                                 data.magnitudes == Magnitudes::Wide));
  SmallVector<std::string> names = getOutputNames(function);
  return success(
      succeeded(writeTensorFile(function, inputs, getInputNames(function),
                                arguments)) &&
      succeeded(writeTensorFile(function, outputs, names, *results)) &&
      succeeded(writeTensorFile(function, spreads, names, allowed)));
}
