// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the attention kernels have in common, whatever computes the products.
//
// A block has some rows and goes through the keys in *tiles*, which it copies
// to shared memory, two of each kind at a time: one is computed with while the
// next arrives. Only tiles with a visible key are looked at, and they may be
// divided among several blocks, the *parts*, of which each leaves what it has
// summed.

#ifndef TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H
#define TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H

#include "AttentionBlock.h"

namespace tp::codegen {

/// The size of an attention and how it is divided.
struct AttentionShape {
  AttentionShape(step::AttentionOp op, const AttentionTiles &tiles);

  int64_t batch, queries, heads, groups, features; ///< Of the query.
  int64_t keys, valueFeatures;
  int64_t rows;  ///< For one key-value head.
  int64_t parts; ///< Blocks that share the keys of a block of rows.
  bool isSplit;  ///< Whether the parts are put together elsewhere.
  AttentionTiles tiles;
  int64_t rowBlocks;

  int64_t getNumBlocks() const { return batch * heads * rowBlocks * parts; }
};

/// The part of shared memory that holds two tiles of keys or of values, row
/// after row. A row has an odd number of 16-byte pieces, so that the pieces
/// which eight rows have in one column lie in different banks, and all places
/// are a sum of what the thread knows and a constant.
struct TileBuffer {
  mlir::Value global; ///< Where the head's first row begins.
  int64_t rowStride;  ///< Bytes, in global memory.
  int64_t pieces;     ///< Of a row, in global memory.
  int64_t padded;     ///< With zeros behind, as the products want them.
  int64_t keys;
  int64_t begin; ///< In shared memory.

  int64_t getPitch() const { return (padded | 1) * kAccessBytes; }
  int64_t getTileBytes() const { return keys * getPitch(); }
  int64_t getEnd() const { return begin + 2 * getTileBytes(); }
};

class AttentionEmitter : protected AttentionBlock {
public:
  AttentionEmitter(mlir::OpBuilder &builder, step::AttentionOp op,
                   const AttentionShape &shape, mlir::gpu::GPUFuncOp function);
  virtual ~AttentionEmitter() = default;

protected:
  /// What a thread keeps from tile to tile.
  virtual llvm::SmallVector<mlir::Value> getState() = 0;
  virtual void setState(mlir::ValueRange values) = 0;
  /// Turns the scores with the keys of a tile, which has arrived, to weights,
  /// and the state to what it is with the maximum that they give.
  virtual void weigh(mlir::Value tile) = 0;
  /// Adds the values of the tile with these weights.
  virtual void accumulate(mlir::Value tile) = 0;

  /// Rows of tiles are padded to a multiple of so many pieces.
  void setBuffers(int64_t multiple);
  /// Goes through the tiles.
  void emitTiles();

  mlir::Value scaled(mlir::Value score);
  /// 2^(a * scale - b), where the scale has the logarithm of e.
  mlir::Value exp(mlir::Value a, mlir::Value b);

  /// Where row `row` begins in what the block writes, of the part that it has.
  mlir::Value getOutputRow(mlir::Value argument, mlir::Value row);

  /// Where a tile lies in shared memory, in bytes from its beginning.
  mlir::Value getTilePlace(const TileBuffer &buffer, mlir::Value tile);
  /// `scores` with those hidden that are, as `hideAll` gives them. Most tiles
  /// have none.
  llvm::SmallVector<mlir::Value>
  hideWhereNeeded(mlir::Value tile, mlir::ValueRange scores,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>()> hideAll);
  /// The tiles of which nothing is hidden, masks apart: the first one and the
  /// one behind.
  std::pair<mlir::Value, mlir::Value> getWholeTiles();
  /// For a row whose maximum changes: what is subtracted from scaled scores,
  /// and what the sums so far shrink by.
  std::pair<mlir::Value, mlir::Value> shiftTo(mlir::Value before,
                                              mlir::Value maximum);

  /// Stores what a row has, if there is the row: by `emit`, for the place of
  /// its result, and of a part the statistics, too.
  void storeRow(mlir::Value row, mlir::Value maximum, mlir::Value sum,
                llvm::function_ref<void(mlir::Value place)> emit);
  /// What a row's result is multiplied by in the end: 1 over the sum, but 1 if
  /// it sees nothing or if this is a part.
  mlir::Value getFactor(mlir::Value sum);
  /// Of one element.
  int64_t getOutputBytes() const { return shape.isSplit ? 4 : elementBytes; }

  const AttentionShape &shape;

  /// Arguments, null for operands that are not given.
  mlir::Value output, statistics, logsumexp;
  mlir::Value part, firstRow;
  mlir::Value firstPosition, lastPosition; ///< Of the block's rows.
  mlir::Value end; ///< Behind the last key that a row of the block sees.
  mlir::Value firstTile, endTile;
  TileBuffer keyTiles, valueTiles;

private:
  /// From what `storeRow` gets.
  mlir::Value getLogSumExp(mlir::Value maximum, mlir::Value sum);
  void findPlace();
  void findTiles();
  /// Whether a key of a tile may be hidden from a row of the block, masks
  /// apart.
  mlir::Value mayHide(mlir::Value tile);
  TileBuffer getTileBuffer(mlir::Value operand, int64_t multiple,
                           int64_t begin);
  /// Begins to copy a tile if it is one, with zeros for keys that no row sees.
  void beginCopy(const TileBuffer &buffer, mlir::Value tile);
  void copyTile(const TileBuffer &buffer, mlir::Value tile);
  /// Waits for all groups of copies but the youngest, and for all threads.
  void awaitCopies();
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H
