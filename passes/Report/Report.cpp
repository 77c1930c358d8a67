// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Says what the program sends, computes and holds.

#include "LoneValue.h"

#include "tpopt/Passes/Report/Passes.h"
#include "tpopt/Report/BuildReport.h"

namespace tp {
#define GEN_PASS_DEF_REPORTPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct ReportProgram : tp::impl::ReportPassBase<ReportProgram> {
  using ReportPassBase::ReportPassBase;

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    return ReportPassBase::initializeOptions(nameLoneValue(options, "file"),
                                             errorHandler);
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    FailureOr<Report> report = buildReport(getOperation(), *device);
    if (failed(report))
      return signalPassFailure();
    if (table)
      writeTable(*report, llvm::errs());
    if (file.empty())
      return;
    if (llvm::Error error = writeReport(*report, file)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }
};

} // namespace
