// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/TensorTypes.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

using namespace mlir;
using namespace tp;

spmd::LocalAttr tp::getLocal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<spmd::LocalAttr>(tensor.getEncoding())
                : spmd::LocalAttr();
}

TensorTypes tp::collectTensorTypes(FunctionOpInterface function) {
  TensorTypes types;
  auto note = [&](TypeRange range, Operation *op) {
    for (Type type : range)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        types.insert({tensor, op});
  };
  note(function.getArgumentTypes(), function);
  note(function.getResultTypes(), function);
  function->walk([&](Operation *op) {
    note(op->getResultTypes(), op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        note(block.getArgumentTypes(), op);
  });
  return types;
}

static LogicalResult verifyLocalType(Operation *op, RankedTensorType type,
                                     const Mesh &mesh) {
  spmd::LocalAttr local = getLocal(type);
  auto error = [&] {
    return op->emitError() << prefix(ErrorCode::BadLocalType) << type << ": ";
  };
  if (local.getSharding().getMesh().getValue() != mesh.name)
    return error() << "names mesh @" << local.getSharding().getMesh().getValue()
                   << ", but other values of the function name @" << mesh.name;
  auto sharding = local.getSharding().resolve(mesh, type.getRank());
  if (auto *wrong = std::get_if<ShardingError>(&sharding))
    return op->emitError() << prefix(wrong->code) << type << ": "
                           << wrong->message;
  SmallVector<int64_t> shape =
      getLocalShape(std::get<TensorSharding>(sharding), local.getGlobal());
  if (type.getShape() != ArrayRef<int64_t>(shape)) {
    InFlightDiagnostic diag = error()
                              << "expects one device's part to have sizes [";
    llvm::interleaveComma(shape, diag);
    return diag << "]";
  }
  return success();
}

LogicalResult tp::verifyTensorTypes(const TensorTypes &types,
                                    const Mesh &mesh) {
  for (auto [type, op] : types) {
    if (!isSupportedTensor(type))
      return op->emitError()
             << prefix(ErrorCode::UnsupportedTensor)
             << "expects tensors of static sizes, with floats or integers of "
                "at most 64 bits as elements, got "
             << type;
    if (getLocal(type) && failed(verifyLocalType(op, type, mesh)))
      return failure();
  }
  return success();
}

LogicalResult tp::verifyNotLocal(FunctionOpInterface function) {
  for (auto [type, op] : collectTensorTypes(function))
    if (getLocal(type))
      return op->emitError()
             << prefix(ErrorCode::AlreadyLocal)
             << "expects the whole program, not the program of one device: "
             << type << " is one device's part of a tensor";
  return success();
}
