// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common part of the attention kernels, independent of how products are
// computed.
//
// A block has some rows and goes through the keys in *tiles*, which it copies
// to shared memory. There is room for two tiles of keys and two of values: the
// block computes with one while the next one is being copied. Only tiles with a
// visible key are processed. They may be divided among several blocks, the
// *parts*, each of which stores its partial sums. The block that ends last
// combines them (AttentionParts.cpp).

#ifndef TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H
#define TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H

#include "AttentionBlock.h"

namespace tp::codegen {

/// The sizes of an attention op, and how its work is divided.
struct AttentionShape {
  AttentionShape(step::AttentionOp op, const AttentionTiles &tiles);

  int64_t batch, queries, heads, groups, features; ///< Sizes of the query.
  int64_t keys, valueFeatures;
  int64_t rows;  ///< Per key-value head.
  int64_t parts; ///< Blocks that share the keys of a block of rows.
  bool isSplit;  ///< Parts are stored and then combined, even if it is one.
  AttentionTiles tiles;
  int64_t rowBlocks;

  int64_t getNumBlocks() const { return batch * heads * rowBlocks * parts; }
};

/// The part of shared memory that holds two tiles of keys or of values, row
/// after row. A row takes an odd number of 16-byte pieces. Therefore the pieces
/// of eight rows in one column are in different banks, and every address is a
/// per-thread value plus a constant.
struct TileBuffer {
  mlir::Value global; ///< The address of the head's first row.
  int64_t rowStride;  ///< Bytes, in global memory.
  int64_t pieces;     ///< Pieces per row, in global memory.
  int64_t padded;     ///< Pieces per row, with zeros.
  int64_t keys;
  int64_t begin; ///< Offset in shared memory.

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
  /// The values that a thread carries from one tile to the next.
  virtual llvm::SmallVector<mlir::Value> getState() = 0;
  virtual void setState(mlir::ValueRange values) = 0;
  /// Computes the scores of a tile whose keys have been copied, and replaces
  /// them by weights. Rescales the state to the new maximum.
  virtual void weigh(mlir::Value tile) = 0;
  /// Multiplies the values of the tile by the weights that weigh() has
  /// computed, and adds the products to the state.
  virtual void accumulate(mlir::Value tile) = 0;

  /// Sets `keyTiles` and `valueTiles`. Each row of a tile is padded to a
  /// multiple of `multiple` 16-byte pieces.
  void setBuffers(int64_t multiple);
  /// Emits the loop over the tiles.
  void emitTiles();

  mlir::Value scaled(mlir::Value score);
  /// 2^(a * scale - b), where the scale includes the factor log2(e).
  mlir::Value exp(mlir::Value a, mlir::Value b);

  /// The address of row `row` in a buffer of the parts, for the first part.
  mlir::Value getPartRow(mlir::Value argument, mlir::Value row);

  /// The offset of a tile in shared memory, in bytes.
  mlir::Value getTilePlace(const TileBuffer &buffer, mlir::Value tile);
  /// Returns the scores of a tile, with those of hidden keys replaced.
  /// `hideAll` emits the code that replaces them. If there is no mask, the code
  /// is emitted in a branch that runs only for tiles that may have hidden keys:
  /// most tiles have none.
  llvm::SmallVector<mlir::Value>
  hideWhereNeeded(mlir::Value tile, mlir::ValueRange scores,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>()> hideAll);
  /// The range of tiles in which no key is hidden, not counting masks: its
  /// first tile, and the tile after its last one.
  std::pair<mlir::Value, mlir::Value> getWholeTiles();
  /// For a row whose maximum changes: the value to subtract from scaled scores,
  /// and the factor by which to multiply the sums so far.
  std::pair<mlir::Value, mlir::Value> shiftTo(mlir::Value before,
                                              mlir::Value maximum);

  /// Stores the results of a row, if the row exists. `emit` stores the row's
  /// output at the address that it is given. If the attention is split into
  /// parts, the output is this part's, and the statistics of the row in this
  /// part are also stored.
  void storeRow(mlir::Value row, mlir::Value maximum, mlir::Value sum,
                llvm::function_ref<void(mlir::Value place)> emit);
  /// The factor by which a row's result is multiplied in the end: 1 over the
  /// sum. The factor is 1 if the row attends to no key, or if the attention is
  /// split into parts.
  mlir::Value getFactor(mlir::Value sum);
  /// The size of an element that storeRow() stores.
  int64_t getOutputBytes() const { return shape.isSplit ? 4 : elementBytes; }

  /// The running maximum and sum of a row over several sets of keys, and the
  /// factor by which the sum of values over each set is multiplied.
  struct Merged {
    mlir::Value maximum, sum;
    llvm::SmallVector<mlir::Value> weights;
  };
  /// Merges the scaled maxima and the sums of weights of sets of keys. A set
  /// with a sum of 0 has no visible key.
  Merged merge(mlir::ValueRange maxima, mlir::ValueRange sums);
  /// Combines the parts of the block's rows if the attention is split into
  /// parts and all other blocks with these rows have ended. Every thread must
  /// call it, after it has stored its rows.
  void combineParts();

  const AttentionShape &shape;

  /// Arguments of the kernel; null if the step lacks the operand.
  mlir::Value output, partial, statistics, counters, logsumexp;
  mlir::Value part, firstRow;
  mlir::Value firstPosition, lastPosition; ///< Positions of the block's rows.
  mlir::Value end;                         ///< One past the last visible key.
  mlir::Value firstTile, endTile;
  TileBuffer keyTiles, valueTiles;

private:
  /// Counts the block, and returns true if all parts of its rows have been
  /// counted.
  mlir::Value isLastPart();
  /// Combines four columns of a row. Loads `atOnce` parts before it computes
  /// with them.
  void combinePiece(mlir::Value row, mlir::Value piece, int64_t atOnce);
  /// The log-sum-exp of a row, from the row's maximum score and sum of weights.
  mlir::Value getLogSumExp(mlir::Value maximum, mlir::Value sum);
  void findPlace();
  void findTiles();
  /// True if a key of the tile may be hidden from a row of the block, not
  /// counting masks.
  mlir::Value mayHide(mlir::Value tile);
  TileBuffer getTileBuffer(mlir::Value operand, int64_t multiple,
                           int64_t begin);
  /// Begins to copy a tile, if it exists. Keys that no row attends to become
  /// zeros.
  void beginCopy(const TileBuffer &buffer, mlir::Value tile);
  void copyTile(const TileBuffer &buffer, mlir::Value tile);
  /// Waits for all groups of copies except the most recent one, and for all
  /// threads.
  void awaitCopies();
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ATTENTIONEMITTER_H
