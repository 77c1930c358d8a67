// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowEmitter.h"
#include "RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Elements per vector operation: one register of AVX-512, or several narrower
/// ones.
static constexpr int64_t kWidth = 16;
/// The number of chunks per loop iteration. Independent operations hide each
/// other's latency.
static constexpr int64_t kUnrolled = 4;
/// The maximum number of chunks of a row that is kept in registers.
static constexpr int64_t kMaxResident = 8;

namespace {

/// Each row is processed by one thread.
class CpuTarget : public RowTarget {
public:
  CpuTarget(Block *entry, int64_t columns) : entry(entry), columns(columns) {}

  Value combineThreads(OpBuilder &, step::Reduction, Value partial) override {
    return partial;
  }
  void emitOnce(OpBuilder &, llvm::function_ref<void()> emit) override {
    emit();
  }
  Value allocateRow(OpBuilder &builder, Type element) override {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    Location loc = entry->getParentOp()->getLoc();
    Value count = arith::ConstantOp::create(builder, loc,
                                            builder.getI64IntegerAttr(columns));
    return LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), element,
        count, /*alignment=*/64);
  }
  /// Unaligned access costs nothing.
  int64_t getBufferAlignment() const override { return 1; }

private:
  Block *entry;
  int64_t columns;
};

} // namespace

/// Divides the columns from `begin` to the row's end into chunks of `width`.
/// The last chunk ends where the row ends, so it may begin with columns that
/// belong to earlier chunks.
static SmallVector<Chunk> cutRest(OpBuilder &builder, Location loc,
                                  int64_t begin, int64_t columns,
                                  int64_t width) {
  SmallVector<Chunk> chunks;
  for (int64_t first = begin; first < columns; first += width) {
    int64_t moved = std::min(first, columns - width);
    Chunk &chunk = chunks.emplace_back();
    chunk.first = arith::ConstantOp::create(builder, loc,
                                            builder.getI64IntegerAttr(moved));
    chunk.width = width;
    if (moved == first)
      continue;
    SmallVector<bool> own;
    for (int64_t column = moved; column < columns; ++column)
      own.push_back(column >= first);
    auto type = VectorType::get(width, builder.getI1Type());
    chunk.own = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(type, own));
  }
  return chunks;
}

static RowWalk getWalk(OpBuilder &builder, Location loc, int64_t columns) {
  RowWalk walk;
  if (columns <= kMaxResident * kWidth) {
    // Code generators handle powers of two best.
    auto width = int64_t(llvm::bit_floor(uint64_t(std::min(columns, kWidth))));
    walk.resident = cutRest(builder, loc, 0, columns, width);
    return walk;
  }
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  walk.width = kUnrolled * kWidth;
  int64_t end = columns - columns % walk.width;
  walk.begin = number(0);
  walk.end = number(end);
  walk.step = number(walk.width);
  walk.rest = cutRest(builder, loc, end, columns, kWidth);
  return walk;
}

namespace {

/// The function of a kernel, with the operands and scalars that it loads from
/// its argument tables.
struct CpuFunction {
  func::FuncOp function;
  Block *entry;
  RowContext context; ///< All operands and scalars.
};

} // namespace

/// Creates the function of a kernel. Sets the insertion point before its
/// return.
static CpuFunction createFunction(OpBuilder &builder,
                                  step::KernelOpInterface op, StringRef name) {
  Location loc = op.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  CpuFunction made;
  made.function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType({pointer, pointer, i64, i64}, {i32}));
  made.entry = made.function.addEntryBlock();
  builder.setInsertionPointToStart(made.entry);
  auto loadFrom = [&](Value table, Type type, int64_t index) -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, type, table,
                                        ArrayRef<LLVM::GEPArg>(int32_t(index)));
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    made.context.pointers.push_back(
        loadFrom(made.entry->getArgument(0), pointer, i));
  for (auto [i, scalar] : llvm::enumerate(op.getScalars()))
    made.context.scalars[scalar] = loadFrom(made.entry->getArgument(1), i64, i);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  auto end = func::ReturnOp::create(builder, loc, zero);
  builder.setInsertionPoint(end);
  return made;
}

/// Emits the rows from `begin` to `end` at the insertion point; row 0 of the
/// program has number `first`.
static void emitRows(OpBuilder &builder, step::RowsOp rows, Block *entry,
                     RowContext context, Value begin, Value end,
                     int64_t first) {
  Location loc = rows.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  OpBuilder::InsertionGuard guard(builder);
  RowWalk walk = getWalk(builder, loc, rows.getNumColumns());
  auto loop = scf::ForOp::create(builder, loc, begin, end, number(1));
  builder.setInsertionPointToStart(loop.getBody());
  context.row = loop.getInductionVar();
  if (first > 0)
    context.row =
        arith::SubIOp::create(builder, loc, context.row, number(first));
  CpuTarget target(entry, rows.getNumColumns());
  emitRow(builder, rows, RowAnalysis(rows), context, std::move(walk), target);
}

func::FuncOp tp::codegen::emitRowsForCpu(OpBuilder &builder, step::RowsOp rows,
                                         StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  CpuFunction made = createFunction(builder, rows, name);
  emitRows(builder, rows, made.entry, made.context, made.entry->getArgument(2),
           made.entry->getArgument(3), /*first=*/0);
  return made.function;
}

func::FuncOp tp::codegen::emitTogetherForCpu(OpBuilder &builder,
                                             step::TogetherOp op,
                                             StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  CpuFunction made = createFunction(builder, op, name);
  Location loc = op.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  int64_t first = 0;
  for (auto rows : op.getBody().getOps<step::RowsOp>()) {
    int64_t last = first + rows.getNumRows();
    Value begin = arith::MaxSIOp::create(
        builder, loc, made.entry->getArgument(2), number(first));
    Value end = arith::MinSIOp::create(builder, loc, made.entry->getArgument(3),
                                       number(last));
    emitRows(builder, rows, made.entry, made.context.getPart(rows), begin, end,
             first);
    first = last;
  }
  return made.function;
}
