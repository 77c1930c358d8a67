// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Imports a model instead of reading an input file.

#include "Import.h"

#include "SourceLines.h"

#include "tpopt/Import/Import.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static llvm::cl::opt<std::string>
    source("tp-import", llvm::cl::value_desc("hf:DIR"),
           llvm::cl::desc("Import a model instead of reading an input file"));
static llvm::cl::opt<std::string> importOptions(
    "tp-import-options", llvm::cl::value_desc("key=value ..."),
    llvm::cl::desc("What to import: phase=prefill|decode|generate batch=N "
                   "sequence=N cache=N dtype=f32|bf16|f16 logits=last|all"));

bool tp::isImportRequested() {
  return source.getNumOccurrences() || importOptions.getNumOccurrences();
}

std::unique_ptr<llvm::MemoryBuffer>
tp::runImport(StringRef inputFile, const DialectRegistry &registry,
              ExitCode &code) {
  if (inputFile != "-") {
    llvm::errs() << "error: " << prefix(ErrorCode::BadOption)
                 << "--tp-import replaces the input file; leave out "
                 << inputFile << "\n";
    code.add(ErrorCode::BadOption);
    return nullptr;
  }
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  ScopedDiagnosticHandler counter(&context, [&](Diagnostic &diagnostic) {
    code.add(diagnostic);
    // If neither function prints the diagnostic, the next handler is called.
    return success(SourceLines::printIfWholeFile(diagnostic) ||
                   SourceLines::printIfBinary(diagnostic));
  });
  FailureOr<tp::ImportOptions> options =
      tp::ImportOptions::parse(importOptions, &context);
  if (failed(options))
    return nullptr;
  OwningOpRef<ModuleOp> module = tp::importModel(source, *options, &context);
  if (!module)
    return nullptr;
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(*module, stream)))
    return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, source);
}
