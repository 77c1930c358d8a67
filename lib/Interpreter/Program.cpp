// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Determines from the types of a function how to run it.

#include "lib/Interpreter/Interpreter.h"

#include "dialects/TP/TensorTypes.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

FailureOr<Program> Program::analyze(func::FuncOp function) {
  Program program;
  program.function = function;
  TensorTypes types = collectTensorTypes(function);
  types.remove_if([](const auto &entry) { return !getLocal(entry.first); });
  bool isLocal = !types.empty();
  auto checkInterface = [&](TypeRange range, StringRef what) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(range)) {
      if (!isSupportedTensor(type))
        return emitError(function.getLoc())
               << prefix(ErrorCode::NotEvaluable) << what << " #" << index
               << " is " << type
               << ", which is not supported: expects a tensor of floats or "
                  "integers";
      if (isLocal && !getLocal(type))
        return emitError(function.getLoc())
               << prefix(ErrorCode::BadLocalType) << what << " #" << index
               << " is " << type
               << ", without #spmd.local, but other types of the function have "
                  "it";
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
  if (failed(verifyTensorTypes(types, *program.mesh)))
    return failure();
  return program;
}

Layout tp::interp::getLayout(RankedTensorType type, const Mesh &mesh) {
  spmd::LocalAttr local = getLocal(type);
  auto sharding = local.getSharding().resolve(mesh, type.getRank());
  return {&mesh, std::get<TensorSharding>(sharding),
          SmallVector<int64_t>(local.getGlobal())};
}

RankedTensorType Program::getWholeType(Type type) {
  return spmd::getGlobalType(cast<RankedTensorType>(type));
}
