// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-interpret-entry: run one function on data from a file.

#include "TensorFile.h"

#include "dialects/TP/Interface.h"
#include "lib/Codegen/Artifact.h"
#include "lib/Interpreter/Interpreter.h"
#include "lib/Interpreter/RandomRounding.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "runtime/Core/DType.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Safetensors.h"

namespace tp {
#define GEN_PASS_DEF_INTERPRETENTRYPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::interp;

static StringRef toRef(absl::string_view text) {
  return {text.data(), text.size()};
}

namespace {
struct InterpretEntry : tp::impl::InterpretEntryPassBase<InterpretEntry> {
  using InterpretEntryPassBase::InterpretEntryPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(interpret()))
      signalPassFailure();
  }

private:
  LogicalResult interpret();
  FailureOr<SmallVector<TensorValue>> readInputs(func::FuncOp function);
};
} // namespace

FailureOr<SmallVector<TensorValue>>
InterpretEntry::readInputs(func::FuncOp function) {
  auto error = [&] {
    return function.emitError() << prefix(ErrorCode::BadInputFile);
  };
  // If the process cannot open any more files, the error must not say that the
  // file is bad.
  auto fail = [&](const absl::Status &why) {
    bool isLimit = tprt::getErrorCode(why) == tprt::ErrorCode::LimitReached;
    return function.emitError() << prefix(isLimit ? ErrorCode::LimitReached
                                                  : ErrorCode::BadInputFile)
                                << toRef(why.message());
  };
  auto file = tprt::SafetensorsFolder::open(inputs);
  if (!file.ok())
    return fail(file.status());
  SmallVector<TensorValue> values;
  for (BlockArgument argument : function.getArguments()) {
    RankedTensorType type = Program::getWholeType(argument.getType());
    StringAttr name = getInputName(function, argument.getArgNumber());
    auto tensor = (*file)->find(name.str());
    if (!tensor.ok())
      return fail(tensor.status());
    if (tensor->dtype != getDType(type.getElementType()) ||
        ArrayRef<int64_t>(tensor->shape) != type.getShape())
      return error() << "tensor " << name << " is "
                     << toRef(tprt::getName(tensor->dtype)) << "["
                     << ArrayRef<int64_t>(tensor->shape) << "], not " << type;
    auto bytes = tensor->readAll();
    if (!bytes.ok())
      return fail(bytes.status());
    values.push_back(decodeTensor(type, *bytes));
  }
  return values;
}

LogicalResult InterpretEntry::interpret() {
  ModuleOp module = getOperation();
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || !isEntry(function))
    return module.emitError() << prefix(ErrorCode::UnknownEntry)
                              << "the module has no entry '" << entry << "'";
  FailureOr<Program> program = Program::analyze(function);
  InterpreterOptions options;
  options.tolerance = tolerance;
  if (failed(program) || failed(checkArguments(*program, options)))
    return failure();
  FailureOr<SmallVector<TensorValue>> arguments = readInputs(function);
  if (failed(arguments))
    return failure();
  DoubleEvaluator nearest(Rounding::ToElementType);
  RandomRoundingEvaluator random(roundingSeed);
  DenseEvaluator &evaluator =
      roundingSeed == 0 ? static_cast<DenseEvaluator &>(nearest) : random;
  auto results = Interpreter(evaluator, options).run(*program, *arguments);
  if (failed(results))
    return failure();
  return writeTensorFile(function, outputs, getOutputNames(function), *results);
}
