// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the lines of operations in a text whose locations do not name them.
//
// Exports from JAX name some operations without a file, `loc("cholesky")`. An
// error there is reported at the operation's line in the text. A file of
// weights has no lines, and what would be printed as its line is binary.

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
  /// `text` must outlive this object: it is parsed again at the first query.
  SourceLines(llvm::MemoryBufferRef text, const mlir::DialectRegistry &dialects)
      : text(text), dialects(dialects) {}

  /// Emits a diagnostic again at a line of the text, if it has none. A
  /// diagnostic about the module as a whole, which has no line in an MLIR file,
  /// goes to the file's first line. Any other goes to the line of the first
  /// operation which has its location and whose name it mentions, or else to
  /// its location alone, if that says anything. Returns true if it was emitted.
  bool repeatAtLine(mlir::Diagnostic &diagnostic);

  /// Prints a diagnostic that is about a whole file, by the file's name alone.
  /// Returns true if it was about one.
  static bool printIfWholeFile(const mlir::Diagnostic &diagnostic);

  /// Prints a diagnostic without its source line if that line is in a binary
  /// file. Returns true if it did.
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
  std::optional<std::vector<Place>> places; ///< Of operations without a line.
};

} // namespace tp

#endif // TPOPT_TOOLS_TPOPT_SOURCELINES_H
