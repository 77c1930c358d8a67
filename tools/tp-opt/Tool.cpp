// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tool.h"

#include "Import.h"
#include "SourceLines.h"
#include "Trace.h"

#include "lib/Import/ParserErrors.h"
#include "lib/Import/ReadProgram.h"
#include "lib/Import/TextNames.h"
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

namespace {
/// Lets values keep the names that they have in the text. This must happen
/// after parsing and before the other passes. At that point, mlir-opt runs no
/// code of ours except passes, so this is a pass.
class TextNamesPass
    : public PassWrapper<TextNamesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TextNamesPass)

  explicit TextNamesPass(llvm::MemoryBufferRef text) : text(text) {}

  void runOnOperation() override {
    keepTextNames(getOperation(), text);
    markAllAnalysesPreserved();
  }

private:
  llvm::MemoryBufferRef text; ///< It outlives the pass.
};

/// Counts errors, and explains errors of the parser. MLIR calls the diagnostic
/// handler first that was registered last. The handler of this class must
/// precede the one that prints, which mlir-opt registers after it has created
/// the context. So this class registers its handler whenever the parser or a
/// pass loads a dialect.
class Listener : public DialectExtensionBase {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Listener)

  Listener(ExitCode &errors, const DialectRegistry &dialects)
      : DialectExtensionBase({}), errors(errors), dialects(dialects) {}

  void apply(MLIRContext *context,
             MutableArrayRef<Dialect *> /*loaded*/) const override {
    context->getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) -> LogicalResult {
          if (repeatParserError(diagnostic, dialects))
            return success();
          errors.add(diagnostic);
          return failure();
        });
  }

  std::unique_ptr<DialectExtensionBase> clone() const override {
    return std::make_unique<Listener>(*this);
  }

private:
  ExitCode &errors;
  const DialectRegistry &dialects; ///< Without this extension.
};
} // namespace

static int run(StringRef inputFile, std::optional<StringRef> outputFile,
               const DialectRegistry &dialects, const MlirOptMainConfig &flags,
               ExitCode &code) {
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      isImportRequested() ? runImport(inputFile, dialects, code)
                          : readInput(inputFile, code);
  if (!buffer)
    return std::max(code.get(), 1);
  PassTrace trace;
  ExitCode ofPasses; // Ignored if errors are expected by a test.
  DialectRegistry registry;
  dialects.appendTo(registry);
  registry.addExtension(TypeID::get<Listener>(),
                        std::make_unique<Listener>(ofPasses, dialects));
  llvm::MemoryBufferRef text = buffer->getMemBufferRef();
  SourceLines places(text, dialects);
  MlirOptMainConfig config = flags;
  config.setPassPipelineSetupFn([&](PassManager &manager) {
    // This handler is called first. If it returns failure, mlir-opt's handlers
    // print the message.
    manager.getContext()->getDiagEngine().registerHandler(
        [&](Diagnostic &diagnostic) {
          return success(places.repeatAtLine(diagnostic) ||
                         (!flags.shouldVerifyDiagnostics() &&
                          SourceLines::printIfWholeFile(diagnostic)));
        });
    if (PassTrace::isRequested())
      trace.attach(manager);
    if (manager.getOpAnchorName() == ModuleOp::getOperationName() &&
        !isBytecode(text))
      manager.addPass(std::make_unique<TextNamesPass>(text));
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
                    "goes to the terminal; write it to a file with -o FILE\n";
  // A trace is most useful when something failed.
  if (PassTrace::isRequested())
    if (llvm::Error error = trace.write())
      code.report(std::move(error));
  if (file && isFine)
    if (llvm::Error error = file->keep())
      code.report(std::move(error));
  if (!isFine)
    code.add(ofPasses);
  return std::max(code.get(), isFine ? 0 : 1);
}

int tp::runTool(StringRef inputFile, std::optional<StringRef> outputFile,
                const DialectRegistry &dialects) {
  ExitCode code;
  auto flags = MlirOptMainConfig::createFromCLOptions();
  int result = run(inputFile, outputFile, dialects, flags, code);
  if (result != 0 && !flags.shouldVerifyDiagnostics())
    code.printHint();
  return result;
}
