// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sorts rows, or parts of rows, on a GPU: by counting or in tiles (`Sort.h`).
// When counting, each thread ranks one element. At each step all threads of a
// warp compare their own elements with one common element, so that its load is
// a single broadcast access.

#include "IndexedKernels.h"
#include "SortKeys.h"
#include "SortNetwork.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static constexpr int64_t kSortBlock = 128; ///< Threads per block.

namespace {

/// What sorting by counting and sorting in tiles have in common.
class SortEmitter {
public:
  /// The operands of `op` are source, values and indices.
  SortEmitter(OpBuilder &builder, step::KernelOpInterface op, int64_t part,
              int64_t kept, bool isDescending)
      : builder(builder), op(op), loc(op.getLoc()), places(builder, loc),
        keys(builder, loc,
             step::bufferTypeOf(op->getOperand(0)).getElementType(),
             isDescending),
        rows(step::bufferTypeOf(op->getOperand(0)).getDimSize(0)),
        columns(step::bufferTypeOf(op->getOperand(0)).getDimSize(1)),
        part(part), kept(kept), parts(llvm::divideCeil(columns, part)) {}

  FailureOr<KernelLaunch> emit(StringRef name) {
    return getSortForm(part, kept, keys.getWidth()) == SortForm::Count
               ? count(name)
               : sortTiles(name);
  }

private:
  FailureOr<KernelLaunch> count(StringRef name);
  FailureOr<KernelLaunch> sortTiles(StringRef name);
  void setPart(Value number);
  Value loadBits(Value column);
  /// Stores the element of column `column` at position `rank` of its part's
  /// results.
  void store(Value column, Value rank);
  /// Fills a tile with elements of the part, from element `begin` on. The first
  /// `skipped` groups of the tile are not loaded, but keep their content. Each
  /// thread loads its own words.
  void fillTile(SortNetwork &network, const SortTile &tile, Value begin,
                int64_t skipped);

  OpBuilder &builder;
  step::KernelOpInterface op;
  Location loc;
  BufferOffsets places;
  SortKeys keys;
  int64_t rows, columns, part, kept, parts;
  gpu::GPUFuncOp function;
  Value row, first, size; ///< The row, the start and the size of the part.
  Value firstKept;        ///< The part's start in the results.
};

} // namespace

/// Sets the part of a row that the thread works on. `number` is the part's
/// number among all parts of all rows.
void SortEmitter::setPart(Value number) {
  SmallVector<Value> indices = places.split(number, {rows, parts});
  row = indices[0];
  first = places.scale(indices[1], part);
  firstKept = places.scale(indices[1], kept);
  size = places.number(part);
  if (columns % part != 0)
    size = arith::MinSIOp::create(
        builder, loc, size,
        arith::SubIOp::create(builder, loc, places.number(columns), first));
}

Value SortEmitter::loadBits(Value column) {
  return places.load(
      keys.getStored(), function.getArgument(0),
      places.getOffset(
          {row, column},
          step::Strides(step::bufferTypeOf(op->getOperand(0))).strides));
}

void SortEmitter::store(Value column, Value rank) {
  Value index =
      arith::TruncIOp::create(builder, loc, builder.getI32Type(), column);
  Value target = places.add(firstKept, rank);
  for (auto [operand, value] :
       {std::pair(1u, loadBits(column)), std::pair(2u, index)})
    places.store(value, function.getArgument(operand),
                 places.getOffset(
                     {row, target},
                     step::Strides(step::bufferTypeOf(op->getOperand(operand)))
                         .strides));
}

FailureOr<KernelLaunch> SortEmitter::count(StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  FailureOr<ItemKernel> kernel =
      createItemKernel(builder, op, name, {rows, columns}, kSortBlock);
  if (failed(kernel))
    return failure();
  function = kernel->function;
  ArrayRef<Value> mine = kernel->index;
  Value partOfRow =
      arith::DivUIOp::create(builder, loc, mine[1], places.number(part));
  setPart(places.add(places.scale(mine[0], parts), partOfRow));
  // A word holds key and index, so one comparison orders any two elements.
  int64_t width = getSortTile(columns, keys.getWidth()).width;
  auto getWord = [&](Value column) {
    return keys.getWord(loadBits(column), column, width);
  };
  Type i32 = builder.getI32Type();
  Value word = getWord(mine[1]);
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  auto loop = scf::ForOp::create(builder, loc, first, places.add(first, size),
                                 places.number(1), ValueRange(none));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value stands =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                              getWord(loop.getInductionVar()), word);
    Value more = arith::ExtUIOp::create(builder, loc, i32, stands);
    scf::YieldOp::create(builder, loc,
                         arith::AddIOp::create(builder, loc,
                                               loop.getRegionIterArgs().front(),
                                               more)
                             .getResult());
  }
  Value rank = arith::ExtUIOp::create(builder, loc, builder.getI64Type(),
                                      loop.getResult(0));
  auto isKept = scf::IfOp::create(builder, loc,
                                  places.isBelow(rank, places.number(kept)));
  builder.setInsertionPointToStart(&isKept.getThenRegion().front());
  store(mine[1], rank);
  return kernel->launch;
}

void SortEmitter::fillTile(SortNetwork &network, const SortTile &tile,
                           Value begin, int64_t skipped) {
  int64_t groups = tile.getGroups() - skipped;
  Value group = network.getThread(), isKept;
  SmallVector<Value> words;
  if (skipped > 0) {
    words = network.loadGroup();
    isKept = places.isBelow(group, places.number(skipped));
    group = places.add(group, places.number(-skipped));
  }
  // The initial slots of elements do not matter, so let the threads of a warp
  // load adjacent elements.
  Value place = places.add(begin, group);
  for (int64_t i = 0; i < kSortGroup; ++i) {
    Value index = places.add(place, places.number(i * groups));
    Value isThere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, index, size);
    Value some =
        arith::SelectOp::create(builder, loc, isThere, index, places.number(0));
    Value full = arith::SelectOp::create(
        builder, loc, isThere,
        keys.getWord(loadBits(places.add(first, some)), some, tile.width),
        network.getLast());
    if (skipped > 0)
      words[i] = arith::SelectOp::create(builder, loc, isKept, words[i], full);
    else
      words.push_back(full);
  }
  network.storeGroup(network.sortGroup(words), Value());
  network.wait();
}

FailureOr<KernelLaunch> SortEmitter::sortTiles(StringRef name) {
  SortTile tile = getSortTile(part, keys.getWidth());
  int64_t threads = tile.getThreads(), run = getSortRun(tile, kept);
  FailureOr<KernelLaunch> launch = getLaunch(op, rows * parts, 1, threads);
  if (failed(launch))
    return failure();
  function = createGpuFunction(builder, op, name, threads);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  SortNetwork network(builder, function, tile, run);
  setPart(arith::IndexCastUIOp::create(
      builder, loc, builder.getI64Type(),
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x)));
  if (part <= tile.words) {
    fillTile(network, tile, places.number(0), /*skipped=*/0);
    network.sortRuns();
    network.reduceRuns();
  } else {
    // The first run of each tile holds the elements kept so far.
    network.storeGroup(SmallVector<Value>(kSortGroup, network.getLast()),
                       Value());
    auto loop = network.createTileLoop(places.number(0), places.number(part),
                                       places.number(tile.words - run));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    fillTile(network, tile, loop.getInductionVar(), run / kSortGroup);
    network.sortRuns();
    network.reduceRuns();
  }
  Value here = arith::MinSIOp::create(builder, loc, size, places.number(kept));
  auto loop = scf::ForOp::create(builder, loc, network.getThread(), here,
                                 places.number(threads));
  builder.setInsertionPointToStart(loop.getBody());
  Value rank = loop.getInductionVar();
  store(places.add(first, keys.getIndex(network.load(rank))), rank);
  return *launch;
}

FailureOr<KernelLaunch> tp::codegen::emitSortForGpu(OpBuilder &builder,
                                                    step::SortOp op,
                                                    StringRef name) {
  int64_t columns = step::bufferTypeOf(op.getSource()).getDimSize(1);
  return SortEmitter(builder, cast<step::KernelOpInterface>(*op), columns,
                     step::bufferTypeOf(op.getValues()).getDimSize(1),
                     op.getDescending())
      .emit(name);
}

FailureOr<KernelLaunch> tp::codegen::emitSortPartsForGpu(OpBuilder &builder,
                                                         step::SortPartsOp op,
                                                         StringRef name) {
  int64_t columns = step::bufferTypeOf(op.getSource()).getDimSize(1);
  return SortEmitter(builder, cast<step::KernelOpInterface>(*op),
                     std::min<int64_t>(op.getPart(), columns), op.getKept(),
                     op.getDescending())
      .emit(name);
}
