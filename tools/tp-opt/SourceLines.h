// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where in a text operations stand that say otherwise themselves.
//
// Exports of JAX name some operations and give no file, `loc("cholesky")`. An
// error there is one of the line in the text. A file of weights has no lines,
// and what would be printed as one is binary.

#ifndef TPOPT_TOOLS_TPOPT_SOURCELINES_H
#define TPOPT_TOOLS_TPOPT_SOURCELINES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <vector>

namespace tp {

class SourceLines {
public:
  /// Of `text`, which must live on: it is read once more for the first
  /// question.
  SourceLines(llvm::MemoryBufferRef text, const mlir::DialectRegistry &dialects)
      : text(text), dialects(dialects) {}

  /// If `diagnostic` is about the module as a whole, which an MLIR file does
  /// not write down: says it at the file's first line. If it has no line: says
  /// it at that of the first operation which has its location and a name that
  /// it mentions, or else its location alone, if that says anything. Returns
  /// whether it did.
  bool repeatAtLine(const mlir::Diagnostic &diagnostic);

  /// Prints a diagnostic without the line that it points at, if that is in a
  /// binary file. Returns whether it did.
  static bool printIfBinary(const mlir::Diagnostic &diagnostic);

private:
  struct Place {
    std::string location, operation;
    unsigned line, column;
  };
  void read();
  const Place *find(mlir::Location location, llvm::StringRef message) const;

  llvm::MemoryBufferRef text;
  const mlir::DialectRegistry &dialects;
  std::optional<std::vector<Place>> places; ///< Of what has no line.
};

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_SOURCELINES_H
