// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What attention and its gradients have in common.

#ifndef TPOPT_DIALECTS_TP_ATTENTIONFORM_H
#define TPOPT_DIALECTS_TP_ATTENTIONFORM_H

#include "dialects/TP/Emitter.h"

namespace tp {

/// The errors that query, key and value do not fit each other, or that what
/// hides keys does not fit them. `also` are further operands or results of a
/// value per query row and feature e.
mlir::LogicalResult verifyAttention(AttentionOpInterface op,
                                    llvm::ArrayRef<mlir::Value> also);
/// The error that a value per query row, such as a log-sum-exp, is not
/// [b,s,k,g] in the type that attention computes in.
mlir::LogicalResult verifyRowValue(AttentionOpInterface op, mlir::Value value,
                                   llvm::StringRef name);
/// The type of such a value.
mlir::RankedTensorType getRowType(AttentionOpInterface op);

/// The sharding rule with `operands` and `results` around what the offset, the
/// lengths and the mask add.
ShardingRule getAttentionRule(AttentionOpInterface op, llvm::StringRef operands,
                              llvm::StringRef results);

/// Floating point operations, where every pair of a query row and a key takes
/// `products` of these over d and e.
double getAttentionFlops(AttentionOpInterface op, llvm::ArrayRef<int64_t> sizes,
                         int64_t overD, int64_t overE);

/// The offset for a device that has a block of the queries, which count from
/// where that begins; `offset` is the device's own. Null if it is 0.
mlir::Value getLocalOffset(AttentionOpInterface op, spmd::Localizer &localizer,
                           mlir::Value offset);

/// What decompositions are made of, over [b,k,g,s,t].
class AttentionForm {
public:
  AttentionForm(mlir::OpBuilder &builder, AttentionOpInterface op);

  /// Query-key products times the scale.
  mlir::Value getScores();
  /// Which of `scores` are visible; null if all are.
  mlir::Value getVisible(mlir::Value scores);
  /// A value per query row [b,s,k,g], repeated for all keys.
  mlir::Value repeat(mlir::Value rows);
  /// Rounded to what products of weights and `like` are taken in: 16 bits where
  /// values have so many, as models' own code does.
  mlir::Value round(mlir::Value weights, mlir::Value like);
  /// `like` as such a product reads it.
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
