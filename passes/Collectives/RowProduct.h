// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A product by the operand whose rows are gathered, or become rows of
/// the result that are scattered:
///
///     RowProduct(tp.einsum "io,bi->bo" %w, %x, 1).getEquation()   "bi,io->bo"

#ifndef TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H
#define TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H

#include "tpopt/Dialect/TP/TP.h"

#include <string>

namespace tp {

struct RowProduct {
  EinsumOp op;
  mlir::Value rows, other;
  std::string rowsTerm, otherTerm, result;

  RowProduct(EinsumOp op, unsigned rowsOperand);

  std::string getEquation() const {
    return rowsTerm + "," + otherTerm + "->" + result;
  }
  /// Whether a letter of the rows is in the result and not in the other
  /// operand.
  bool hasOwn(char letter) const;
  /// Calls the dimensions of the rows `letters`, and all others otherwise.
  void rename(llvm::StringRef letters);
};

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H
