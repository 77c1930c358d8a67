// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Import/ReadProgram.h"

#include "lib/Import/TextNames.h"

#include "runtime/Core/FileKind.h"
#include "tpopt/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tp;

std::optional<TextExcess> tp::findUnreadable(StringRef bytes) {
  if (stablehlo::isPortableArtifact(bytes))
    return TextExcess{ErrorCode::PortableArtifact, 1, 1};
  switch (tprt::getFileKind(bytes)) {
  case tprt::FileKind::Artifact:
    return TextExcess{ErrorCode::ArtifactGiven, 1, 1};
  case tprt::FileKind::Safetensors:
    return TextExcess{ErrorCode::WeightsGiven, 1, 1};
  case tprt::FileKind::Binary:
    return TextExcess{ErrorCode::BinaryGiven, 1, 1};
  case tprt::FileKind::Bytecode:
  case tprt::FileKind::Text:
    return findExcess(bytes);
  }
  llvm_unreachable("covered switch");
}

static OwningOpRef<ModuleOp> parse(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                   MLIRContext *context) {
  if (auto excess = findUnreadable(buffer->getBuffer())) {
    emitError(FileLineColLoc::get(context, buffer->getBufferIdentifier(),
                                  excess->line, excess->column))
        << prefix(excess->code) << describe(excess->code);
    return nullptr;
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
tp::openProgramFile(StringRef path) {
  namespace fs = llvm::sys::fs;
  bool isOpen = path == "-" || path.starts_with("/dev/fd/") ||
                path.starts_with("/proc/self/fd/") || path == "/dev/stdin";
  fs::file_status status;
  if (!isOpen && !fs::status(path, status) && !fs::is_regular_file(status) &&
      !fs::is_directory(status))
    return createError(ErrorCode::UnreadableProgram,
                       "'" + path +
                           "' is a pipe or a device, which cannot be read by "
                           "name: write - as the file and pipe the program in");
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return createError(
        getFileError(buffer.getError(), ErrorCode::UnreadableProgram),
        "cannot open '" + path + "': " + buffer.getError().message());
  return std::move(*buffer);
}

OwningOpRef<ModuleOp> tp::parseProgram(StringRef text, StringRef name,
                                       MLIRContext *context) {
  // Copies the text because the parser needs a NUL after it.
  OwningOpRef<ModuleOp> program =
      parse(llvm::MemoryBuffer::getMemBufferCopy(text, name), context);
  if (program &&
      tprt::getFileKind({text.data(), text.size()}) == tprt::FileKind::Text)
    keepTextNames(*program, llvm::MemoryBufferRef(text, name));
  return program;
}

OwningOpRef<ModuleOp> tp::readProgram(StringRef path, MLIRContext *context) {
  auto buffer = openProgramFile(path);
  if (buffer)
    return parse(std::move(*buffer), context);
  emitError(UnknownLoc::get(context)) << toMessage(buffer.takeError());
  return nullptr;
}
