// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tool.h"

#include "Import.h"
#include "SourceLines.h"
#include "TextNames.h"
#include "Trace.h"

#include "lib/Import/ReadProgram.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace tp;

/// Returns the text to compile; on failure, prints the reason and returns null.
static std::unique_ptr<llvm::MemoryBuffer> readInput(StringRef path,
                                                     ExitCode &code) {
  if (path == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reading from the terminal; end the input with ctrl-d)\n";
  auto buffer = openProgramFile(path);
  if (!buffer) {
    code.report(buffer.takeError());
    return nullptr;
  }
  std::optional<TextExcess> excess = findUnreadable((*buffer)->getBuffer());
  if (!excess)
    return std::move(*buffer);
  llvm::errs() << path << ":" << excess->line << ":" << excess->column
               << ": error: " << prefix(excess->code) << describe(excess->code)
               << "\n";
  code.add(excess->code);
  return nullptr;
}

int tp::runTool(StringRef inputFile, std::optional<StringRef> outputFile,
                DialectRegistry &registry) {
  ExitCode code;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      isImportRequested() ? runImport(inputFile, registry, code)
                          : readInput(inputFile, code);
  if (!buffer)
    return std::max(code.get(), 1);
  PassTrace trace;
  ExitCode ofPasses; // Ignored if errors are expected by a test.
  llvm::MemoryBufferRef text = buffer->getMemBufferRef();
  SourceLines places(text, registry);
  auto flags = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = flags;
  config.setPassPipelineSetupFn([&](PassManager &manager) {
    // This handler is asked first; if it returns failure, those of mlir-opt
    // print the message.
    manager.getContext()->getDiagEngine().registerHandler(
        [&](Diagnostic &diagnostic) {
          ofPasses.add(diagnostic);
          return success(places.repeatAtLine(diagnostic));
        });
    if (PassTrace::isRequested())
      trace.attach(manager);
    if (manager.getOpAnchorName() == ModuleOp::getOperationName() &&
        !isBytecode(text))
      manager.addPass(createTextNamesPass(text));
    return flags.setupPassPipeline(manager);
  });
  std::unique_ptr<OutputFile> file;
  if (outputFile && *outputFile != "-") {
    auto opened = OutputFile::open(*outputFile);
    if (!opened) {
      code.report(opened.takeError());
      return code.get();
    }
    file = std::move(*opened);
  }
  llvm::raw_ostream &os = file         ? file->os()
                          : outputFile ? llvm::outs()
                                       : llvm::nulls();
  bool isFine = succeeded(MlirOptMain(os, std::move(buffer), registry, config));
  if (!outputFile && isFine)
    llvm::errs() << "note: the program is not printed, because other output "
                    "goes to the terminal; write it to a file by -o FILE\n";
  // A trace is most useful when something failed.
  if (PassTrace::isRequested())
    if (llvm::Error error = trace.write())
      code.report(std::move(error));
  if (file && isFine)
    if (llvm::Error error = file->keep())
      code.report(std::move(error));
  return std::max(code.get(), isFine ? 0 : std::max(ofPasses.get(), 1));
}
