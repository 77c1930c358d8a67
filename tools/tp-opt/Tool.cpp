// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tool.h"

#include "Import.h"
#include "SourceLines.h"
#include "Trace.h"

#include "tpopt/Program/ReadProgram.h"
#include "tpopt/Support/ErrorCodes.h"
#include "tpopt/Support/OutputFile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <atomic>
#include <cerrno>
#include <cstring>

using namespace mlir;
using namespace tp;

/// What an error says of whose fault it is. Errors without a code are the
/// user's: MLIR's own, of text that does not parse.
static int getExitCode(StringRef message) {
  for (ErrorCode code :
       {ErrorCode::DiskFull, ErrorCode::LimitReached, ErrorCode::LinkFailed})
    if (message.starts_with(prefix(code)))
      return 3;
  // Files that cannot be opened are the user's, unless no file can be.
  for (int error : {EMFILE, ENFILE, ENOMEM})
    if (message.contains(std::strerror(error)))
      return 3;
  return message.starts_with(prefix(ErrorCode::CodegenFailed)) ? 2 : 1;
}

/// Says what went wrong outside of any pass.
static int report(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  llvm::errs() << "error: " << message << "\n";
  return getExitCode(message);
}

/// The text to compile; null, with the reason printed and `code` set, if there
/// is none.
static std::unique_ptr<llvm::MemoryBuffer> readInput(StringRef path,
                                                     int &code) {
  code = 1;
  if (path == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reading from the terminal, end with ctrl-d)\n";
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openProgramFile(path, why);
  if (!buffer) {
    code = getExitCode(why);
    llvm::errs() << (code == 3 ? prefix(ErrorCode::LimitReached) : "") << why
                 << "\n";
    return nullptr;
  }
  std::optional<TextExcess> excess = findUnreadable(buffer->getBuffer());
  if (!excess)
    return buffer;
  llvm::errs() << path << ":" << excess->line << ":" << excess->column
               << ": error: " << prefix(excess->code) << describe(excess->code)
               << "\n";
  return nullptr;
}

int tp::runTool(StringRef inputFile, StringRef outputFile,
                DialectRegistry &registry) {
  int inputCode = 1;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      isImportRequested() ? runImport(inputFile, registry)
                          : readInput(inputFile, inputCode);
  if (!buffer)
    return inputCode;
  PassTrace trace;
  SourceLines places(buffer->getMemBufferRef(), registry);
  std::atomic<int> code = 0;
  auto flags = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = flags;
  config.setPassPipelineSetupFn([&](PassManager &manager) {
    // Asked first, this handler leaves the message to those of mlir-opt.
    manager.getContext()->getDiagEngine().registerHandler(
        [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            code = std::max(code.load(), getExitCode(diagnostic.str()));
          return success(places.repeatAtLine(diagnostic));
        });
    if (PassTrace::isRequested())
      trace.attach(manager);
    return flags.setupPassPipeline(manager);
  });
  std::unique_ptr<OutputFile> file;
  if (outputFile != "-") {
    auto opened = OutputFile::open(outputFile);
    if (!opened)
      return report(opened.takeError());
    file = std::move(*opened);
  }
  bool isFine = succeeded(MlirOptMain(file ? file->os() : llvm::outs(),
                                      std::move(buffer), registry, config));
  code = isFine ? 0 : std::max(code.load(), 1);
  // A trace of what failed is wanted most.
  if (PassTrace::isRequested())
    if (llvm::Error error = trace.write())
      code = std::max(code.load(), report(std::move(error)));
  if (file && isFine)
    if (llvm::Error error = file->keep())
      code = std::max(code.load(), report(std::move(error)));
  return code;
}
