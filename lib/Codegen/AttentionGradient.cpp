// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of attention with respect to its query, and to its keys and
// values, computed from the log-sum-exp of each row (FlashAttention-2,
// arXiv:2307.08691).
//
// A kernel computes the gradient for entries of one side: for query rows, or
// for keys. A warp *holds* a few of these entries. It reads the entries of the
// other side in tiles, with one entry per lane. Each entry has two vectors,
// `own` and `partner`: a query row has its query and the gradient of the
// result, a key has the key and the value. For a held entry and an entry of the
// tile,
//
//     score = held own . tile own        weight = exp(score - log-sum-exp)
//     slope = weight * (held partner . tile partner - delta)
//
// Then the features are divided among the lanes in pieces, and weights and
// slopes are passed between lanes through shared memory:
//
//     gradient of the held own      = scale * sum over the tile of slope * own
//     gradient of the held partner  = sum of weight * partner  (keys only)
//
// No two blocks add to the same sum, so that the order of a sum is fixed.
// Everything is computed in f32.

#include "AttentionBlock.h"
#include "AttentionKernels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The number of entries that a warp holds, and the maximum number of warps in
/// a block.
static constexpr int64_t kWarpEntries = 4, kMaxGradientWarps = 4;

namespace {

/// One of the two vectors that each entry has: `own` or `partner`.
struct Vectors {
  Value held, tile; ///< The arguments.
  Value result;     ///< Null if this gradient is not computed.
  int64_t pieces;   ///< Pieces of 16 bytes.
  int64_t begin;    ///< Offset of the two tiles in shared memory.

  /// A row takes an odd number of 16-byte pieces. Therefore the pieces of eight
  /// rows in one column are in different banks.
  int64_t getPitch() const { return (pieces | 1) * kAccessBytes; }
  int64_t getTileBytes() const { return kWarp * getPitch(); }
  int64_t getEnd() const { return begin + 2 * getTileBytes(); }
};

/// The values that a warp keeps for one held entry.
struct Held {
  Value index;
  Value own, partner;      ///< The addresses of its vectors.
  Value position;          ///< For rows.
  Value shift, delta;      ///< For rows: the log-sum-exp times log2(e).
  SmallVector<Value> sums; ///< The lane's pieces of all results.
};

class AttentionGradient final : AttentionBlock {
public:
  AttentionGradient(OpBuilder &builder, step::AttentionOpInterface op,
                    gpu::GPUFuncOp function, int64_t warps);

  void hold(Value gradient, Value keyGradient, Value valueGradient);
  /// Returns the shared memory of a block in bytes.
  int64_t emit(Value logsumexp, Value delta);

private:
  int64_t getHeldCount() const { return holdsKeys ? keys : rows; }
  int64_t getTileCount() const { return holdsKeys ? rows : keys; }

  void beginHeld(Value logsumexp, Value delta);
  void findTiles();
  void findRowTiles();
  Value getHeldPlace(Value argument, Value entry);
  Value getTilePlace(Value argument, Value entry);
  void beginCopy(Value tile);
  void copyTile(const Vectors &vectors, Value tile);
  Value getShared(const Vectors &vectors, Value tile, Value entry);
  Value loadPiece(Value place);
  SmallVector<Value> multiply(const Vectors &vectors, Value tile,
                              Value Held::*place);
  void weigh(Value tile);
  void accumulate(Value tile);
  Value getWeightPlace(unsigned result, int64_t entry, Value tileEntry);
  void storeSums();
  SmallVector<Value> getState();
  void setState(ValueRange values);
  std::pair<Value, Value> loadStatistics(Value row);

  bool holdsKeys;
  int64_t warps, pieceElements;
  VectorType piece; ///< A piece, as f32.
  Vectors own, partner;
  SmallVector<const Vectors *, 2> results; ///< Those with gradients.
  Value logsumexp, delta;
  Value lane, warp, firstHeld;
  Value firstTile, endTile;
  SmallVector<Held> entries;
};

} // namespace

AttentionGradient::AttentionGradient(OpBuilder &builder,
                                     step::AttentionOpInterface op,
                                     gpu::GPUFuncOp function, int64_t warps)
    : AttentionBlock(builder, op, function),
      holdsKeys(isa<step::AttentionKeyValueGradientOp>(op)), warps(warps),
      pieceElements(kAccessBytes / elementBytes),
      piece(VectorType::get(pieceElements, f32)) {}

void AttentionGradient::hold(Value gradient, Value ownResult,
                             Value partnerResult) {
  own = {query, key, getArgument(ownResult), 0, 0};
  partner = {getArgument(gradient), value, getArgument(partnerResult), 0, 0};
  int64_t begin = 0;
  for (Vectors *vectors : {&own, &partner}) {
    if (holdsKeys)
      std::swap(vectors->held, vectors->tile);
    vectors->pieces = typeOf(vectors->tile).getShape().back() / pieceElements;
    vectors->begin = begin;
    begin = vectors->getEnd();
    if (vectors->result)
      results.push_back(vectors);
  }
}

//===----------------------------------------------------------------------===//
// The work of a block
//===----------------------------------------------------------------------===//

Value AttentionGradient::getHeldPlace(Value argument, Value entry) {
  return holdsKeys ? getKey(argument, entry) : getRow(argument, entry);
}

Value AttentionGradient::getTilePlace(Value argument, Value entry) {
  return holdsKeys ? getRow(argument, entry) : getKey(argument, entry);
}

/// Returns the value to subtract from the scores of a row, and the row's delta.
/// The row must exist.
std::pair<Value, Value> AttentionGradient::loadStatistics(Value row) {
  return {mulF(load(f32, getRow(logsumexp, row)), real(kLog2E)),
          load(f32, getRow(delta, row))};
}

void AttentionGradient::beginHeld(Value logsumexp, Value delta) {
  this->logsumexp = getArgument(logsumexp);
  this->delta = getArgument(delta);
  lane = rem(thread, kWarp);
  warp = div(thread, kWarp);
  Value block = arith::IndexCastUIOp::create(
      builder, loc, i32,
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  int64_t perBlock = warps * kWarpEntries;
  int64_t blocks = llvm::divideCeil(getHeldCount(), perBlock);
  beginHead(div(block, blocks));
  firstHeld = mul(rem(block, blocks), perBlock);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(piece));
  size_t sums = 0;
  for (const Vectors *vectors : results)
    sums += llvm::divideCeil(vectors->pieces, kWarp);
  for (int64_t i = 0; i < kWarpEntries; ++i) {
    Held &held = entries.emplace_back();
    held.index = add(firstHeld, add(mul(warp, kWarpEntries), i));
    Value existing = min(held.index, number(getHeldCount() - 1));
    held.own = getHeldPlace(own.held, existing);
    held.partner = getHeldPlace(partner.held, existing);
    if (!holdsKeys) {
      held.position = getPosition(held.index);
      std::tie(held.shift, held.delta) = loadStatistics(existing);
    }
    held.sums.assign(sums, zero);
  }
}

/// Finds the tiles with a key that a row of the block attends to.
void AttentionGradient::findTiles() {
  Value last = min(add(firstHeld, warps * kWarpEntries - 1), number(rows - 1));
  Value lastKey = add(limit, -1), firstKey = number(0);
  if (op.getCausal())
    lastKey = min(lastKey, getPosition(last));
  if (window)
    firstKey = max(firstKey, sub(getPosition(firstHeld), number(*window - 1)));
  firstTile = div(firstKey, kWarp);
  endTile = div(add(max(add(lastKey, 1), number(0)), kWarp - 1), kWarp);
}

/// Finds the tiles with a row that attends to a key of the block.
void AttentionGradient::findRowTiles() {
  Value lastKey =
      min(add(firstHeld, warps * kWarpEntries - 1), number(keys - 1));
  Value first = number(0), end = number(rows / groups);
  Value start = begin ? begin : number(0);
  if (op.getCausal())
    first = min(max(sub(firstHeld, start), number(0)), end);
  if (window) {
    // The position after the last query that attends to key `lastKey`. It may
    // overflow an i32.
    auto widen = [&](Value value) -> Value {
      return arith::ExtSIOp::create(builder, loc, i64, value);
    };
    auto wide = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getI64IntegerAttr(value));
    };
    Value behind = add(sub(widen(lastKey), widen(start)), wide(*window));
    behind = min(max(behind, wide(0)), wide(rows / groups));
    end = arith::TruncIOp::create(builder, loc, i32, behind);
  }
  end = select(less(firstHeld, limit), end, number(0));
  firstTile = div(mul(first, groups), kWarp);
  endTile = div(add(mul(end, groups), kWarp - 1), kWarp);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The address of an entry of a tile in shared memory.
Value AttentionGradient::getShared(const Vectors &vectors, Value tile,
                                   Value entry) {
  Value place = add(mul(rem(tile, 2), vectors.getTileBytes()), vectors.begin);
  return at(shared, add(place, mul(entry, vectors.getPitch())));
}

/// Copies a tile to shared memory. A thread copies 16-byte pieces of one entry,
/// then of another. Entries that do not exist are filled with zeros.
void AttentionGradient::copyTile(const Vectors &vectors, Value tile) {
  int64_t threads = warps * kWarp;
  int64_t width =
      std::min(int64_t(llvm::PowerOf2Ceil(vectors.pieces)), threads);
  Value column = rem(thread, width), row = div(thread, width);
  for (int64_t rowsDone = 0; rowsDone < kWarp; rowsDone += threads / width) {
    Value entry = add(row, rowsDone);
    Value index = add(mul(tile, kWarp), entry);
    Value exists = less(index, number(getTileCount()));
    Value from = getTilePlace(vectors.tile, index);
    Value to = getShared(vectors, tile, entry);
    for (int64_t done = 0; done < vectors.pieces; done += width) {
      Value isMine = both(less(entry, number(kWarp)),
                          less(add(column, done), number(vectors.pieces)));
      ifTrue(isMine, [&] {
        auto toPiece = [&](Value place) {
          return locate(place, {{add(column, done), kAccessBytes}});
        };
        NVVM::CpAsyncOp::create(
            builder, loc, toPiece(to), toPiece(from), kAccessBytes,
            NVVM::LoadCacheModifierKind::CG,
            select(exists, number(kAccessBytes), number(0)));
      });
    }
  }
}

void AttentionGradient::beginCopy(Value tile) {
  ifTrue(less(tile, endTile), [&] {
    copyTile(own, tile);
    copyTile(partner, tile);
  });
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

/// Loads sixteen bytes and converts the elements to f32.
Value AttentionGradient::loadPiece(Value place) {
  Value loaded = load(VectorType::get(pieceElements, element), place);
  return element.isF32() ? loaded
                         : arith::ExtFOp::create(builder, loc, piece, loaded);
}

/// Returns the dot product of each held entry's vector with the vector of the
/// tile entry that the lane processes.
SmallVector<Value> AttentionGradient::multiply(const Vectors &vectors,
                                               Value tile, Value Held::*place) {
  Value mine = getShared(vectors, tile, lane);
  auto loop = scf::ForOp::create(builder, loc, number(0),
                                 number(vectors.pieces), number(1),
                                 SmallVector<Value>(entries.size(), real(0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  std::pair<Value, int64_t> step(loop.getInductionVar(), kAccessBytes);
  Value tilePiece = loadPiece(locate(mine, step));
  SmallVector<Value> products(loop.getRegionIterArgs());
  for (auto [held, product] : llvm::zip(entries, products)) {
    Value heldPiece = loadPiece(locate(held.*place, step));
    for (int64_t i = 0; i < pieceElements; ++i)
      product =
          fma(vector::ExtractOp::create(builder, loc, heldPiece, i),
              vector::ExtractOp::create(builder, loc, tilePiece, i), product);
  }
  scf::YieldOp::create(builder, loc, products);
  return loop.getResults();
}

/// The address of a slope (`result` 0) or of a weight (`result` 1) in shared
/// memory: that of the warp's held entry `entry` and the tile's entry
/// `tileEntry`.
Value AttentionGradient::getWeightPlace(unsigned result, int64_t entry,
                                        Value tileEntry) {
  int64_t warpBytes = kWarpEntries * kWarp * 4;
  Value place =
      locate(at(shared, partner.getEnd() + result * warps * warpBytes),
             {{warp, warpBytes}});
  return locate(at(place, entry * kWarp * 4), {{tileEntry, 4}});
}

/// The lane processes one entry of the tile. For each pair of this entry and a
/// held entry, stores the slope, and also the weight if a gradient uses the
/// weights.
void AttentionGradient::weigh(Value tile) {
  SmallVector<Value> scores = multiply(own, tile, &Held::own),
                     products = multiply(partner, tile, &Held::partner);
  Value index = add(mul(tile, kWarp), lane);
  Value exists = less(index, number(getTileCount()));
  Value position, shift, rowDelta;
  if (holdsKeys) {
    position = getPosition(index);
    std::tie(shift, rowDelta) =
        loadStatistics(min(index, number(getTileCount() - 1)));
  }
  for (auto [i, held] : llvm::enumerate(entries)) {
    Value score = holdsKeys ? hide(scores[i], index, position, held.index)
                            : hide(scores[i], held.index, held.position, index);
    Value distance = fma(
        score, getScale(),
        arith::NegFOp::create(builder, loc, holdsKeys ? shift : held.shift));
    Value weight = select(exists, exp2(distance), real(0));
    Value slope =
        mulF(weight, subF(products[i], holdsKeys ? rowDelta : held.delta));
    store(slope, getWeightPlace(0, i, lane));
    if (results.size() > 1)
      store(weight, getWeightPlace(1, i, lane));
  }
}

SmallVector<Value> AttentionGradient::getState() {
  SmallVector<Value> values;
  for (Held &held : entries)
    llvm::append_range(values, held.sums);
  return values;
}

void AttentionGradient::setState(ValueRange values) {
  auto next = values.begin();
  for (Held &held : entries)
    for (Value &sum : held.sums)
      sum = *next++;
}

/// Multiplies each vector of the tile by its slope or weight for each held
/// entry, and adds the products to the held entry's sums.
void AttentionGradient::accumulate(Value tile) {
  auto loop = scf::ForOp::create(builder, loc, number(0), number(kWarp),
                                 number(1), getState());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    setState(loop.getRegionIterArgs());
    Value entry = loop.getInductionVar();
    unsigned next = 0;
    for (auto [number, vectors] : llvm::enumerate(results)) {
      Value place = getShared(*vectors, tile, entry);
      int64_t count = llvm::divideCeil(vectors->pieces, kWarp);
      SmallVector<Value> pieces;
      for (int64_t i = 0; i < count; ++i) {
        // A lane without a piece processes the last piece, but stores nothing.
        Value mine =
            min(add(lane, i * kWarp), this->number(vectors->pieces - 1));
        pieces.push_back(loadPiece(locate(place, {{mine, kAccessBytes}})));
      }
      for (auto [i, held] : llvm::enumerate(entries)) {
        Value weight = vector::BroadcastOp::create(
            builder, loc, piece, load(f32, getWeightPlace(number, i, entry)));
        for (int64_t j = 0; j < count; ++j)
          held.sums[next + j] = fma(weight, pieces[j], held.sums[next + j]);
      }
      next += count;
    }
    scf::YieldOp::create(builder, loc, getState());
  }
  setState(loop.getResults());
}

void AttentionGradient::storeSums() {
  Value scale = vector::BroadcastOp::create(
      builder, loc, piece, real(op.getScale().convertToDouble()));
  VectorType stored = VectorType::get(pieceElements, element);
  for (Held &held : entries)
    ifTrue(less(held.index, number(getHeldCount())), [&] {
      unsigned next = 0;
      for (const Vectors *vectors : results) {
        Value place = getHeldPlace(vectors->result, held.index);
        for (int64_t i = 0; i < vectors->pieces; i += kWarp) {
          Value sum = held.sums[next++], mine = add(lane, i);
          // Multiply by the scale, which the slopes do not include.
          if (vectors == &own)
            sum = mulF(sum, scale);
          if (!element.isF32())
            sum = arith::TruncFOp::create(builder, loc, stored, sum);
          ifTrue(less(mine, number(vectors->pieces)),
                 [&] { store(sum, locate(place, {{mine, kAccessBytes}})); });
        }
      }
    });
}

int64_t AttentionGradient::emit(Value logsumexp, Value delta) {
  beginHeld(logsumexp, delta);
  if (holdsKeys)
    findRowTiles();
  else
    findTiles();
  // While tile i is processed, tile i + 1 is copied over tile i - 1. After the
  // first barrier in the loop, no thread reads tile i - 1 any more.
  beginCopy(firstTile);
  auto loop = scf::ForOp::create(builder, loc, firstTile, endTile, number(1),
                                 getState());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    setState(loop.getRegionIterArgs());
    Value tile = loop.getInductionVar();
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    gpu::BarrierOp::create(builder, loc);
    beginCopy(add(tile, 1));
    weigh(tile);
    gpu::BarrierOp::create(builder, loc);
    accumulate(tile);
    scf::YieldOp::create(builder, loc, getState());
  }
  setState(loop.getResults());
  storeSums();
  return partner.getEnd() +
         int64_t(results.size()) * warps * kWarpEntries * kWarp * 4;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Emits the kernel of a gradient op. In each head, `count` entries get a
/// gradient.
template <typename OpT>
static KernelLaunch emitGradient(OpBuilder &builder, OpT op, StringRef name,
                                 int64_t count, Value ownResult,
                                 Value partnerResult) {
  int64_t warps = std::min(int64_t(llvm::divideCeil(count, kWarpEntries)),
                           kMaxGradientWarps);
  int64_t blocks = llvm::divideCeil(count, warps * kWarpEntries);
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, warps * kWarp);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  AttentionGradient gradient(builder, op, function, warps);
  gradient.hold(op.getGradient(), ownResult, partnerResult);
  int64_t bytes = gradient.emit(op.getLogsumexp(), op.getDelta());
  return {getAttentionSize(op).heads * blocks, warps * kWarp, bytes};
}

FailureOr<KernelLaunch> tp::codegen::emitQueryGradientForGpu(
    OpBuilder &builder, step::AttentionQueryGradientOp op, StringRef name) {
  return emitGradient(builder, op, name, getAttentionSize(op).rows,
                      op.getQueryGradient(), Value());
}

FailureOr<KernelLaunch> tp::codegen::emitKeyValueGradientForGpu(
    OpBuilder &builder, step::AttentionKeyValueGradientOp op, StringRef name) {
  return emitGradient(builder, op, name, getAttentionSize(op).keys,
                      op.getKeyGradient(), op.getValueGradient());
}
