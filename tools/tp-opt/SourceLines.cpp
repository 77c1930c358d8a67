// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SourceLines.h"

#include "runtime/Core/FileKind.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tp;

static std::string print(Location location) {
  std::string text;
  llvm::raw_string_ostream(text) << location;
  return text;
}

static bool hasLine(Location location) {
  return bool(location->findInstanceOf<FileLineColLoc>());
}

void SourceLines::read() {
  places.emplace();
  if (isBytecode(text))
    return;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text),
                             llvm::SMLoc());
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  // Errors in the text have already been reported.
  context.getDiagEngine().registerHandler([](Diagnostic &) {});
  Block block;
  AsmParserState state;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (failed(parseAsmSourceFile(sources, &block, config, &state)))
    return;
  for (const AsmParserState::OperationDefinition &definition :
       state.getOpDefs()) {
    Operation *op = definition.op;
    if (hasLine(op->getLoc()))
      continue;
    auto [line, column] = sources.getLineAndColumn(definition.loc.Start);
    places->push_back({print(op->getLoc()), op->getName().getStringRef().str(),
                       line, column});
  }
}

/// Returns true if a message names that operation: `stablehlo.reduce_window`
/// does not name `stablehlo.reduce`.
static bool isNamed(StringRef operation, StringRef message) {
  for (size_t at = 0; (at = message.find(operation, at)) != StringRef::npos;) {
    at += operation.size();
    char next = at < message.size() ? message[at] : ' ';
    if (!llvm::isAlnum(next) && next != '_')
      return true;
  }
  return false;
}

const SourceLines::Place *SourceLines::find(Location location,
                                            StringRef message) const {
  const Place *first = nullptr;
  std::string wanted = print(location);
  for (const Place &place : *places) {
    if (place.location != wanted)
      continue;
    if (isNamed(place.operation, message))
      return &place;
    if (!first && !isa<UnknownLoc>(location))
      first = &place;
  }
  return first;
}

static void printPart(const Diagnostic &part) {
  if (auto at = part.getLocation()->findInstanceOf<FileLineColLoc>()) {
    llvm::errs() << at.getFilename().getValue() << ":";
    if (at.getLine() != 0)
      llvm::errs() << at.getLine() << ":" << at.getColumn() << ":";
    llvm::errs() << " ";
  }
  StringRef kind = part.getSeverity() == DiagnosticSeverity::Error ? "error"
                   : part.getSeverity() == DiagnosticSeverity::Warning
                       ? "warning"
                       : "note";
  llvm::errs() << kind << ": " << part << "\n";
}

/// Prints a diagnostic and its notes, without the source lines.
static void printWithoutLine(const Diagnostic &diagnostic) {
  printPart(diagnostic);
  for (const Diagnostic &note : diagnostic.getNotes())
    printPart(note);
}

bool SourceLines::printIfWholeFile(const Diagnostic &diagnostic) {
  auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (!place || place.getLine() != 0)
    return false;
  printWithoutLine(diagnostic);
  return true;
}

bool SourceLines::printIfBinary(const Diagnostic &diagnostic) {
  auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (!place)
    return false;
  StringRef path = place.getFilename().getValue();
  if (!llvm::sys::fs::is_regular_file(path))
    return false; // reading a pipe would block
  constexpr size_t kLooked = 512;
  auto start = llvm::MemoryBuffer::getFileSlice(path, kLooked, /*Offset=*/0);
  // If a slice is longer than its file, it ends in zeros.
  StringRef bytes = start ? (*start)->getBuffer().rtrim('\0') : StringRef();
  if (tprt::getFileKind({bytes.data(), bytes.size()}) == tprt::FileKind::Text)
    return false;
  printWithoutLine(diagnostic);
  return true;
}

/// Returns true if this is the location of the module that a text file forms:
/// the name of the file, and line 0.
static bool isWholeFile(Location location, StringRef file) {
  auto place = dyn_cast<FileLineColLoc>(location);
  return place && place.getLine() == 0 && place.getFilename() == file;
}

/// Emits a diagnostic again, at another location.
static void repeat(Diagnostic &diagnostic, Location at) {
  InFlightDiagnostic repeated =
      at.getContext()->getDiagEngine().emit(at, diagnostic.getSeverity());
  if (std::optional<ErrorCode> code = getErrorCode(diagnostic))
    setErrorCode(*repeated.getUnderlyingDiagnostic(), *code);
  repeated << diagnostic.str();
  for (const Diagnostic &note : diagnostic.getNotes())
    repeated.attachNote(note.getLocation()) << note.str();
}

bool SourceLines::repeatAtLine(Diagnostic &diagnostic) {
  Location location = diagnostic.getLocation();
  StringRef file = text.getBufferIdentifier();
  if (isWholeFile(location, file) && !isBytecode(text)) {
    repeat(diagnostic, FileLineColLoc::get(location.getContext(), file, 1, 1));
    return true;
  }
  if (hasLine(location))
    return false;
  if (!places)
    read();
  std::string message = diagnostic.str();
  const Place *place = find(location, message);
  if (!place)
    return false;
  repeat(diagnostic, FileLineColLoc::get(location.getContext(), file,
                                         place->line, place->column));
  return true;
}
