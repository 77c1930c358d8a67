// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Entry.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

using namespace mlir;
using namespace tp;

/// Returns the type if it is a tensor whose shape and elements are supported;
/// otherwise emits an error.
static FailureOr<RankedTensorType> checkType(func::FuncOp function, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && isSupportedTensor(RankedTensorType::get(
                    tensor.getShape(), tensor.getElementType())))
    return tensor;
  return function.emitError()
         << prefix(ErrorCode::UnsupportedType)
         << "an entry must take and return tensors, got " << type;
}

FailureOr<step::ProgramOp> tp::createEntry(OpBuilder &builder,
                                           func::FuncOp function,
                                           FlatSymbolRefAttr mesh,
                                           function_ref<Type(Type)> getType) {
  SmallVector<Attribute> inputs, outputs;
  SmallVector<Type> storage;
  auto addStorage = [&](RankedTensorType type) {
    storage.push_back(MemRefType::get(type.getShape(), type.getElementType()));
  };
  SmallVector<int64_t> aliases(function.getNumResults(), -1);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    FailureOr<RankedTensorType> type =
        checkType(function, getType(argument.getType()));
    if (failed(type))
      return failure();
    Attribute source = function.getArgAttr(index, kSourceAttr);
    if (auto donated =
            function.getArgAttrOfType<IntegerAttr>(index, kDonatedAttr)) {
      int64_t &alias = aliases[donated.getInt()];
      if (alias >= 0)
        return function.emitError()
               << prefix(ErrorCode::BadDonation) << "arguments #" << alias
               << " and #" << index << " are both donated to result #"
               << donated.getInt();
      alias = index;
    }
    inputs.push_back(step::InputAttr::get(
        builder.getContext(), getInputName(function, index),
        getRole(function, index), *type, source));
    addStorage(*type);
  }
  for (auto [index, alias] : llvm::enumerate(aliases)) {
    FailureOr<RankedTensorType> type =
        checkType(function, getType(function.getResultTypes()[index]));
    if (failed(type))
      return failure();
    outputs.push_back(step::OutputAttr::get(
        builder.getContext(), getOutputName(function, index), *type, alias,
        function.getResultAttr(index, kSourceAttr)));
    if (alias < 0)
      addStorage(*type);
  }
  auto program = step::ProgramOp::create(
      builder, function.getLoc(), function.getSymNameAttr(), mesh,
      builder.getArrayAttr(inputs), builder.getArrayAttr(outputs),
      /*positions=*/nullptr, /*arena=*/nullptr, /*overlap=*/nullptr);
  Block &body = program.getBody().emplaceBlock();
  for (Type type : storage)
    body.addArgument(type, function.getLoc());
  return program;
}
