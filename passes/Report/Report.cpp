// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Says what the program sends, computes and holds.

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

/// Pass options as text, in which a first word without a key is the file:
/// `OUT.json table=false` is `file=OUT.json table=false`.
static std::string nameFile(StringRef options) {
  StringRef word = options.take_until(llvm::isSpace);
  auto [name, value] = word.split('=');
  // A key is a word of letters and has a value behind it; a path has neither.
  bool isKey = name.size() != word.size() && llvm::all_of(name, llvm::isAlpha);
  if (word.empty() || isKey)
    return options.str();
  // A lone value is all there is: paths may have blanks.
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
    // Read once: later changes are not verified nor priced, and times are not
    // of the IR.
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
