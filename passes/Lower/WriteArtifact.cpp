// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

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
    std::string why;
    std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(file, &why);
    if (output) {
      output->os() << *bytes;
      output->os().close();
      if (!output->os().has_error())
        return output->keep();
      why = output->os().error().message();
      output->os().clear_error();
    }
    getOperation().emitError() << prefix(ErrorCode::UnwritableFile)
                               << "cannot write '" << file << "': " << why;
    signalPassFailure();
  }
};

} // namespace
