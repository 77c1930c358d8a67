// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Support/OutputFile.h"

namespace tp {
#define GEN_PASS_DEF_WRITEARTIFACTPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct WriteArtifact : tp::impl::WriteArtifactPassBase<WriteArtifact> {
  using WriteArtifactPassBase::WriteArtifactPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  void runOnOperation() override {
    FailureOr<std::string> bytes = buildCPUArtifact(getOperation());
    if (failed(bytes))
      return signalPassFailure();
    if (llvm::Error error = writeFile(file, *bytes)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    // They are in the artifact now, and unreadable in the text of the module.
    getOperation()->removeAttr(kWholeProgramAttr);
    getOperation()->removeAttr(kLocalProgramAttr);
  }
};

} // namespace
