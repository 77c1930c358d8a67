// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the kernels for 16-bit floats have in common: tensor cores compute the
// products, and lanes have their *fragments* in registers.
//
// Lane 4 i + j of a warp has, of a 16 x 8 result, the elements 2 j and 2 j + 1
// of rows i and i + 8, and this is also what it must have of a left operand, so
// that weights go from the one product to the other where they are.

#ifndef TPOPT_LIB_CODEGEN_HALFATTENTION_H
#define TPOPT_LIB_CODEGEN_HALFATTENTION_H

#include "AttentionEmitter.h"

#include <vector>

namespace tp::codegen {

/// Of a fragment: rows, columns and depth.
inline constexpr int64_t kM = 16, kN = 8, kK = 16;
/// Pieces of 16 bytes in the depth of a product.
inline constexpr int64_t kKPieces = 2;

/// What a lane has of 16 x 8 sums.
using Sums = std::array<mlir::Value, 4>;
/// What a lane has of a 16 x 16 left or of two 16 x 8 right operands.
using Fragment = std::array<mlir::Value, 4>;

/// Sixteen rows of a warp. A lane has two of them, 8 apart.
struct RowTile {
  std::array<mlir::Value, 2> rows, positions;
  llvm::SmallVector<Fragment> query; ///< By 16 features.
  llvm::SmallVector<Sums> output;    ///< By 8 features.
  std::array<mlir::Value, 2> maximum, sum;
  // Of the tile of keys that is looked at.
  llvm::SmallVector<Sums> scores;      ///< By 8 keys.
  std::array<mlir::Value, 2> shrink;   ///< Of what the rows have so far.
  llvm::SmallVector<Fragment> weights; ///< By 16 keys.
};

class HalfAttention : public AttentionEmitter {
public:
  HalfAttention(mlir::OpBuilder &builder, step::AttentionOp op,
                const AttentionShape &shape, mlir::gpu::GPUFuncOp function);

protected:
  llvm::SmallVector<mlir::Value> getState() override;
  void setState(mlir::ValueRange values) override;

  /// Gives each warp its rows, which have seen nothing.
  void beginRows();
  /// Scores of all rows, one after the other.
  llvm::SmallVector<mlir::Value> getScores();
  void setScores(mlir::ValueRange values);
  /// The scores with those hidden that are.
  llvm::SmallVector<mlir::Value> getHidden(mlir::Value tile);
  /// Turns scores to weights, in their place, which the sums of the rows get.
  void takeWeights(RowTile &tile);
  /// Makes 16-bit floats of them.
  void packWeights(RowTile &tile);
  /// What the rows have so far becomes what it is with the new maximum.
  void shrinkOutput(RowTile &tile);
  void storeResult(RowTile &tile);

  mlir::Value getPair(mlir::Value low, mlir::Value high);
  /// Two f32 as 16-bit floats in one word.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  mlir::Value quad, pair; ///< A lane is number `pair / 2` of its quad.
  std::vector<RowTile> rowTiles;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_HALFATTENTION_H
