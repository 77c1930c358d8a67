// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common parts of attention and its gradients.

#ifndef TPOPT_DIALECTS_TP_ATTENTIONFORM_H
#define TPOPT_DIALECTS_TP_ATTENTIONFORM_H

#include "dialects/TP/Emitter.h"

namespace tp {

/// Emits errors if query, key and value do not fit each other, or if the
/// operands that mask keys do not fit them. `also` lists further operands or
/// results with one value for each query row and feature e.
mlir::LogicalResult verifyAttention(AttentionOpInterface op,
                                    llvm::ArrayRef<mlir::Value> also);
/// Emits an error unless a value per query row, such as a log-sum-exp, is
/// [b,s,k,g] in the type that attention computes in.
mlir::LogicalResult verifyRowValue(AttentionOpInterface op, mlir::Value value,
                                   llvm::StringRef name);
/// The type of a value per query row.
mlir::RankedTensorType getRowType(AttentionOpInterface op);

/// The sharding rule, with `operands` before and `results` after the terms of
/// the offset, the lengths and the mask.
ShardingRule getAttentionRule(AttentionOpInterface op, llvm::StringRef operands,
                              llvm::StringRef results);

/// The number of floating point operations if every pair of a query row and a
/// key takes `overD` products over d and `overE` over e.
double getAttentionFlops(AttentionOpInterface op, llvm::ArrayRef<int64_t> sizes,
                         int64_t overD, int64_t overE);

/// The offset for a device that has a block of the queries. The device counts
/// queries from the beginning of its block. `offset` is the device's offset
/// operand. Null if it is 0.
mlir::Value getLocalOffset(AttentionOpInterface op, spmd::Localizer &localizer,
                           mlir::Value offset);

/// The building blocks of decompositions, over [b,k,g,s,t].
class AttentionForm {
public:
  AttentionForm(mlir::OpBuilder &builder, AttentionOpInterface op);

  /// Query-key products times the scale.
  mlir::Value getScores();
  /// A mask of the visible `scores`; null if all are visible.
  mlir::Value getVisible(mlir::Value scores);
  /// A value per query row [b,s,k,g], repeated for all keys.
  mlir::Value repeat(mlir::Value rows);
  /// Rounds weights to the type in which they are multiplied by `like`: 16 bits
  /// if `like` has 16 bits, as the original code of the models does.
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
