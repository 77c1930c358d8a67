// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Merges sorted runs on a GPU: in a tile, if the runs are short and all become
// one run, or else by bisection (`Sort.h`), where each thread has one element:
//
//     rank = its position in its run
//     for each other run that is merged with it
//       rank += the number of elements of the run that come before the element
//     values[rank] = the element
//
// In the row, elements of earlier runs precede the element, and those of later
// runs follow it. So equal elements come before it if they are in earlier runs,
// and after it otherwise.

#include "IndexedKernels.h"
#include "SortKeys.h"
#include "SortNetwork.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static constexpr int64_t kMergeBlock = 256; ///< Threads per block.

namespace {

class MergeEmitter {
public:
  MergeEmitter(OpBuilder &builder, step::MergeOp op)
      : builder(builder), op(op), loc(op.getLoc()), places(builder, loc),
        keys(builder, loc,
             step::bufferTypeOf(op.getElements()).getElementType(),
             op.getDescending()),
        rows(step::bufferTypeOf(op.getElements()).getDimSize(0)),
        columns(step::bufferTypeOf(op.getElements()).getDimSize(1)),
        run(std::min<int64_t>(op.getRun(), columns)),
        ways(std::min<int64_t>(op.getWays(), llvm::divideCeil(columns, run))),
        kept(step::bufferTypeOf(op.getValues()).getDimSize(1)) {}

  FailureOr<KernelLaunch> emit(StringRef name) {
    return mergesInTile(columns, run, ways, kept, keys.getWidth())
               ? mergeTiles(name)
               : bisect(name);
  }

private:
  FailureOr<KernelLaunch> mergeTiles(StringRef name);
  FailureOr<KernelLaunch> bisect(StringRef name);
  /// Fills a tile with runs of the row: run i of the tile is run `firstRun` + i
  /// of the row. The first `skipped` runs of the tile are not loaded, but keep
  /// their content. Each thread loads its own words.
  void fillTile(SortNetwork &network, const SortTile &tile, Value firstRun,
                int64_t skipped);
  /// The number of elements that come before `key`, among the `size` elements
  /// from column `begin` on. Elements equal to `key` count if `countsEqual` is
  /// true.
  Value countBefore(Value key, Value begin, Value size, Value countsEqual);

  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value getOffset(Value operand, Value column) {
    return places.getOffset({row, column},
                            step::Strides(step::bufferTypeOf(operand)).strides);
  }
  Value loadBits(Value column) {
    return places.load(keys.getStored(), function.getArgument(0),
                       getOffset(op.getElements(), column));
  }
  /// Copies element `column` to entry `rank` of the values, and the element's
  /// position in the unsorted row to entry `rank` of the indices.
  void move(Value column, Value rank) {
    Value place = places.load(builder.getI32Type(), function.getArgument(1),
                              getOffset(op.getPlaces(), column));
    places.store(loadBits(column), function.getArgument(2),
                 getOffset(op.getValues(), rank));
    places.store(place, function.getArgument(3),
                 getOffset(op.getIndices(), rank));
  }

  OpBuilder &builder;
  step::MergeOp op;
  Location loc;
  BufferOffsets places;
  SortKeys keys;
  int64_t rows, columns, run, ways, kept;
  gpu::GPUFuncOp function;
  Value row;
};

} // namespace

//===----------------------------------------------------------------------===//
// In a tile
//===----------------------------------------------------------------------===//

void MergeEmitter::fillTile(SortNetwork &network, const SortTile &tile,
                            Value firstRun, int64_t skipped) {
  int64_t room = getSortRun(tile, run);
  // A group is within one run. The words of odd runs are in descending order.
  SmallVector<Value> group =
      places.split(network.getThread(), {ways, room / kSortGroup});
  Value isOdd =
      arith::TruncIOp::create(builder, loc, builder.getI1Type(), group[0]);
  Value number = places.add(firstRun, group[0]);
  Value begin = places.scale(number, run);
  SmallVector<Value> words;
  for (int64_t i = 0; i < kSortGroup; ++i) {
    Value slot =
        places.add(places.scale(group[1], kSortGroup), places.number(i));
    Value mirrored =
        arith::SubIOp::create(builder, loc, places.number(room - 1), slot);
    Value inRun = select(isOdd, mirrored, slot);
    Value column = places.add(begin, inRun);
    // The column may be outside of the row: past its end or, in a skipped run,
    // before its beginning.
    Value isInRow =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, column,
                              places.number(columns));
    Value isThere = arith::AndIOp::create(
        builder, loc, places.isBelow(inRun, places.number(run)), isInRow);
    Value some = select(isThere, column, places.number(0));
    words.push_back(select(isThere,
                           keys.getWord(loadBits(some), some, tile.width),
                           network.getLast()));
  }
  Value isNew;
  if (skipped > 0)
    isNew = places.isBelow(places.number(skipped - 1), group[0]);
  network.storeGroup(words, isNew);
  network.wait();
}

FailureOr<KernelLaunch> MergeEmitter::mergeTiles(StringRef name) {
  SortTile tile = getMergeTile(columns, run, keys.getWidth());
  int64_t room = getSortRun(tile, run), runs = tile.words / room;
  FailureOr<KernelLaunch> launch = getLaunch(op, rows, 1, tile.getThreads());
  if (failed(launch))
    return failure();
  function = createGpuFunction(builder, op, name, tile.getThreads());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  SortNetwork network(builder, function, tile, room);
  row = arith::IndexCastUIOp::create(
      builder, loc, builder.getI64Type(),
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  if (ways <= runs) {
    fillTile(network, tile, places.number(0), /*skipped=*/0);
    network.reduceRuns();
  } else {
    // The first run of each tile holds the elements kept so far.
    network.storeGroup(SmallVector<Value>(kSortGroup, network.getLast()),
                       Value());
    auto loop = network.createTileLoop(
        places.number(-1), places.number(ways - 1), places.number(runs - 1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    fillTile(network, tile, loop.getInductionVar(), /*skipped=*/1);
    network.reduceRuns();
  }
  auto loop =
      scf::ForOp::create(builder, loc, network.getThread(), places.number(kept),
                         places.number(tile.getThreads()));
  builder.setInsertionPointToStart(loop.getBody());
  Value rank = loop.getInductionVar();
  move(keys.getIndex(network.load(rank)), rank);
  return *launch;
}

//===----------------------------------------------------------------------===//
// By bisection
//===----------------------------------------------------------------------===//

/// A binary search by powers of two, from the largest down. All threads take
/// the same number of steps.
Value MergeEmitter::countBefore(Value key, Value begin, Value size,
                                Value countsEqual) {
  int64_t steps = llvm::Log2_64(run) + 1;
  Value one = places.number(1);
  auto loop =
      scf::ForOp::create(builder, loc, places.number(0), places.number(steps),
                         one, ValueRange(places.number(0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value count = loop.getRegionIterArgs().front();
  Value power = arith::ShRUIOp::create(builder, loc,
                                       places.number(int64_t(1) << (steps - 1)),
                                       loop.getInductionVar());
  Value tried = places.add(count, power);
  Value isInside = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sle, tried, size);
  Value column = places.add(begin, places.add(tried, places.number(-1)));
  Value other =
      keys.getKey(loadBits(select(isInside, column, places.number(0))));
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, other, key);
  };
  Value isBefore = select(countsEqual, compare(arith::CmpIPredicate::ule),
                          compare(arith::CmpIPredicate::ult));
  isBefore = arith::AndIOp::create(builder, loc, isInside, isBefore);
  scf::YieldOp::create(builder, loc, select(isBefore, tried, count));
  return loop.getResult(0);
}

FailureOr<KernelLaunch> MergeEmitter::bisect(StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<ItemKernel> kernel =
      createItemKernel(builder, op, name, {rows, columns}, kMergeBlock);
  if (failed(kernel))
    return failure();
  function = kernel->function;
  ArrayRef<Value> mine = kernel->index;
  row = mine[0];
  SmallVector<Value> inMerge = places.split(
      mine[1],
      {static_cast<int64_t>(llvm::divideCeil(columns, run * ways)), ways, run});
  Value key = keys.getKey(loadBits(mine[1]));
  Value begin = places.scale(inMerge[0], run * ways);
  auto loop =
      scf::ForOp::create(builder, loc, places.number(0), places.number(ways),
                         places.number(1), ValueRange(inMerge[2]));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value other = loop.getInductionVar();
    Value first = places.add(begin, places.scale(other, run));
    Value left =
        arith::SubIOp::create(builder, loc, places.number(columns), first);
    Value size = arith::MinSIOp::create(builder, loc, left, places.number(run));
    // The element's position in its own run is known without a search.
    Value isOwn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        other, inMerge[1]);
    size = select(isOwn, places.number(0), size);
    Value count =
        countBefore(key, first, size, places.isBelow(other, inMerge[1]));
    scf::YieldOp::create(builder, loc,
                         places.add(loop.getRegionIterArgs().front(), count));
  }
  Value rank = places.add(begin, loop.getResult(0));
  if (kept < columns) {
    auto isKept = scf::IfOp::create(builder, loc,
                                    places.isBelow(rank, places.number(kept)));
    builder.setInsertionPointToStart(&isKept.getThenRegion().front());
  }
  move(mine[1], rank);
  return kernel->launch;
}

FailureOr<KernelLaunch> tp::codegen::emitMergeForGpu(OpBuilder &builder,
                                                     step::MergeOp op,
                                                     StringRef name) {
  return MergeEmitter(builder, op).emit(name);
}
