// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-interpret-entry: run one function on data from outside.

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Interpreter/Interpreter.h"
#include "tpopt/Interpreter/RandomRounding.h"
#include "tpopt/Passes/Verify/Passes.h"
#include "tpopt/Program/Interface.h"
#include "tpopt/Support/OutputFile.h"

#include "runtime/Core/Safetensors.h"

namespace tp {
#define GEN_PASS_DEF_INTERPRETENTRYPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static StringRef toRef(absl::string_view text) {
  return {text.data(), text.size()};
}

/// Elements as they are stored, little-endian, to those of the interpreter.
static TensorValue decode(RankedTensorType type, StringRef bytes) {
  auto tensor = std::make_shared<DenseTensor>(type);
  size_t size = bytes.size() / std::max<int64_t>(tensor->size(), 1);
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < tensor->size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (integer) {
      (*tensor)[i] = makeInteger(wrapInteger(int64_t(bits), integer));
      continue;
    }
    auto format = cast<FloatType>(type.getElementType());
    APFloat value(format.getFloatSemantics(), APInt(format.getWidth(), bits));
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    (*tensor)[i] = makeReal(value.convertToDouble());
  }
  return tensor;
}

static std::string encode(const DenseTensor &tensor, size_t size) {
  std::string bytes(tensor.size() * size, '\0');
  auto format = dyn_cast<FloatType>(tensor.getType().getElementType());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = tensor[i].integer;
    if (format) {
      APFloat value(tensor[i].real);
      bool losesInfo;
      value.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
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
  LogicalResult writeOutputs(func::FuncOp function,
                             ArrayRef<TensorValue> results);
};
} // namespace

FailureOr<SmallVector<TensorValue>>
InterpretEntry::readInputs(func::FuncOp function) {
  auto error = [&] {
    return function.emitError() << prefix(ErrorCode::BadInputFile);
  };
  auto file = tprt::SafetensorsFolder::open(inputs);
  if (!file.ok())
    return error() << toRef(file.status().message());
  SmallVector<TensorValue> values;
  for (BlockArgument argument : function.getArguments()) {
    RankedTensorType type = Program::getWholeType(argument.getType());
    StringAttr name = getInputName(function, argument.getArgNumber());
    auto tensor = (*file)->find(name.str());
    if (!tensor.ok())
      return error() << toRef(tensor.status().message());
    if (tensor->dtype != getDType(type.getElementType()) ||
        ArrayRef<int64_t>(tensor->shape) != type.getShape())
      return error() << "tensor " << name << " is "
                     << toRef(tprt::getName(tensor->dtype)) << "["
                     << ArrayRef<int64_t>(tensor->shape) << "], not " << type;
    auto bytes = tensor->readAll();
    if (!bytes.ok())
      return error() << toRef(bytes.status().message());
    values.push_back(decode(type, *bytes));
  }
  return values;
}

LogicalResult InterpretEntry::writeOutputs(func::FuncOp function,
                                           ArrayRef<TensorValue> results) {
  std::vector<std::string> bytes(results.size());
  absl::btree_map<std::string, tprt::StoredTensor> tensors;
  for (auto [index, result] : llvm::enumerate(results)) {
    RankedTensorType type = result->getType();
    std::optional<tprt::DType> dtype = getDType(type.getElementType());
    if (!dtype)
      return function.emitError()
             << prefix(ErrorCode::UnsupportedType)
             << "a file cannot hold elements of type " << type.getElementType();
    bytes[index] = encode(toDense(result), tprt::getSize(*dtype));
    std::string name = getOutputName(function, index).str();
    std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
    if (!tensors
             .try_emplace(name, tprt::StoredTensor{*dtype, shape, bytes[index]})
             .second)
      return function.emitError()
             << prefix(ErrorCode::InterfaceMismatch)
             << "two results go by the name '" << name << "'";
  }
  if (llvm::Error error = writeFile(outputs, tprt::writeSafetensors(tensors)))
    return function.emitError() << llvm::toString(std::move(error));
  return success();
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
  return writeOutputs(function, *results);
}
