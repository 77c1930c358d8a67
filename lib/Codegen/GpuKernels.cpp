// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuFunction.h"
#include "RowEmitter.h"
#include "RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The threads of a block in which each warp processes a row, or each thread a
/// chunk.
static constexpr int64_t kBlock = 128;
/// The longest row that a single warp processes.
static constexpr int64_t kMaxWarpColumns = 1024;
/// The most elements of a row that a thread keeps in registers.
static constexpr int64_t kElements = 16;
/// Threads of a block that loops over a row because the row does not fit into
/// registers. With more threads, each thread has too few registers to keep the
/// loads of several iterations in flight.
static constexpr int64_t kLoopThreads = 512;

namespace {

/// How the work of a row program is divided among threads.
struct Mapping {
  /// Either a thread processes a chunk, or a warp or a block processes a row.
  enum class Unit { Chunk, Warp, Block };
  Unit unit;
  int64_t width;   ///< Columns per chunk; divides the row.
  int64_t threads; ///< Threads that share an item.
  int64_t chunks;  ///< Chunks per thread, in registers; 0 for a loop.
  int64_t items;   ///< Rows or chunks: one per unit.
  KernelLaunch launch;
};

} // namespace

/// The number of columns per chunk: as many elements of the widest type as one
/// access loads, or fewer, so that chunks divide the row evenly.
static int64_t getWidth(step::RowsOp rows) {
  int64_t bytes = 2; // more columns would need too many registers
  for (Type type : rows.getOperandTypes()) {
    auto buffer = cast<MemRefType>(type);
    if (buffer.getRank() > 0 && step::Strides(buffer).strides.back() != 0)
      bytes = std::max(bytes, step::getElementBytes(buffer.getElementType()));
  }
  auto columns = uint64_t(rows.getNumColumns());
  return std::min(kAccessBytes / bytes, int64_t(1)
                                            << llvm::countr_zero(columns));
}

static FailureOr<Mapping> getMapping(step::RowsOp rows,
                                     const RowAnalysis &analysis) {
  Mapping map;
  int64_t columns = rows.getNumColumns();
  map.width = getWidth(rows);
  bool loops = columns > kElements * kMaxThreads;
  int64_t perBlock = 1, threads = kBlock;
  if (!analysis.hasReductions()) {
    map.unit = Mapping::Unit::Chunk;
    map.threads = 1;
    map.items = rows.getNumRows() * (columns / map.width);
    perBlock = kBlock;
  } else if (columns <= kMaxWarpColumns) {
    map.unit = Mapping::Unit::Warp;
    map.threads = kWarp;
    map.items = rows.getNumRows();
    perBlock = kBlock / kWarp;
  } else {
    map.unit = Mapping::Unit::Block;
    map.threads = threads =
        loops
            ? kLoopThreads
            : int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(columns, kElements)));
    map.items = rows.getNumRows();
  }
  map.chunks = loops ? 0 : llvm::divideCeil(columns, map.threads * map.width);
  FailureOr<KernelLaunch> launch =
      getLaunch(rows, map.items, perBlock, threads);
  if (failed(launch))
    return failure();
  map.launch = *launch;
  return map;
}

namespace {

/// The threads of a warp or of a block share a row.
class GpuTarget : public RowTarget {
public:
  GpuTarget(gpu::GPUFuncOp function, const Mapping &map, Value lane)
      : function(function), loc(function.getLoc()), map(map), lane(lane) {}

  Value combineThreads(OpBuilder &builder, step::Reduction kind,
                       Value partial) override;
  void emitOnce(OpBuilder &builder, llvm::function_ref<void()> emit) override {
    auto branch = scf::IfOp::create(
        builder, loc,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                              number(builder, 0)));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emit();
  }
  /// Threads recompute elements, since their local memory is as slow as global
  /// memory.
  Value allocateRow(OpBuilder &, Type) override { return Value(); }
  int64_t getBufferAlignment() const override { return kAccessBytes; }

private:
  Value number(OpBuilder &builder, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value exchange(OpBuilder &builder, Value value, int32_t distance);
  Value combineBlock(OpBuilder &builder, step::Reduction kind, Value value);

  gpu::GPUFuncOp function;
  Location loc;
  const Mapping &map;
  Value lane; ///< i64: number among threads sharing the row
  unsigned numShared = 0;
};

} // namespace

/// The value of the thread whose number differs in the bit `distance`.
Value GpuTarget::exchange(OpBuilder &builder, Value value, int32_t distance) {
  auto shuffle = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, distance, kWarp,
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 32)
    return shuffle(value);
  // Exchange 64 bits as two words.
  auto words = VectorType::get(2, builder.getI32Type());
  Value parts = LLVM::BitcastOp::create(builder, loc, words, value);
  for (int64_t i = 0; i < 2; ++i) {
    Value word = vector::ExtractOp::create(builder, loc, parts, i);
    parts = vector::InsertOp::create(builder, loc, shuffle(word), parts, i);
  }
  return LLVM::BitcastOp::create(builder, loc, type, parts);
}

Value GpuTarget::combineThreads(OpBuilder &builder, step::Reduction kind,
                                Value partial) {
  if (map.threads == 1)
    return partial;
  // Threads exchange words of at least 32 bits.
  Type type = partial.getType();
  bool isNarrow = type.getIntOrFloatBitWidth() < 32;
  bool isUnsigned =
      kind == step::Reduction::UMax || kind == step::Reduction::UMin;
  Value value = partial;
  if (isNarrow && isa<FloatType>(type))
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  else if (isNarrow && isUnsigned)
    value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  else if (isNarrow)
    value = arith::ExtSIOp::create(builder, loc, builder.getI32Type(), value);
  for (int32_t distance = kWarp / 2; distance > 0; distance /= 2)
    value = combineValues(builder, loc, kind, value,
                          exchange(builder, value, distance));
  if (map.unit == Mapping::Unit::Block)
    value = combineBlock(builder, kind, value);
  if (isNarrow && isa<FloatType>(type))
    return arith::TruncFOp::create(builder, loc, type, value);
  return isNarrow ? arith::TruncIOp::create(builder, loc, type, value) : value;
}

/// One thread of each warp writes the warp's value, and all threads read all
/// values. Every reduction has its own memory, so that one barrier is enough.
Value GpuTarget::combineBlock(OpBuilder &builder, step::Reduction kind,
                              Value value) {
  int64_t warps = map.threads / kWarp;
  Type type = value.getType();
  auto array = LLVM::LLVMArrayType::get(type, warps);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  std::string name =
      (function.getName() + "_shared" + Twine(numShared++)).str();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/false,
                           LLVM::Linkage::Internal, name, Attribute(),
                           /*alignment=*/kAccessBytes, kSharedSpace);
  }
  Value shared = LLVM::AddressOfOp::create(builder, loc, pointer, name);
  Value inWarp =
      arith::RemUIOp::create(builder, loc, lane, number(builder, kWarp));
  Value warp =
      arith::DivUIOp::create(builder, loc, lane, number(builder, kWarp));
  auto isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       inWarp, number(builder, 0));
  auto branch = scf::IfOp::create(builder, loc, isFirst);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    Value place = LLVM::GEPOp::create(builder, loc, pointer, type, shared,
                                      ArrayRef<LLVM::GEPArg>(warp));
    LLVM::StoreOp::create(builder, loc, value, place);
  }
  gpu::BarrierOp::create(builder, loc);
  Value all = LLVM::LoadOp::create(builder, loc, VectorType::get(warps, type),
                                   shared, kAccessBytes);
  return reduceVector(builder, loc, kind, all);
}

/// The chunks of a row that thread number `lane` processes. Several threads
/// share the row.
static RowWalk getWalk(OpBuilder &builder, Location loc, const Mapping &map,
                       int64_t columns, Value lane) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value begin = arith::MulIOp::create(builder, loc, lane, number(map.width));
  int64_t step = map.threads * map.width;
  RowWalk walk;
  walk.width = map.width;
  if (map.chunks == 0) {
    walk.begin = begin;
    walk.end = number(columns);
    walk.step = number(step);
    return walk;
  }
  for (int64_t i = 0; i < map.chunks; ++i) {
    Chunk &chunk = walk.resident.emplace_back();
    chunk.width = chunk.alignment = map.width;
    chunk.first = arith::AddIOp::create(builder, loc, begin, number(i * step));
    if ((i + 1) * step <= columns)
      continue;
    chunk.own = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      chunk.first, number(columns));
    chunk.first = arith::MinSIOp::create(builder, loc, chunk.first,
                                         number(columns - map.width));
  }
  return walk;
}

/// The arguments of a kernel for one row program or several.
static RowContext getContext(gpu::GPUFuncOp function,
                             step::KernelOpInterface op) {
  ValueRange arguments(function.getArguments());
  unsigned numOperands = op->getNumOperands();
  RowContext context;
  context.pointers = llvm::to_vector(arguments.take_front(numOperands));
  for (auto [scalar, argument] :
       llvm::zip_equal(op.getScalars(), arguments.drop_front(numOperands)))
    context.scalars[scalar] = argument;
  return context;
}

static Value getNumber(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

/// The number of the current block in the launch.
static Value getBlock(OpBuilder &builder, Location loc) {
  return arith::IndexCastUIOp::create(
      builder, loc, builder.getI64Type(),
      gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
}

/// Emits the work of block number `block` of a row program at the insertion
/// point.
static void emitBlock(OpBuilder &builder, gpu::GPUFuncOp function,
                      step::RowsOp rows, const RowAnalysis &analysis,
                      const Mapping &map, RowContext context, Value block) {
  Location loc = rows.getLoc();
  int64_t columns = rows.getNumColumns();
  auto number = [&](int64_t value) { return getNumber(builder, loc, value); };
  auto divide = [&](Value value, int64_t by) {
    Value divisor = number(by);
    return std::pair<Value, Value>(
        arith::DivUIOp::create(builder, loc, value, divisor),
        arith::RemUIOp::create(builder, loc, value, divisor));
  };
  OpBuilder::InsertionGuard guard(builder);
  Value thread = arith::IndexCastUIOp::create(
      builder, loc, builder.getI64Type(),
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  // The number of the item, and the number of the thread among those that share
  // the item.
  Value item = block, lane = thread;
  int64_t itemsPerBlock = 1;
  if (map.unit != Mapping::Unit::Block) {
    itemsPerBlock = map.launch.threads / map.threads;
    auto [inBlock, inItem] = divide(thread, map.threads);
    item = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, block, number(itemsPerBlock)),
        inBlock);
    lane = inItem;
  }
  if (map.items % itemsPerBlock != 0) {
    auto branch = scf::IfOp::create(
        builder, loc,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, item,
                              number(map.items)));
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  context.row = item;
  if (map.unit == Mapping::Unit::Chunk)
    std::tie(context.row, lane) = divide(item, columns / map.width);
  RowWalk walk;
  if (map.unit == Mapping::Unit::Chunk) {
    Chunk &chunk = walk.resident.emplace_back();
    chunk.first = arith::MulIOp::create(builder, loc, lane, number(map.width));
    chunk.width = chunk.alignment = map.width;
  } else {
    walk = getWalk(builder, loc, map, columns, lane);
  }
  GpuTarget target(function, map, lane);
  emitRow(builder, rows, analysis, context, std::move(walk), target);
}

/// Creates the kernel of `op`, with the insertion point before its return.
/// Tells the compiler the size of the launch, so that small numbers are divided
/// in 32-bit arithmetic.
static gpu::GPUFuncOp beginFunction(OpBuilder &builder,
                                    step::KernelOpInterface op, StringRef name,
                                    const KernelLaunch &launch) {
  gpu::GPUFuncOp function =
      createGpuFunction(builder, op, name, launch.threads);
  function.setKnownGridSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(launch.blocks), 1, 1}));
  builder.setInsertionPoint(&function.getBody().front().back());
  return function;
}

FailureOr<KernelLaunch> tp::codegen::emitRowsForGpu(OpBuilder &builder,
                                                    step::RowsOp rows,
                                                    StringRef name) {
  RowAnalysis analysis(rows);
  FailureOr<Mapping> map = getMapping(rows, analysis);
  if (failed(map))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  gpu::GPUFuncOp function = beginFunction(builder, rows, name, map->launch);
  // By default, ptxas would spill registers so that more blocks run at once.
  if (map->unit == Mapping::Unit::Block && map->chunks == 0)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(1));
  emitBlock(builder, function, rows, analysis, *map, getContext(function, rows),
            getBlock(builder, rows.getLoc()));
  return map->launch;
}

FailureOr<KernelLaunch> tp::codegen::emitTogetherForGpu(OpBuilder &builder,
                                                        step::TogetherOp op,
                                                        StringRef name) {
  Location loc = op.getLoc();
  SmallVector<step::RowsOp> parts(op.getBody().getOps<step::RowsOp>());
  SmallVector<RowAnalysis> analyses(parts.begin(), parts.end());
  SmallVector<Mapping> maps;
  KernelLaunch launch{0, kBlock, 0};
  for (auto [rows, analysis] : llvm::zip_equal(parts, analyses)) {
    FailureOr<Mapping> map = getMapping(rows, analysis);
    if (failed(map))
      return failure();
    launch.blocks += map->launch.blocks;
    maps.push_back(*map);
  }
  // All programs together may need too many blocks for one launch.
  if (failed(getLaunch(op, launch.blocks, /*perBlock=*/1, launch.threads)))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  gpu::GPUFuncOp function = beginFunction(builder, op, name, launch);
  RowContext whole = getContext(function, op);
  Value block = getBlock(builder, loc);
  int64_t first = 0;
  for (auto [rows, analysis, map] : llvm::zip_equal(parts, analyses, maps)) {
    // In a block before this program's first block, the unsigned difference
    // wraps around to a large number.
    Value own = arith::SubIOp::create(builder, loc, block,
                                      getNumber(builder, loc, first));
    auto branch = scf::IfOp::create(
        builder, loc,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own,
                              getNumber(builder, loc, map.launch.blocks)));
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emitBlock(builder, function, rows, analysis, map, whole.getPart(rows), own);
    first += map.launch.blocks;
  }
  return launch;
}
