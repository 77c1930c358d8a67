// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlannedTarget.h"

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/TargetCode.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Lower/Passes.h"

namespace tp {
#define GEN_PASS_DEF_WRITEARTIFACTPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

struct WriteArtifact : tp::impl::WriteArtifactPassBase<WriteArtifact> {
  using WriteArtifactPassBase::WriteArtifactPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerTargetDialects(registry);
    registry.insert<TPDialect>();
  }

  void runOnOperation() override {
    FailureOr<const Target *> wanted =
        getPlannedTarget(getOperation(), target, fp8);
    if (failed(wanted))
      return signalPassFailure();
    CodeOptions options;
    options.chips.assign(chips.begin(), chips.end());
    options.ptxas = ptxas;
    FailureOr<std::unique_ptr<TargetCode>> code =
        codegen::createTargetCode(getOperation(), **wanted, options);
    if (failed(code))
      return signalPassFailure();
    FailureOr<std::string> bytes = buildArtifact(getOperation(), **code);
    if (failed(bytes))
      return signalPassFailure();
    if (llvm::Error error = writeFile(file, *bytes)) {
      getOperation().emitError() << toMessage(std::move(error));
      return signalPassFailure();
    }
    // The programs are in the artifact now, and would be unreadable in the text
    // of the module.
    getOperation()->removeAttr(kProgramsAttr);
  }
};

} // namespace
