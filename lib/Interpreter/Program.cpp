// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the types of a function say about how it is to be run.

#include "tpopt/Interpreter/Interpreter.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;

static spmd::LocalAttr getLocal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<spmd::LocalAttr>(tensor.getEncoding())
                : spmd::LocalAttr();
}

/// Checks that `type` is what its encoding makes of the whole tensor.
static LogicalResult verifyLocalType(Operation *op, RankedTensorType type,
                                     const Mesh &mesh) {
  spmd::LocalAttr local = getLocal(type);
  auto error = [&] {
    return op->emitError() << prefix(ErrorCode::BadLocalType) << type << ": ";
  };
  if (local.getSharding().getMesh().getValue() != mesh.name)
    return error() << "names mesh @" << local.getSharding().getMesh().getValue()
                   << ", other values of the function name @" << mesh.name;
  auto sharding = local.getSharding().resolve(mesh, type.getRank());
  if (auto *wrong = std::get_if<ShardingError>(&sharding))
    return op->emitError() << prefix(wrong->code) << type << ": "
                           << wrong->message;
  SmallVector<int64_t> shape =
      getLocalShape(std::get<TensorSharding>(sharding), local.getGlobal());
  if (type.getShape() != ArrayRef<int64_t>(shape)) {
    InFlightDiagnostic diag = error() << "a buffer of this part has sizes [";
    llvm::interleaveComma(shape, diag);
    return diag << "]";
  }
  return success();
}

FailureOr<Program> Program::analyze(func::FuncOp function) {
  Program program;
  program.function = function;
  // Every type that has an encoding, with an op to blame it on.
  llvm::MapVector<Type, Operation *> types;
  auto note = [&](TypeRange range, Operation *op) {
    for (Type type : range)
      if (getLocal(type))
        types.insert({type, op});
  };
  note(function.getArgumentTypes(), function);
  note(function.getResultTypes(), function);
  function->walk([&](Operation *op) {
    note(op->getResultTypes(), op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        note(block.getArgumentTypes(), op);
  });
  bool isLocal = !types.empty();
  auto checkInterface = [&](TypeRange range, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(range)) {
      if (!isSupportedTensor(type))
        return emitError(function.getLoc())
               << prefix(ErrorCode::NotEvaluable) << what << " #" << index
               << " is " << type << ", not a tensor to compute with";
      if (isLocal && !getLocal(type))
        return emitError(function.getLoc())
               << prefix(ErrorCode::BadLocalType) << what << " #" << index
               << " is " << type
               << ", without #spmd.local, in a function of local values";
    }
    return success();
  };
  if (failed(checkInterface(function.getArgumentTypes(), "argument")) ||
      failed(checkInterface(function.getResultTypes(), "result")))
    return failure();
  if (!isLocal)
    return program;

  auto [first, op] = types.front();
  FlatSymbolRefAttr name = getLocal(first).getSharding().getMesh();
  spmd::MeshOp mesh = spmd::lookupMesh(op, name);
  if (!mesh)
    return op->emitError() << prefix(ErrorCode::UnknownMesh) << first
                           << ": the module has no mesh " << name;
  program.mesh = std::make_shared<Mesh>(mesh.toMesh());
  for (auto [type, op] : types)
    if (failed(
            verifyLocalType(op, cast<RankedTensorType>(type), *program.mesh)))
      return failure();
  return program;
}

Layout tp::getLayout(RankedTensorType type, const Mesh &mesh) {
  spmd::LocalAttr local = getLocal(type);
  auto sharding = local.getSharding().resolve(mesh, type.getRank());
  return {&mesh, std::get<TensorSharding>(sharding),
          SmallVector<int64_t>(local.getGlobal())};
}

RankedTensorType Program::getWholeType(Type type) {
  return spmd::getGlobalType(cast<RankedTensorType>(type));
}
