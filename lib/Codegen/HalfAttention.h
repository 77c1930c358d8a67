// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common part of the kernels for 16-bit floats: tensor cores compute the
// products, and lanes hold *fragments* of the operands in registers.
//
// In a 16 x 8 result, lane 4 i + j of a warp holds elements 2 j and 2 j + 1 of
// rows i and i + 8. A left operand has the same layout, so that the weights
// computed from one product can be used in the next one without moving them.

#ifndef TPOPT_LIB_CODEGEN_HALFATTENTION_H
#define TPOPT_LIB_CODEGEN_HALFATTENTION_H

#include "AttentionEmitter.h"

#include <vector>

namespace tp::codegen {

/// The sizes of a product of fragments: rows, columns and depth.
inline constexpr int64_t kM = 16, kN = 8, kK = 16;
/// The number of 16-byte pieces along the depth of a product.
inline constexpr int64_t kKPieces = 2;

/// The part of 16 x 8 sums that a lane holds.
using Sums = std::array<mlir::Value, 4>;
/// The part of a 16 x 16 left operand, or of two 16 x 8 right operands, that a
/// lane holds.
using Fragment = std::array<mlir::Value, 4>;

/// Sixteen rows that one warp processes. A lane holds parts of two of these
/// rows, 8 apart.
struct RowTile {
  std::array<mlir::Value, 2> rows, positions;
  llvm::SmallVector<Fragment> query; ///< Per 16 features.
  llvm::SmallVector<Sums> output;    ///< Per 8 features.
  std::array<mlir::Value, 2> maximum, sum;
  // The members from here on belong to the current tile of keys.
  llvm::SmallVector<Sums> scores;      ///< Per 8 keys.
  std::array<mlir::Value, 2> shrink;   ///< Factor for the output so far.
  llvm::SmallVector<Fragment> weights; ///< Per 16 keys.
};

class HalfAttention : public AttentionEmitter {
public:
  HalfAttention(mlir::OpBuilder &builder, step::AttentionOp op,
                const AttentionShape &shape, mlir::gpu::GPUFuncOp function);

protected:
  llvm::SmallVector<mlir::Value> getState() override;
  void setState(mlir::ValueRange values) override;

  /// Assigns rows to each warp, and sets the sums of the rows to zero.
  void beginRows();
  /// The scores of all rows, concatenated.
  llvm::SmallVector<mlir::Value> getScores();
  void setScores(mlir::ValueRange values);
  /// The scores, with minus infinity for hidden keys.
  llvm::SmallVector<mlir::Value> getHidden(mlir::Value tile);
  /// Replaces scores by weights, and adds these to the sums of the rows.
  void takeWeights(RowTile &tile);
  /// Converts the weights to 16-bit floats.
  void packWeights(RowTile &tile);
  /// Rescales the output so far to the new maximum.
  void shrinkOutput(RowTile &tile);
  /// Stores the rows of a tile, after warps with the same rows have merged
  /// their results. Every thread must call it.
  void storeResult(RowTile &tile);
  /// The number, in each tile, of the warp's first key.
  mlir::Value getFirstWarpKey();

  mlir::Value getPair(mlir::Value low, mlir::Value high);
  /// Converts two f32 to 16-bit floats, packed in one word.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  mlir::Value quad, pair; ///< The lane is number `pair / 2` in its quad.
  std::vector<RowTile> rowTiles;

private:
  void storeRows(RowTile &tile);
  /// Passes what the other warp has of the same rows to the first one, which
  /// merges and stores it.
  void mergeWarps(RowTile &tile);
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_HALFATTENTION_H
