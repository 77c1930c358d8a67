// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command line of the compiler.

#include "../Process/FrontDoor.h"
#include "../Process/Process.h"
#include "ExplainError.h"
#include "Flags.h"
#include "Help.h"
#include "Tool.h"

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#ifndef NDEBUG
// Debian's libLLVM is built without assertions and has no --debug-only.
static std::string debugTypes;
static llvm::cl::opt<std::string>
    debugOnly("debug-only",
              llvm::cl::desc("Print LDBG() output of this DEBUG_TYPE"),
              llvm::cl::callback([](const std::string &value) {
                llvm::DebugFlag = true;
                debugTypes = value;
                const char *types = debugTypes.c_str();
                llvm::setCurrentDebugTypes(&types, 1);
              }));
#endif

/// Errors point at the user's line. The op printed after them is for compiler
/// engineers, who pass --mlir-print-op-on-diagnostic.
static void keepDiagnosticsShort() {
  mlir::registerMLIRContextCLOptions();
  llvm::cl::Option *option =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  if (option)
    static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  tp::setUpProcess();
  tp::setVersion("tp-opt");
  if (tp::answerHelp(argc, argv, tp::kHelp))
    return 0;
  llvm::ArrayRef<const char *> given(argv, argc);
  if (std::optional<int> code = tp::explainError(given))
    return *code;
  keepDiagnosticsShort();
  tp::hideForeignFlags();
  mlir::DialectRegistry registry;
  tp::registerTPOptDialects(registry);
  tp::stablehlo::registerReaders(registry);
  tp::sdy::registerReader(registry);
  tp::registerTPOptPasses();
  registry.insert<mlir::func::FuncDialect>();
  mlir::func::registerInlinerExtension(registry);
  mlir::registerTransformsPasses();
  auto arguments = tp::expandFlags(given);
  if (failed(arguments)) {
    tp::printHint(tp::ErrorCode::BadOption);
    return 1;
  }
  llvm::SmallVector<char *> expanded;
  for (std::string &argument : *arguments)
    expanded.push_back(argument.data());
  expanded.push_back(nullptr);
  argc = arguments->size();
  argv = expanded.data();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "tp-opt: the tensor-parallel sharding compiler\n", registry);
  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  // On a terminal, IR would make it hard to find what the user has asked for.
  std::optional<llvm::StringRef> file = output;
  if (output == "-" && tp::asksForMoreThanIR(given) &&
      llvm::sys::Process::StandardOutIsDisplayed())
    file = std::nullopt;
  return tp::runTool(input, file, registry);
}
