// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/KernelTable.h"
#include "lib/Codegen/Ptx.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Passes/Lower/Passes.h"

namespace tp {
#define GEN_PASS_DEF_EMITPTXPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

struct EmitPtx : tp::impl::EmitPtxPassBase<EmitPtx> {
  using EmitPtxPassBase::EmitPtxPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuKernelDialects(registry);
  }

  void runOnOperation() override {
    KernelTable table;
    table.addForGpu(getOperation());
    if (table.getKernels().empty())
      return;
    FailureOr<GpuChip> wanted = getGpuChip(getOperation(), chip);
    if (failed(wanted))
      return signalPassFailure();
    FailureOr<std::vector<PtxModule>> ptx =
        compilePtx(table.getKernels(), *wanted);
    if (failed(ptx))
      return signalPassFailure();
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto [kernel, launch] :
         llvm::zip(table.getKernels(), ptx->front().launches))
      os << "// " << kernel.name << ": " << launch.blocks << " blocks of "
         << launch.threads << " threads\n";
    os << ptx->front().text;
    if (file == "-") {
      llvm::outs() << text;
      return;
    }
    if (llvm::Error error = writeFile(file, text)) {
      getOperation().emitError() << toMessage(std::move(error));
      signalPassFailure();
    }
  }
};

} // namespace
