// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Contractions as products of matrices, and the ops that the matrix
/// library applies to these products.

#ifndef TPOPT_PASSES_LOWER_PRODUCTS_H
#define TPOPT_PASSES_LOWER_PRODUCTS_H

#include "lib/Target/Target.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Returns true if the op sums over a letter that both operands have.
bool sumsProducts(EinsumOp op);

/// The ops that the target's matrix library computes after a contraction: sums
/// and products with another tensor, and activations. Each op is the only user
/// of the one before it.
llvm::SmallVector<mlir::Operation *> getEpilogue(EinsumOp op,
                                                 const codegen::Target &target);

/// The post-op that `next`, an op of the epilogue, applies to `value`.
codegen::PostOpPattern getPost(EinsumOp op, mlir::Value value,
                               mlir::Operation *next);

/// The operand of an addition or multiplication that is not `value`.
mlir::Value getOther(mlir::Operation *op, mlir::Value value);

/// Orders post-ops as the target requires, which may mean that sums with a
/// residual come before sums with a bias. Returns indices into `posts` in the
/// new order.
llvm::SmallVector<unsigned>
orderPosts(llvm::ArrayRef<codegen::PostOpPattern> posts,
           const codegen::Target &target);

/// The last letter of the result whose size is not 1; C has stride 1 along it.
/// 0 if there is none.
char getColumnLetter(EinsumOp op);

/// Returns true if the column letter is in the left operand. The matrix product
/// then swaps its operands.
bool takesColumnsFromLeft(EinsumOp op);

/// The sizes of one matrix product of a contraction, that is, without the
/// batches.
codegen::ProductSize getProductSize(EinsumOp op);

/// Returns true if a contraction is a matrix product that the library can
/// compute: the types and sizes are supported, and at least one letter is
/// summed.
bool isMatmul(EinsumOp op, const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_PRODUCTS_H
