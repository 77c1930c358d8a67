// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products with few rows. B is read once, in its own layout, 16 bytes at
// a time.
//
// A team of threads divides the summed dimension. Each thread has all rows of A
// and a few columns of B. If B is contiguous along the summed dimension, a team
// is a warp, or a block if there are few columns, and all threads of a team
// have the same columns. If B is contiguous along its columns, a team is a
// block: groups of four lanes read adjacent pieces of a row of B, and each
// group has different rows.
//
// At the end, the sums of a warp's lanes are added by shuffles, and the sums of
// a team's warps through shared memory, in order.

#include "SkinnyMatmul.h"

#include "GpuEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The number of lanes that read adjacent pieces of one row of B.
static constexpr int64_t kColumnLanes = 4;
/// The number of warps that keeps a large GPU busy. If one warp for each group
/// of columns gives fewer warps than this, all warps of a block share a group
/// of columns.
static constexpr int64_t kManyWarps = 2048;

namespace {

/// The layout of an operand's last two dimensions, in elements.
struct Layout {
  explicit Layout(MemRefType type)
      : element(type.getElementType()), bytes(step::getElementBytes(element)) {
    step::Strides strides(type);
    row = strides.strides[step::kNumBatchDims];
    column = strides.strides[step::kNumBatchDims + 1];
    offset = strides.offset;
  }
  /// Returns the number of elements, a power of two, that one access can load
  /// along a dimension of `size` elements. Groups of that many elements,
  /// counted from the dimension's beginning, are contiguous and aligned.
  /// `otherStride` is the stride of the other dimension.
  int64_t getWidth(int64_t size, int64_t otherStride) const {
    uint64_t bits = uint64_t(kAccessBytes / bytes) | uint64_t(size) |
                    uint64_t(otherStride) | uint64_t(offset);
    return int64_t(bits & (~bits + 1));
  }

  Type element;
  int64_t bytes;
  int64_t row, column, offset;
};

class SkinnyEmitter : GpuEmitter {
public:
  SkinnyEmitter(OpBuilder &builder, step::SkinnyMatmulOp op);

  FailureOr<KernelLaunch> emit(StringRef name);

private:
  /// Loads `count` elements, the first one at `place`, and converts them to
  /// f32. One access loads `width` elements. Elements are `stride` apart; if
  /// `width` is more than 1, `stride` must be 1.
  SmallVector<Value> loadRun(const Layout &layout, Value place, int64_t stride,
                             int64_t count, int64_t width);
  /// Multiplies piece number `piece` of the summed dimension, and adds the
  /// products to `sums`.
  void accumulate(Value piece, SmallVector<Value> &sums);
  SmallVector<Value> sumPieces();
  /// Stores the sums of each warp in shared memory.
  void share(ArrayRef<Value> sums);
  /// Adds up the warps' sums of each element, and stores the result.
  void finish();
  Value followUp(Value value, Value row, Value column);
  /// The address in units of 4 bytes.
  Value getShared(Value index);

  step::SkinnyMatmulOp op;
  gpu::GPUFuncOp function;
  Layout a, b, c;
  int64_t m, n, k;
  bool isAlongSum;     ///< B is contiguous along the sum.
  int64_t width;       ///< Elements of B that a thread loads at once.
  int64_t widthA;      ///< Contiguous elements of A.
  int64_t columns;     ///< Columns of a thread.
  int64_t pieces;      ///< Pieces of the summed dimension.
  int64_t teamWarps;   ///< Warps of a team.
  int64_t teamColumns; ///< Columns of a team.
  int64_t teamPieces;  ///< Pieces that a team loads at once.
  int64_t warps;       ///< Warps of a block.
  int64_t unroll;      ///< Pieces that a thread loads ahead.
  Value thread, lane, warp, block;
  Value column; ///< The thread's first column.
  Value first;  ///< The thread's first piece.
  std::string sharedName;
};

} // namespace

SkinnyEmitter::SkinnyEmitter(OpBuilder &builder, step::SkinnyMatmulOp op)
    : GpuEmitter(builder, op.getLoc()), op(op),
      a(cast<MemRefType>(op.getA().getType())),
      b(cast<MemRefType>(op.getB().getType())),
      c(cast<MemRefType>(op.getC().getType())) {
  ArrayRef<int64_t> shape = cast<MemRefType>(op.getC().getType()).getShape();
  m = shape[step::kNumBatchDims];
  n = shape.back();
  k = cast<MemRefType>(op.getA().getType()).getShape().back();
  isAlongSum = b.row == 1 && (b.column != 1 || k >= n);
  if (isAlongSum) {
    width = b.getWidth(k, n == 1 ? 0 : b.column);
    widthA =
        a.column == 1 ? std::min(width, a.getWidth(k, m == 1 ? 0 : a.row)) : 1;
    columns = m <= step::kMaxSkinnyRows / 2 ? 2 : 4;
    pieces = k / width;
    warps = 4;
    teamWarps = int64_t(llvm::divideCeil(n, columns)) >= kManyWarps ? 1 : warps;
    teamColumns = columns;
    teamPieces = teamWarps * kWarp;
    unroll = 2;
  } else {
    width = b.getWidth(n, k == 1 ? 0 : b.row);
    widthA = 1;
    columns = width;
    pieces = k;
    warps = teamWarps = 8;
    teamColumns = kColumnLanes * width;
    teamPieces = teamWarps * (kWarp / kColumnLanes);
    unroll = 4;
  }
}

SmallVector<Value> SkinnyEmitter::loadRun(const Layout &layout, Value place,
                                          int64_t stride, int64_t count,
                                          int64_t width) {
  SmallVector<Value> values;
  auto widen = [&](Value value) -> Value {
    return layout.element.isF32()
               ? value
               : arith::ExtFOp::create(builder, loc, f32, value).getResult();
  };
  for (int64_t i = 0; i < count; i += width) {
    Value from = at(place, i * stride * layout.bytes);
    if (width == 1) {
      values.push_back(widen(load(layout.element, from)));
      continue;
    }
    Value loaded = load(VectorType::get(width, layout.element), from);
    for (int64_t j = 0; j < width; ++j)
      values.push_back(
          widen(vector::ExtractOp::create(builder, loc, loaded, j)));
  }
  return values;
}

void SkinnyEmitter::accumulate(Value piece, SmallVector<Value> &sums) {
  ValueRange arguments = function.getArguments();
  Value k = isAlongSum ? mul(piece, width) : piece;
  SmallVector<SmallVector<Value>> factors;
  if (isAlongSum)
    for (int64_t i = 0; i < columns; ++i) {
      // Columns past the end read the last column; their sums are not stored.
      Value own = min(add(column, i), number(n - 1));
      Value place =
          locate(arguments[1], {{k, b.bytes}, {own, b.column * b.bytes}});
      factors.push_back(loadRun(b, place, 1, width, width));
    }
  else
    factors.push_back(loadRun(
        b, locate(arguments[1], {{k, b.row * b.bytes}, {column, b.bytes}}), 1,
        width, width));
  for (int64_t row = 0; row < m; ++row) {
    Value place = at(locate(arguments[0], {{k, a.column * a.bytes}}),
                     row * a.row * a.bytes);
    SmallVector<Value> values =
        loadRun(a, place, a.column, isAlongSum ? width : 1, widthA);
    for (int64_t i = 0; i < columns; ++i) {
      Value &sum = sums[row * columns + i];
      if (isAlongSum)
        for (auto [x, y] : llvm::zip_equal(values, factors[i]))
          sum = fma(x, y, sum);
      else
        sum = fma(values[0], factors[0][i], sum);
    }
  }
}

SmallVector<Value> SkinnyEmitter::sumPieces() {
  auto loop = [&](Value begin, int64_t end, int64_t step, int64_t count,
                  ValueRange sums) {
    auto pass = scf::ForOp::create(builder, loc, begin, number(end),
                                   number(step), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(pass.getBody());
    SmallVector<Value> inside(pass.getRegionIterArgs());
    for (int64_t i = 0; i < count; ++i)
      accumulate(add(pass.getInductionVar(), i * teamPieces), inside);
    scf::YieldOp::create(builder, loc, inside);
    return SmallVector<Value>(pass.getResults());
  };
  SmallVector<Value> sums(m * columns, real(0));
  int64_t step = unroll * teamPieces;
  int64_t whole = pieces / step * step;
  if (whole > 0)
    sums = loop(first, whole, step, unroll, sums);
  if (whole < pieces)
    sums = loop(add(first, whole), pieces, teamPieces, 1, sums);
  return sums;
}

Value SkinnyEmitter::getShared(Value index) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, sharedName);
  return locate(base, {{index, step::getElementBytes(f32)}});
}

void SkinnyEmitter::share(ArrayRef<Value> sums) {
  int64_t lanes = isAlongSum ? 1 : kColumnLanes;
  SmallVector<Value> all;
  for (Value sum : sums) {
    for (int32_t distance = lanes; distance < kWarp; distance *= 2)
      sum = addF(sum, shuffle(sum, distance));
    all.push_back(sum);
  }
  ifTrue(less(lane, number(lanes)), [&] {
    Value base = add(mul(warp, m * teamColumns), mul(lane, columns));
    for (int64_t row = 0; row < m; ++row)
      for (int64_t i = 0; i < columns; ++i)
        store(all[row * columns + i],
              getShared(add(base, row * teamColumns + i)));
  });
  gpu::BarrierOp::create(builder, loc);
}

Value SkinnyEmitter::followUp(Value value, Value row, Value column) {
  unsigned next = 2; // after A and B
  for (auto attribute : op.getPostOps().getAsRange<step::PostOpAttr>()) {
    switch (attribute.getValue()) {
    case step::PostOp::Add: {
      Layout other(cast<MemRefType>(op->getOperand(next).getType()));
      Value place = locate(function.getArgument(next++),
                           {{row, other.row * other.bytes},
                            {column, other.column * other.bytes}});
      value = addF(value, loadRun(other, place, 1, 1, 1).front());
      break;
    }
    case step::PostOp::Relu:
      value = arith::MaximumFOp::create(builder, loc, value, real(0));
      break;
    default: { // gelu_tanh
      Value cube = mulF(mulF(value, value), value);
      Value inner = mulF(fma(cube, real(0.044715), value),
                         real(0.79788456080286535588)); // sqrt(2 / pi)
      Value tanh = math::TanhOp::create(builder, loc, inner);
      value = mulF(mulF(value, real(0.5)), addF(tanh, real(1)));
    }
    }
  }
  return value;
}

void SkinnyEmitter::finish() {
  int64_t elements = m * teamColumns, teams = warps / teamWarps;
  ifTrue(less(thread, number(teams * elements)), [&] {
    Value team = div(thread, elements), element = rem(thread, elements);
    Value row = div(element, teamColumns);
    Value own = add(mul(add(mul(block, teams), team), teamColumns),
                    rem(element, teamColumns));
    ifTrue(less(own, number(n)), [&] {
      Value base = add(mul(team, teamWarps * elements), element);
      Value sum;
      for (int64_t i = 0; i < teamWarps; ++i) {
        Value part = load(f32, getShared(add(base, i * elements)));
        sum = sum ? addF(sum, part) : part;
      }
      sum = followUp(sum, row, own);
      if (!c.element.isF32())
        sum = arith::TruncFOp::create(builder, loc, c.element, sum);
      store(sum, locate(function.getArguments().back(),
                        {{row, c.row * c.bytes}, {own, c.bytes}}));
    });
  });
}

FailureOr<KernelLaunch> SkinnyEmitter::emit(StringRef name) {
  int64_t teams = warps / teamWarps, threads = warps * kWarp;
  FailureOr<KernelLaunch> launch =
      getLaunch(op, int64_t(llvm::divideCeil(n, teamColumns)), teams, threads);
  if (failed(launch))
    return failure();
  sharedName = (name + "_shared").str();
  auto array = LLVM::LLVMArrayType::get(f32, warps * m * teamColumns);
  LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/false,
                         LLVM::Linkage::Internal, sharedName, Attribute(),
                         /*alignment=*/kAccessBytes, kSharedSpace);
  function = createGpuFunction(builder, op, name, threads);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  auto get = [&](auto id) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, i32, id);
  };
  thread = get(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  block = get(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  lane = rem(thread, kWarp);
  warp = div(thread, kWarp);
  Value team = add(mul(block, teams), div(warp, teamWarps));
  Value inTeam = add(mul(rem(warp, teamWarps), kWarp), lane);
  column = mul(team, teamColumns);
  first = inTeam;
  if (!isAlongSum) {
    column = add(column, mul(rem(lane, kColumnLanes), columns));
    column = min(column, number(n - columns));
    first = div(inTeam, kColumnLanes);
  }
  share(sumPieces());
  finish();
  return *launch;
}

FailureOr<KernelLaunch>
tp::codegen::emitSkinnyMatmulForGpu(OpBuilder &builder, step::SkinnyMatmulOp op,
                                    StringRef name) {
  return SkinnyEmitter(builder, op).emit(name);
}
