// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Contractions as products of matrices, and what the matrix library
/// computes behind them.

#ifndef TPOPT_PASSES_LOWER_PRODUCTS_H
#define TPOPT_PASSES_LOWER_PRODUCTS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Whether a letter of both operands is summed.
bool sumsProducts(EinsumOp op);

/// The ops that the target's matrix library computes behind a contraction:
/// sums and products with another tensor, and activations, each the only use of
/// the one before.
llvm::SmallVector<mlir::Operation *> getEpilogue(EinsumOp op,
                                                 const codegen::Target &target);

/// The post-op that `next`, an op of the epilogue, applies to `value`.
codegen::PostOpPattern getPost(EinsumOp op, mlir::Value value,
                               mlir::Operation *next);

/// The operand of a sum or a product that is not `value`.
mlir::Value getOther(mlir::Operation *op, mlir::Value value);

/// Sums with a residual before those with a bias, if the target wants it so.
/// Returns for each the number that it had.
llvm::SmallVector<unsigned>
orderPosts(llvm::ArrayRef<codegen::PostOpPattern> posts,
           const codegen::Target &target);

/// The last letter of the result that is no row of one element, which C has
/// stride 1 along; 0 if there is none.
char getColumnLetter(EinsumOp op);

/// Whether that is the left operand's: as a matrix product, its sides change.
bool takesColumnsFromLeft(EinsumOp op);

/// The sizes of one matrix product that does all of a contraction, but its
/// batches.
codegen::ProductSize getProductSize(EinsumOp op);

/// Whether a contraction is a matrix product that the library computes: of
/// types and sizes that it knows, over at least one letter.
bool isMatmul(EinsumOp op, const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_PRODUCTS_H
