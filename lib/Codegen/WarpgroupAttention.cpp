// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention in 16-bit floats by warpgroups, on Hopper's tensor cores.
//
// The algorithm is FlashAttention-3 (Shah et al. 2024), except that all threads
// take part in the copies. A warpgroup has 64 rows, and the tensor core reads
// queries, keys and values from shared memory, where they are stored in the
// panels of Wgmma.h. The tensor core can multiply the weights of a tile by its
// values while the warps turn the next tile's scores into weights:
//
//     scores of tile 0, weights of tile 0
//     for tile 1 ..:
//       begin the scores of this tile, and the result of the tile before
//       await the scores; weights of this tile
//       await the result, and rescale it to the new maximum
//     the result of the last tile
//
// One barrier per tile ensures that its keys and the values of the tile before
// have been copied, and that all threads are done with what the next copies
// overwrite.

#include "AttentionKernels.h"
#include "HalfAttention.h"
#include "Wgmma.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// A buffer in shared memory that stores the rows of a tile in panels, the form
/// that wgmma reads. It has room for `stages` tiles.
struct Panels {
  int64_t rows, pieces; ///< Pieces per row, in global memory.
  int64_t begin;        ///< Offset in shared memory.
  int64_t stages;

  int64_t getPanelBytes() const { return rows * kPanelRowBytes; }
  int64_t getTileBytes() const { return rows * pieces * kAccessBytes; }
  int64_t getEnd() const { return begin + stages * getTileBytes(); }
};

class WarpgroupAttention final : HalfAttention {
public:
  WarpgroupAttention(OpBuilder &builder, step::AttentionOp op,
                     const AttentionShape &shape, gpu::GPUFuncOp function);
  int64_t emit();

private:
  void weigh(Value tile) override;
  void accumulate(Value tile) override;

  void setPanels();
  /// Emits the loop over the tiles. There must be at least one tile.
  void emitTiles();
  /// Begins to copy the values of `tile` and the keys of the next tile. The
  /// products after the next tile's barrier read them.
  void copyNext(Value tile);
  /// Emits the loop over the tiles from `begin` to `end`, which come after the
  /// first tile. `hides` is true if some of their keys may be masked.
  void goThrough(Value begin, Value end, bool hides);
  SmallVector<Value> getLoopState();
  void setLoopState(ValueRange values);

  /// A row in global memory, and how many bytes of each 16-byte piece of the
  /// row to copy. That is 16, or 0 if zeros are to be written instead of the
  /// row.
  struct Piece {
    Value source, bytes;
  };
  /// Begins to copy rows to panels at the offset `place` in shared memory.
  /// `row` is the first row that the thread copies. `getPiece(row, rows)` says
  /// where row `row` + `rows` is in global memory.
  void copyRows(const Panels &panels, Value place,
                llvm::function_ref<Piece(Value row, int64_t rows)> getPiece);
  void copyQuery();
  void copyTile(const Panels &panels, Value operand, Value tile);
  /// Waits for all threads, and for all groups of copies except the `pending`
  /// most recent ones.
  void awaitCopies(int64_t pending);

  Value getPlace(const Panels &panels, Value tile);
  void multiplyKeys(Value tile);
  void multiplyValues(Value tile);
  void awaitScores(int64_t pending);
  void awaitOutput();

  Wgmma wgmma;
  Panels queryPanels, keyPanels, valuePanels;
  Value queryPlace; ///< Descriptor of the warpgroup's rows.
};

} // namespace

WarpgroupAttention::WarpgroupAttention(OpBuilder &builder, step::AttentionOp op,
                                       const AttentionShape &shape,
                                       gpu::GPUFuncOp function)
    : HalfAttention(builder, op, shape, function),
      wgmma(builder, loc, element) {}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void WarpgroupAttention::setPanels() {
  auto get = [&](int64_t rows, int64_t features, int64_t begin,
                 int64_t stages) {
    return Panels{rows, features * elementBytes / kAccessBytes, begin, stages};
  };
  queryPanels = get(shape.tiles.getRows(), shape.features, 0, 1);
  keyPanels = get(shape.tiles.keys, shape.features, queryPanels.getEnd(), 2);
  valuePanels =
      get(shape.tiles.keys, shape.valueFeatures, keyPanels.getEnd(), 2);
}

Value WarpgroupAttention::getPlace(const Panels &panels, Value tile) {
  return add(mul(rem(tile, panels.stages), panels.getTileBytes()),
             panels.begin);
}

void WarpgroupAttention::copyRows(
    const Panels &panels, Value place,
    llvm::function_ref<Piece(Value row, int64_t rows)> getPiece) {
  // All pieces that a thread copies have the same column and the same row
  // within an 8-row atom. So their swizzled column is the same.
  int64_t rowsAtOnce = shape.tiles.warps * kWarp / panels.pieces;
  constexpr int64_t kPanelPieces = kPanelRowBytes / kAccessBytes;
  Value row = div(thread, panels.pieces), column = rem(thread, panels.pieces);
  Value swizzled = arith::XOrIOp::create(
      builder, loc, rem(column, kPanelPieces), rem(row, kAtomRows));
  Value to = add(place, mul(swizzled, kAccessBytes));
  to = add(to, mul(div(column, kPanelPieces), panels.getPanelBytes()));
  to = at(shared, add(to, mul(row, kPanelRowBytes)));
  for (int64_t rows = 0; rows < panels.rows; rows += rowsAtOnce) {
    auto [source, bytes] = getPiece(row, rows);
    NVVM::CpAsyncOp::create(builder, loc, at(to, rows * kPanelRowBytes),
                            locate(source, {{column, kAccessBytes}}),
                            kAccessBytes, NVVM::LoadCacheModifierKind::CG,
                            bytes);
  }
}

void WarpgroupAttention::copyQuery() {
  Value last = number(shape.rows - 1);
  copyRows(
      queryPanels, number(queryPanels.begin), [&](Value row, int64_t rows) {
        // Rows past the end read the last row; their results are not stored.
        return Piece{getRow(query, min(add(add(firstRow, row), rows), last)),
                     number(kAccessBytes)};
      });
}

void WarpgroupAttention::copyTile(const Panels &panels, Value operand,
                                  Value tile) {
  ifTrue(less(tile, endTile), [&] {
    int64_t rowBytes = step::Strides(typeOf(operand)).strides[1] * elementBytes;
    Value firstKey = mul(tile, panels.rows);
    Value head = getHead(operand);
    copyRows(panels, getPlace(panels, tile), [&](Value row, int64_t rows) {
      Value key = add(firstKey, row);
      Value exists = less(add(key, rows), end);
      return Piece{at(locate(head, {{key, rowBytes}}), rows * rowBytes),
                   select(exists, number(kAccessBytes), number(0))};
    });
  });
}

void WarpgroupAttention::awaitCopies(int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, pending);
  wgmma.fenceProxy();
  gpu::BarrierOp::create(builder, loc);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Concatenates all sums, in the order in which an instruction takes them.
static SmallVector<Value> flatten(ArrayRef<Sums> sums) {
  SmallVector<Value> values;
  for (const Sums &four : sums)
    llvm::append_range(values, four);
  return values;
}

static SmallVector<Sums> toSums(ValueRange values) {
  SmallVector<Sums> sums(values.size() / 4);
  for (auto [i, value] : llvm::enumerate(values))
    sums[i / 4][i % 4] = value;
  return sums;
}

/// The offset of step `k` along the depth of a product, from the first row of
/// the panels. A step is 16 elements.
static int64_t getDepthOffset(const Panels &panels, int64_t k) {
  constexpr int64_t kPanelDepths = kPanelElements / kK;
  return k / kPanelDepths * panels.getPanelBytes() +
         k % kPanelDepths * kKPieces * kAccessBytes;
}

void WarpgroupAttention::multiplyKeys(Value tile) {
  Value keys = wgmma.getDescriptor(at(shared, getPlace(keyPanels, tile)),
                                   keyPanels.getPanelBytes());
  SmallVector<Value> sums;
  for (int64_t k = 0; k < shape.features / kK; ++k) {
    Value a = wgmma.advance(queryPlace, getDepthOffset(queryPanels, k));
    Value b = wgmma.advance(keys, getDepthOffset(keyPanels, k));
    sums = k == 0 ? wgmma.begin(shape.tiles.keys, a, b)
                  : wgmma.multiply(a, b, Major::Depth, sums);
  }
  wgmma.commit();
  rowTiles.front().scores = toSums(sums);
}

void WarpgroupAttention::multiplyValues(Value tile) {
  RowTile &rows = rowTiles.front();
  Value values = wgmma.getDescriptor(at(shared, getPlace(valuePanels, tile)),
                                     valuePanels.getPanelBytes());
  SmallVector<Value> sums = flatten(rows.output);
  for (auto [k, weights] : llvm::enumerate(rows.weights))
    sums =
        wgmma.multiply(ValueRange(ArrayRef<Value>(weights)),
                       wgmma.advance(values, int64_t(k) * kK * kPanelRowBytes),
                       Major::Columns, sums);
  wgmma.commit();
  rows.output = toSums(sums);
}

void WarpgroupAttention::awaitScores(int64_t pending) {
  RowTile &rows = rowTiles.front();
  rows.scores = toSums(wgmma.wait(pending, flatten(rows.scores)));
}

/// When this is called, `scores` already holds the weights. The weights are
/// operands and results of the wait, so that they are packed after the wait and
/// not before: packing overwrites registers that the product reads.
void WarpgroupAttention::awaitOutput() {
  RowTile &rows = rowTiles.front();
  SmallVector<Value> values = flatten(rows.output);
  llvm::append_range(values, flatten(rows.scores));
  values = wgmma.wait(0, values);
  size_t numScores = rows.scores.size() * 4;
  rows.output = toSums(ArrayRef<Value>(values).drop_back(numScores));
  rows.scores = toSums(ArrayRef<Value>(values).take_back(numScores));
}

void WarpgroupAttention::weigh(Value tile) {
  wgmma.fence({});
  multiplyKeys(tile);
  awaitScores(0);
  setScores(
      hideWhereNeeded(tile, getScores(), [&] { return getHidden(tile); }));
  takeWeights(rowTiles.front());
  packWeights(rowTiles.front());
}

void WarpgroupAttention::accumulate(Value tile) {
  setLoopState(wgmma.fence(getLoopState()));
  multiplyValues(tile);
  rowTiles.front().scores.clear();
  awaitOutput();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpgroupAttention::getLoopState() {
  SmallVector<Value> values = getState();
  for (Fragment &weights : rowTiles.front().weights)
    llvm::append_range(values, weights);
  return values;
}

void WarpgroupAttention::setLoopState(ValueRange values) {
  size_t numState = getState().size();
  setState(values.take_front(numState));
  rowTiles.front().weights = toSums(values.drop_front(numState));
}

void WarpgroupAttention::copyNext(Value tile) {
  copyTile(valuePanels, value, tile);
  copyTile(keyPanels, key, add(tile, 1));
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

/// Between the start of a product and the wait for it, there must be no
/// branches, and no new weights in the registers of the old ones: otherwise
/// ptxas would make one product wait for the other.
void WarpgroupAttention::goThrough(Value begin, Value end, bool hides) {
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, number(1), getLoopState());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    setLoopState(loop.getRegionIterArgs());
    Value tile = loop.getInductionVar();
    awaitCopies(0);
    copyNext(tile);
    setLoopState(wgmma.fence(getLoopState()));
    multiplyKeys(tile);
    multiplyValues(add(tile, -1));
    awaitScores(1);
    if (hides)
      setScores(getHidden(tile));
    takeWeights(rowTiles.front());
    awaitOutput();
    packWeights(rowTiles.front());
    shrinkOutput(rowTiles.front());
    scf::YieldOp::create(builder, loc, getLoopState());
  }
  setLoopState(loop.getResults());
}

void WarpgroupAttention::emitTiles() {
  copyQuery();
  copyTile(keyPanels, key, firstTile);
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  copyNext(firstTile);
  awaitCopies(1);
  weigh(firstTile);
  Value second = add(firstTile, 1);
  auto [wholeBegin, wholeEnd] = getWholeTiles();
  wholeBegin = max(wholeBegin, second);
  wholeEnd = max(wholeEnd, wholeBegin);
  if (window)
    goThrough(second, wholeBegin, /*hides=*/true);
  goThrough(wholeBegin, wholeEnd, /*hides=*/false);
  goThrough(wholeEnd, endTile, /*hides=*/true);
  awaitCopies(0);
  accumulate(add(endTile, -1));
}

int64_t WarpgroupAttention::emit() {
  setPanels();
  beginRows();
  Value rows = at(shared, mul(div(thread, kWarpgroup * kWarp),
                              kWarpgroup * kM * kPanelRowBytes));
  queryPlace = wgmma.getDescriptor(rows, queryPanels.getPanelBytes());
  SmallVector<Value> empty = getState();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(empty)),
                                  less(firstTile, endTile),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emitTiles();
    scf::YieldOp::create(builder, loc, getState());
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, loc, empty);
  }
  setState(branch.getResults());
  storeResult(rowTiles.front());
  combineParts();
  return valuePanels.getEnd();
}

int64_t tp::codegen::emitWarpgroupAttention(OpBuilder &builder,
                                            step::AttentionOp op,
                                            const AttentionShape &shape,
                                            gpu::GPUFuncOp function) {
  return WarpgroupAttention(builder, op, shape, function).emit();
}
