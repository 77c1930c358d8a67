// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reports what the program sends, computes and stores.

#include "dialects/TP/Interface.h"
#include "lib/Report/BuildReport.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Report/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace tp {
#define GEN_PASS_DEF_REPORTPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;

/// Pass options as text. A first word without a key names the file: `OUT.json
/// table=false` is `file=OUT.json table=false`.
static std::string nameFile(StringRef options) {
  StringRef word = options.take_until(llvm::isSpace);
  auto [name, value] = word.split('=');
  // A key consists of letters and is followed by `=` and a value; a path does
  // not look like that.
  bool isKey = name.size() != word.size() && llvm::all_of(name, llvm::isAlpha);
  if (word.empty() || isKey)
    return options.str();
  // If there is no other option, the whole text is the path, since paths may
  // contain blanks.
  if (!options.contains('=') && !options.contains('\''))
    return ("file='" + options + "'").str();
  return ("file=" + options).str();
}

namespace {

struct ReportProgram : tp::impl::ReportPassBase<ReportProgram> {
  using ReportPassBase::ReportPassBase;

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    return ReportPassBase::initializeOptions(nameFile(options), errorHandler);
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    FailureOr<Report> report = buildReport(getOperation(), *device);
    if (failed(report))
      return signalPassFailure();
    // Remove the data that has been reported: it would not describe the program
    // after later changes, and times do not belong in the IR.
    PlanRecord plan = PlanRecord::get(getOperation());
    plan.verified = Verified::Off;
    plan.verifyMicroseconds = 0;
    plan.set(getOperation());
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      function->removeAttr(kPricesAttr);
    if (table)
      writeTable(*report, llvm::errs());
    if (file.empty())
      return;
    if (llvm::Error error = writeReport(*report, file)) {
      getOperation().emitError() << toMessage(std::move(error));
      signalPassFailure();
    }
  }
};

} // namespace
