// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/KernelTable.h"
#include "tpopt/Codegen/Ptx.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Support/OutputFile.h"

namespace tp {
#define GEN_PASS_DEF_EMITPTXPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct EmitPtx : tp::impl::EmitPtxPassBase<EmitPtx> {
  using EmitPtxPassBase::EmitPtxPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuKernelDialects(registry);
  }

  void runOnOperation() override {
    KernelTable table;
    getOperation().walk([&](step::RowsOp rows) { table.add(rows); });
    if (table.getKernels().empty())
      return;
    FailureOr<PtxModule> ptx = compilePtx(table.getKernels(), chip);
    if (failed(ptx))
      return signalPassFailure();
    std::string text;
    llvm::raw_string_ostream os(text);
    for (const PtxModule::Kernel &kernel : ptx->kernels)
      os << "// " << kernel.name << ": " << kernel.launch.blocks
         << " blocks of " << kernel.launch.threads << " threads\n";
    os << ptx->text;
    if (file == "-") {
      llvm::outs() << text;
      return;
    }
    if (llvm::Error error = writeFile(file, text)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }
};

} // namespace
