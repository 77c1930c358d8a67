// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Entry.h"

#include "dialects/TP/Interface.h"
#include "lib/Codegen/Artifact.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Lower/Passes.h"

#include "mlir/IR/Verifier.h"

namespace tp {
#define GEN_PASS_DEF_WRITEINTERFACEPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The type of the whole tensor that a local tensor is a part of.
static Type getWholeType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto local = tensor
                   ? dyn_cast_if_present<spmd::LocalAttr>(tensor.getEncoding())
                   : spmd::LocalAttr();
  return local
             ? RankedTensorType::get(local.getGlobal(), tensor.getElementType())
             : type;
}

namespace {

struct WriteInterface : tp::impl::WriteInterfacePassBase<WriteInterface> {
  using WriteInterfacePassBase::WriteInterfacePassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(write()))
      signalPassFailure();
  }

private:
  LogicalResult write() {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> interface = ModuleOp::create(module.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(interface->getBody());
    for (auto function : module.getOps<func::FuncOp>())
      if (isEntry(function) &&
          failed(createEntry(builder, function, {}, getWholeType)))
        return failure();
    if (failed(verify(*interface)))
      return failure();
    FailureOr<std::string> bytes =
        buildInterfaceArtifact(*interface, getProgramBytes(module));
    if (failed(bytes))
      return failure();
    if (llvm::Error error = writeFile(file, *bytes))
      return module.emitError() << toMessage(std::move(error));
    return success();
  }
};

} // namespace
