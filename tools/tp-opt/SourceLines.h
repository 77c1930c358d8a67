// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the lines of operations in a text whose locations do not name them.
//
// In exports from JAX, the locations of some operations are only a name,
// `loc("cholesky")`. An error at such a location is reported at the operation's
// line in the text. A file of weights has no lines: its contents are binary and
// must not be printed as a source line.

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

  /// Emits a diagnostic again at a line of the text, if its own location has no
  /// line. A diagnostic about the module as a whole goes to the first line. Any
  /// other goes to the first operation that has the same location and whose
  /// name is in the message. If there is none, it goes to the first operation
  /// that has the same location, unless that location is unknown. Returns true
  /// if the diagnostic was emitted.
  bool repeatAtLine(mlir::Diagnostic &diagnostic);

  /// If the diagnostic is about a whole file, prints it, with only the file's
  /// name as location, and returns true. Otherwise returns false.
  static bool printIfWholeFile(const mlir::Diagnostic &diagnostic);

  /// Prints a diagnostic without its source line if that line is in a binary
  /// file. Returns true if the diagnostic was printed.
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
