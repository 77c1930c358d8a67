// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common parts of attention and its gradients.

#ifndef TPOPT_DIALECTS_TP_ATTENTIONFORM_H
#define TPOPT_DIALECTS_TP_ATTENTIONFORM_H

#include "dialects/TP/Emitter.h"

namespace tp {

/// Emits errors if the shapes of query, key and value do not fit together, or
/// if the operands that mask keys do not fit them. The operands or results in
/// `also` must have the shape [b,s,k,g,e], as the attention's result has.
mlir::LogicalResult verifyAttention(AttentionOpInterface op,
                                    llvm::ArrayRef<mlir::Value> also);
/// Verifies a value with one number per query row, such as a log-sum-exp: it
/// must be [b,s,k,g], in the element type in which attention computes.
mlir::LogicalResult verifyRowValue(AttentionOpInterface op, mlir::Value value,
                                   llvm::StringRef name);
/// The type of a tensor with one number per query row.
mlir::RankedTensorType getRowType(AttentionOpInterface op);

/// Returns the sharding rule of `op`. Its equation has the terms `operands`,
/// then the terms of the offset, the lengths and the mask, then `results`.
ShardingRule getAttentionRule(AttentionOpInterface op, llvm::StringRef operands,
                              llvm::StringRef results);

/// Returns the number of floating-point operations. For each query row and key,
/// the op computes `overD` dot products over d and `overE` over e.
double getAttentionFlops(AttentionOpInterface op, llvm::ArrayRef<int64_t> sizes,
                         int64_t overD, int64_t overE);

/// Returns the offset of the device's first query: `offset`, the device's
/// offset operand, plus the position at which the device's block of queries
/// begins. Null if the sum is 0.
mlir::Value getLocalOffset(AttentionOpInterface op, spmd::Localizer &localizer,
                           mlir::Value offset);

/// Builds the values that decompositions of attention consist of, as tensors
/// [b,k,g,s,t].
class AttentionForm {
public:
  AttentionForm(mlir::OpBuilder &builder, AttentionOpInterface op);

  /// The scores: query-key products times the scale.
  mlir::Value getScores();
  /// A mask of the visible `scores`; null if all are visible.
  mlir::Value getVisible(mlir::Value scores);
  /// A value per query row [b,s,k,g], repeated for all keys.
  mlir::Value repeat(mlir::Value rows);
  /// Rounds weights to the type in which they are multiplied by `like`: to 16
  /// bits if `like` has 16 bits. The original code of the models does the same.
  mlir::Value round(mlir::Value weights, mlir::Value like);
  /// Converts `like` to the type in which it is multiplied: types of less than
  /// 16 bits are widened.
  mlir::Value getFactor(mlir::Value like);

  Emitter emit;

private:
  mlir::Value getPositions(llvm::ArrayRef<int64_t> plane);

  AttentionOpInterface op;
  mlir::Type i32;
  llvm::SmallVector<int64_t> shape;
};

} // namespace tp

#endif // TPOPT_DIALECTS_TP_ATTENTIONFORM_H
