// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A product with one distinguished operand: its rows are gathered, or
/// become the rows of the result, which are scattered. Here, operand 1 is the
/// distinguished one:
///
///     RowProduct(tp.einsum "io,bi->bo" %w, %x, 1)
///       rows %x "bi", other %w "io"

#ifndef TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H
#define TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

struct RowProduct {
  EinsumOp op;
  unsigned side; ///< The number of the operand that has the rows.
  mlir::Value rows, other;
  llvm::StringRef rowsTerm, otherTerm, result; ///< Of the op's equation.

  RowProduct(EinsumOp op, unsigned side)
      : op(op), side(side), rows(op->getOperand(side)),
        other(op->getOperand(1 - side)) {
    EinsumTerms terms = EinsumTerms::split(op.getEquation());
    rowsTerm = side == 0 ? terms.lhs : terms.rhs;
    otherTerm = side == 0 ? terms.rhs : terms.lhs;
    result = terms.result;
  }

  /// Returns true if a letter is in the result and not in the other operand.
  bool hasOwn(char letter) const {
    return result.contains(letter) && !otherTerm.contains(letter);
  }
};

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_ROWPRODUCT_H
