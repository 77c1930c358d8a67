// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The constraints of steps on their operands.

#include "dialects/OpError.h"
#include "tpopt/Dialect/Step/Step.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace tp::step;
using tp::ErrorCode;

static ParseResult parseMotion(OpAsmParser &parser, IntegerAttr &by,
                               IntegerAttr &loop, tp::spmd::AxisListAttr &axes,
                               IntegerAttr &plus);
static void printMotion(OpAsmPrinter &printer, ViewOp view, IntegerAttr by,
                        IntegerAttr loop, tp::spmd::AxisListAttr axes,
                        IntegerAttr plus);

#include "tpopt/Dialect/Step/StepInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/Step/StepOps.cpp.inc"

LogicalResult tp::step::verifyKernel(Operation *op) {
  if (op->getNumResults() != 0 ||
      !llvm::all_of(op->getOperandTypes(), isBuffer))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "is a kernel: expects only buffers as operands, and no results";
  return success();
}

//===----------------------------------------------------------------------===//
// How views move
//===----------------------------------------------------------------------===//

static ParseResult parseMotion(OpAsmParser &parser, IntegerAttr &by,
                               IntegerAttr &loop, tp::spmd::AxisListAttr &axes,
                               IntegerAttr &plus) {
  Type number = parser.getBuilder().getI64Type();
  if (failed(parser.parseOptionalKeyword("by")))
    return success();
  if (parser.parseAttribute(by, number) || parser.parseKeyword("of"))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("loop")))
    return parser.parseAttribute(loop, number);
  if (parser.parseKeyword("place") ||
      parser.parseCustomAttributeWithFallback(axes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("plus")))
    return parser.parseAttribute(plus, number);
  return success();
}

static void printMotion(OpAsmPrinter &printer, ViewOp, IntegerAttr by,
                        IntegerAttr loop, tp::spmd::AxisListAttr axes,
                        IntegerAttr plus) {
  if (!by)
    return;
  printer << " by " << by.getInt() << " of ";
  if (!axes) {
    printer << "loop " << loop.getInt();
    return;
  }
  printer << "place ";
  printer.printStrippedAttrOrType(axes);
  if (plus && plus.getInt() != 0)
    printer << " plus " << plus.getInt();
}

//===----------------------------------------------------------------------===//
// Copies and matrix products
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  MemRefType from = bufferTypeOf(getSource()),
             to = bufferTypeOf(getDestination());
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType() ||
      from.getRank() > kMaxCopyRank)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects source and destination of the same shape, with at most "
           << kMaxCopyRank << " dimensions and the same element type";
  return success();
}

LogicalResult FillOp::verify() {
  MemRefType type = bufferTypeOf(getDestination());
  if (getValue().getType() != type.getElementType() ||
      type.getRank() > kMaxCopyRank)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a value of the destination's element type, and a "
              "destination of at most "
           << kMaxCopyRank << " dimensions";
  return success();
}

/// Verifies a step.matmul or a step.skinny_matmul.
template <typename Op> static LogicalResult verifyProduct(Op op) {
  constexpr unsigned row = kNumBatchDims, column = row + 1, rank = row + 2;
  MemRefType a = bufferTypeOf(op.getA()), b = bufferTypeOf(op.getB()),
             c = bufferTypeOf(op.getC());
  SmallVector<MemRefType> all{a, b, c};
  for (Value operand : op.getPostOperands())
    all.push_back(bufferTypeOf(operand));
  for (MemRefType type : all)
    if (type.getRank() != rank || type.getShape().take_front(kNumBatchDims) !=
                                      c.getShape().take_front(kNumBatchDims))
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "expects operands of rank 5: three batch dimensions, whose "
                "sizes are the same in all operands, then rows and columns";
  bool fits = a.getDimSize(row) == c.getDimSize(row) &&
              b.getDimSize(column) == c.getDimSize(column) &&
              a.getDimSize(column) == b.getDimSize(row);
  for (Value operand : op.getPostOperands())
    fits &= bufferTypeOf(operand).getShape() == c.getShape();
  if (!fits)
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects matrices of sizes m x k, k x n and m x n";
  auto isResult = [](MemRefType type) {
    Type element = type.getElementType();
    return element.isF32() || element.isBF16() || element.isF16();
  };
  Type factor = a.getElementType(), result = c.getElementType();
  bool isFloat8 = isa<Float8E4M3FNType>(factor);
  if (factor != b.getElementType() || (!isFloat8 && !isResult(a)) ||
      !llvm::all_of(ArrayRef(all).drop_front(2), isResult) ||
      (!isFloat8 && !result.isF32() && result != factor))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects A and B of the same element type, f32, bf16, f16 or "
              "f8E4M3FN, and C of f32 or that type; if A and B are f8E4M3FN, C "
              "must be f32, bf16 or f16";
  auto hasUnitStride = [&](MemRefType type, bool orRows) {
    Strides layout(type);
    return layout.strides[column] == 1 || (orRows && layout.strides[row] == 1);
  };
  if (!hasUnitStride(a, true) || !hasUnitStride(b, true) ||
      !hasUnitStride(c, false))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects stride 1 along the rows or the columns of A and B, and "
              "along the columns of C";
  unsigned operands = llvm::count_if(op.getPostOps(), [](Attribute post) {
    return cast<PostOpAttr>(post).getValue() <= PostOp::Multiply;
  });
  if (operands != op.getPostOperands().size())
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects one operand for each `add` and `multiply` of the "
              "post-ops";
  return success();
}

LogicalResult MatmulOp::verify() { return verifyProduct(*this); }

/// Returns true if a valid step.matmul or step.skinny_matmul meets the
/// additional constraints of a step.skinny_matmul, for example few rows.
template <typename Op> static bool isSkinny(Op op) {
  ArrayRef<int64_t> shape = bufferTypeOf(op.getC()).getShape();
  return shape[kNumBatchDims] <= kMaxSkinnyRows &&
         llvm::all_of(shape.take_front(kNumBatchDims),
                      [](int64_t size) { return size == 1; }) &&
         !isa<Float8E4M3FNType>(bufferTypeOf(op.getA()).getElementType()) &&
         llvm::all_of(op.getPostOps(), [](Attribute post) {
           PostOp kind = cast<PostOpAttr>(post).getValue();
           return kind == PostOp::Add || kind == PostOp::Relu ||
                  kind == PostOp::GeluTanh;
         });
}

bool tp::step::isSkinny(MatmulOp op) { return ::isSkinny<MatmulOp>(op); }

unsigned SkinnyMatmulOp::getFirstWritten() { return getNumOperands() - 1; }

LogicalResult SkinnyMatmulOp::verify() {
  if (failed(verifyProduct(*this)))
    return failure();
  if (!::isSkinny<SkinnyMatmulOp>(*this))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects one product of at most " << kMaxSkinnyRows
           << " rows in f32, bf16 or f16, with no post-ops other than add, "
              "relu and gelu_tanh";
  return success();
}

//===----------------------------------------------------------------------===//
// Scatters and sorts
//===----------------------------------------------------------------------===//

unsigned ScatterOp::getFirstWritten() { return 2; }

LogicalResult ScatterOp::verify() {
  MemRefType updates = bufferTypeOf(getUpdates()),
             indices = bufferTypeOf(getIndices()),
             to = bufferTypeOf(getDestination());
  ArrayRef<int64_t> u = updates.getShape(), i = indices.getShape(),
                    d = to.getShape();
  if (u.size() != 4 || i.size() != 2 || d.size() != 4 || i[0] != u[0] ||
      i[1] != u[2] || d[0] != u[0] || d[1] != u[1] || d[3] != u[3])
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects updates [b, o, i, r], indices [b, i] and a destination "
              "[b, o, axis, r]";
  Type element = to.getElementType();
  bool computes =
      element.isF32() || element.isF64() || isa<IntegerType>(element);
  if (!indices.getElementType().isSignlessInteger(64) ||
      updates.getElementType() != element ||
      (getKind() != ScatterKind::Set && !computes))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects i64 indices, and updates and destination of the same "
              "element type, which must be an integer type, f32 or f64 for "
              "every kind but `set`, got updates "
           << updates << ", indices " << indices << " and destination " << to;
  return success();
}

unsigned SortOp::getFirstWritten() { return 1; }

LogicalResult SortOp::verify() {
  MemRefType from = bufferTypeOf(getSource()),
             values = bufferTypeOf(getValues()),
             indices = bufferTypeOf(getIndices());
  if (from.getRank() != 2 || values.getRank() != 2 ||
      values.getShape() != indices.getShape() ||
      values.getDimSize(0) != from.getDimSize(0) ||
      values.getDimSize(1) > from.getDimSize(1))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a source [rows, columns], and values and indices of the "
              "same shape, with as many rows as the source and at most as many "
              "columns";
  if (values.getElementType() != from.getElementType() ||
      !indices.getElementType().isSignlessInteger(32))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects values of the source's element type and i32 indices";
  return success();
}

unsigned SortPartsOp::getFirstWritten() { return 1; }

LogicalResult SortPartsOp::verify() {
  MemRefType from = bufferTypeOf(getSource()),
             values = bufferTypeOf(getValues()),
             indices = bufferTypeOf(getIndices());
  if (from.getRank() != 2 || values.getRank() != 2 ||
      values.getShape() != indices.getShape() ||
      values.getDimSize(0) != from.getDimSize(0))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a source [rows, columns], and values and indices of the "
              "same shape, with as many rows as the source";
  if (values.getElementType() != from.getElementType() ||
      !indices.getElementType().isSignlessInteger(32))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects values of the source's element type and i32 indices";
  int64_t part = getPart(), kept = getKept(), columns = from.getDimSize(1);
  if (kept < 1 || kept > part ||
      values.getDimSize(1) !=
          columns / part * kept + std::min(columns % part, kept))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects `kept` from 1 to `part`, and results with a column for "
              "each element that is kept";
  return success();
}

unsigned MergeOp::getFirstWritten() { return 2; }

LogicalResult MergeOp::verify() {
  MemRefType elements = bufferTypeOf(getElements()),
             places = bufferTypeOf(getPlaces()),
             values = bufferTypeOf(getValues()),
             indices = bufferTypeOf(getIndices());
  if (elements.getRank() != 2 || values.getRank() != 2 ||
      elements.getShape() != places.getShape() ||
      values.getShape() != indices.getShape() ||
      values.getDimSize(0) != elements.getDimSize(0))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects elements and places of the same shape [rows, columns], "
              "and values and indices of a common shape with the same number "
              "of rows";
  if (values.getElementType() != elements.getElementType() ||
      !places.getElementType().isSignlessInteger(32) ||
      !indices.getElementType().isSignlessInteger(32))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects values of the elements' type, and i32 places and "
              "indices";
  int64_t run = getRun(), ways = getWays(), columns = elements.getDimSize(1);
  bool isLast = run >= 1 && ways >= int64_t(llvm::divideCeil(columns, run));
  if (run < 1 || ways < 2 || values.getDimSize(1) > columns ||
      (values.getDimSize(1) < columns && !isLast))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects `run` of at least 1, `ways` of at least 2, and results "
              "with as many columns as the elements, or fewer if the op merges "
              "each row into one run";
  return success();
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

LogicalResult LoopOp::verify() {
  if (int64_t(getCount()) < 0 || getCount() > INT32_MAX)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a count from 0 to 2^31 - 1, got " << int64_t(getCount());
  return success();
}

/// Verifies the predicate of a step.while or a step.if.
static LogicalResult verifyPredicate(Operation *op, Value predicate) {
  MemRefType type = bufferTypeOf(predicate);
  if (type.getNumElements() != 1 || !type.getElementType().isInteger(1))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects a predicate that is a single i1, got " << type;
  return success();
}

LogicalResult tp::step::WhileOp::verify() {
  return verifyPredicate(*this, getPredicate());
}
LogicalResult IfOp::verify() { return verifyPredicate(*this, getPredicate()); }

bool tp::step::isControlOp(Operation *op) {
  return isa<LoopOp, WhileOp, IfOp, ChooseOp>(op);
}

/// Returns the buffers from outside of a branch that its steps write; nullopt
/// if the branch has a step that step.choose does not allow.
static std::optional<llvm::SetVector<Value>> findWritten(Region &way) {
  llvm::SetVector<Value> written;
  for (Operation &op : way.front()) {
    bool isLast = &op == &way.front().back();
    if (isBufferOp(&op))
      continue;
    if (!isa<KernelOpInterface, MatmulOp, CopyOp, FillOp>(op) &&
        !(isLast && isa<ChooseOp>(op)))
      return std::nullopt;
    SmallVector<MemoryEffects::EffectInstance> effects =
        getEffectsRecursively(&op).value_or(
            SmallVector<MemoryEffects::EffectInstance>());
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!isa<MemoryEffects::Write>(effect.getEffect()) || !effect.getValue())
        continue;
      Value root = getRoot(effect.getValue());
      if (!way.isAncestor(root.getParentRegion()))
        written.insert(root);
    }
  }
  return written;
}

LogicalResult ChooseOp::verify() {
  auto first = findWritten(getFirst()), second = findWritten(getSecond());
  if (!first || !second || first->empty() || second->empty())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects each branch to contain at least one step, and only "
              "kernels, matrix products, copies, fills and, as its last step, "
              "a step.choose";
  auto isIn = [](llvm::SetVector<Value> &set) {
    return [&](Value value) { return set.contains(value); };
  };
  if (!llvm::all_of(*first, isIn(*second)) ||
      !llvm::all_of(*second, isIn(*first)))
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects both branches to write the same buffers";
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The step before or after an op; null if there is none.
static Operation *getNeighbour(Operation *op,
                               Operation *(Operation::*advance)()) {
  do
    op = (op->*advance)();
  while (op && isBufferOp(op));
  return op;
}

LogicalResult CollectiveStartOp::verify() {
  FailureOr<int64_t> size = getGroupSize(*this, getAxes().getAxes());
  if (failed(size))
    return failure();
  int64_t group = *size;
  MemRefType from = bufferTypeOf(getSource()),
             to = bufferTypeOf(getDestination());
  Strides in(from), out(to);
  if (in.strides != getDenseStrides(from.getShape()) ||
      out.strides != getDenseStrides(to.getShape()) ||
      from.getElementType() != to.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects dense buffers of the same element type";
  bool scatters = getKind() == CollectiveKind::ReduceScatter;
  bool gathers = getKind() == CollectiveKind::AllGather;
  if (from.getNumElements() * (gathers ? group : 1) !=
      to.getNumElements() * (scatters ? group : 1))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a destination " << group
           << " times as large as the source for all_gather, 1/" << group
           << " as large for reduce_scatter, and of equal size otherwise, got "
              "source "
           << from << " and destination " << to;
  bool reduces = scatters || getKind() == CollectiveKind::AllReduce;
  if (reduces != getReduction().has_value() ||
      (reduces && *getReduction() > Reduction::Min))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a reduction, sum, max or min, if the collective "
              "reduces, and none otherwise";
  bool permutes = getKind() == CollectiveKind::CollectivePermute;
  if (permutes != getPermutation().has_value() ||
      (permutes && int64_t(getPermutation()->size()) != group))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a permutation of the group's " << group
           << " devices if the collective permutes, and none otherwise";
  if (!getJoined())
    return success();
  auto before = dyn_cast_if_present<CollectiveStartOp>(
      getNeighbour(*this, &Operation::getPrevNode));
  if (!before || before.getAxes() != getAxes())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects the step before a joined collective to be a "
              "step.collective_start along the same axes";
  return success();
}

CollectiveDoneOp CollectiveStartOp::getDone() {
  return cast<CollectiveDoneOp>(*getToken().user_begin());
}

SmallVector<CollectiveStartOp, 1> CollectiveStartOp::getLaunch() {
  SmallVector<CollectiveStartOp, 1> launch;
  if (getJoined())
    return launch;
  launch.push_back(*this);
  while (auto next = dyn_cast_if_present<CollectiveStartOp>(
             getNeighbour(launch.back(), &Operation::getNextNode))) {
    if (!next.getJoined())
      break;
    launch.push_back(next);
  }
  return launch;
}

unsigned CombineOp::getFirstWritten() { return getSources().size(); }

SmallVector<Attribute> CombineOp::getScalars() {
  int64_t count = bufferTypeOf(getDestination()).getNumElements();
  return {IntegerAttr::get(IndexType::get(getContext()), count)};
}

LogicalResult CombineOp::verify() {
  MemRefType type = bufferTypeOf(getDestination());
  if (getSources().empty() || !isDense(type) ||
      !llvm::all_equal(getOperandTypes()))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects at least one source, and dense buffers of the same type";
  bool isByte = isa<FloatType>(type.getElementType()) &&
                type.getElementTypeBitWidth() == 8;
  if (getKind() > Reduction::Min || isByte)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "does not support the reduction " << stringifyReduction(getKind())
           << " for elements of type " << type.getElementType();
  return success();
}

unsigned RandomOp::getFirstWritten() { return 0; }

SmallVector<Attribute> RandomOp::getScalars() {
  MemRefType type = bufferTypeOf(getDestination());
  uint64_t scale = getScale().bitcastToAPInt().getZExtValue();
  SmallVector<Attribute> scalars;
  for (int64_t number :
       {type.getDimSize(0), type.getDimSize(1), Strides(type).strides[0],
        int64_t(getFirst()), int64_t(getStride()), int64_t(scale),
        int64_t(getSeed())})
    scalars.push_back(IntegerAttr::get(IndexType::get(getContext()), number));
  return scalars;
}

LogicalResult RandomOp::verify() {
  MemRefType type = bufferTypeOf(getDestination());
  if (type.getRank() != 2 || Strides(type).strides[1] != 1)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a destination [rows, columns] with stride 1 along the "
              "columns, got "
           << type;
  return success();
}

LogicalResult CollectiveDoneOp::verify() {
  if (!getToken().hasOneUse())
    return tp::emitOpError(*this, ErrorCode::Misplaced)
           << "must be the only op that waits for this collective";
  return success();
}

//===----------------------------------------------------------------------===//
// Row programs
//===----------------------------------------------------------------------===//

int64_t RowsOp::getNumRows() {
  int64_t rows = 1;
  for (int64_t size : getDomain().drop_back())
    rows *= size;
  return rows;
}

unsigned RowsOp::getFirstWritten() { return getReads().size(); }

SmallVector<Attribute> RowsOp::getScalars() {
  llvm::SetVector<Attribute> scalars;
  for (Operation &op : getBody().front()) {
    if (auto coordinate = dyn_cast<CoordinateOp>(op))
      scalars.insert(coordinate.getAxis());
    else if (auto counter = dyn_cast<CounterOp>(op))
      scalars.insert(counter.getLoopAttr());
  }
  return scalars.takeVector();
}

int64_t RowsOp::getNumParts() { return getNumRows(); }

LogicalResult RowsOp::verify() {
  if (getDomain().empty() ||
      llvm::any_of(getDomain(), [](int64_t size) { return size < 1; }))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a domain of rank 1 or more, with no size below 1";
  if (getBody().getArgumentTypes() != getOperandTypes())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects a body with one argument per operand, of the operand's "
              "type";
  for (Operation &op : getBody().front()) {
    bool isOurs =
        isa<LoadOp, StoreOp, ReduceOp, IndexOp, CoordinateOp, CounterOp>(op);
    bool isScalar =
        isa_and_present<arith::ArithDialect, math::MathDialect>(
            op.getDialect()) &&
        op.getNumResults() == 1 && op.getResult(0).getType().isIntOrFloat() &&
        (op.hasTrait<OpTrait::Elementwise>() || isa<arith::ConstantOp>(op));
    if (!isOurs && !isScalar)
      return tp::emitOpError(&op, ErrorCode::BadRegion)
             << "is not allowed in a row program: expects an op of step, arith "
                "or math that computes one scalar";
  }
  return success();
}

unsigned TogetherOp::getFirstWritten() { return getReads().size(); }

SmallVector<Attribute> TogetherOp::getScalars() {
  llvm::SetVector<Attribute> scalars;
  for (auto rows : getBody().getOps<RowsOp>())
    scalars.insert_range(rows.getScalars());
  return scalars.takeVector();
}

int64_t TogetherOp::getNumParts() {
  int64_t parts = 0;
  for (auto rows : getBody().getOps<RowsOp>())
    parts += rows.getNumRows();
  return parts;
}

LogicalResult TogetherOp::verify() {
  if (getBody().getArgumentTypes() != getOperandTypes())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects one block argument per operand, of the operand's type";
  auto isPart = [&](Operation &op) {
    auto rows = dyn_cast<RowsOp>(op);
    return rows && rows.getBody().getOps<ReduceOp>().empty() &&
           llvm::all_of(rows.getWrites(), [&](Value written) {
             return cast<BlockArgument>(written).getArgNumber() >=
                    getFirstWritten();
           });
  };
  Block &block = getBody().front();
  if (block.empty() || llvm::hasSingleElement(block) ||
      !llvm::all_of(block, isPart))
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects a body of two or more row programs without reductions, "
              "which write only the buffers that this op writes";
  return success();
}

/// Shared by load and store; `shape` is the shape that a buffer without indices
/// must have.
static LogicalResult verifyAccess(Operation *op, Value buffer,
                                  ValueRange indices, bool isWrite) {
  auto rows = cast<RowsOp>(op->getParentOp());
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument ||
      (isWrite && argument.getArgNumber() < rows.getReads().size()))
    return tp::emitOpError(op, ErrorCode::BadRegion)
           << "expects a buffer that is an operand of the row program"
           << (isWrite ? " and that the row program writes" : "");
  MemRefType type = bufferTypeOf(buffer);
  if (!indices.empty()) {
    if (int64_t(indices.size()) != type.getRank())
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "expects one index per dimension of " << type;
    return success();
  }
  SmallVector<int64_t> shape(rows.getDomain());
  if (isWrite && type.getRank() > 0 && type.getShape().back() == 1)
    shape.back() = 1;
  if (type.getShape() != ArrayRef<int64_t>(shape))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "without indices, expects a buffer of the domain's shape ["
           << shape << "], got " << type;
  return success();
}

LogicalResult LoadOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  Type element = bufferTypeOf(operands[0]).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(context, integer.getWidth());
  types.push_back(element);
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getBuffer(), getIndices(), false);
}

LogicalResult StoreOp::verify() {
  Type element = bufferTypeOf(getBuffer()).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(getContext(), integer.getWidth());
  if (getValue().getType() != element)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a value of the buffer's element type, got "
           << getValue().getType() << " for " << getBuffer().getType();
  return verifyAccess(*this, getBuffer(), getIndices(), true);
}

LogicalResult ReduceOp::verify() {
  bool isUnsigned =
      getKind() == Reduction::UMax || getKind() == Reduction::UMin;
  if (isUnsigned && !isa<IntegerType>(getType()))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << stringifyReduction(getKind()) << " expects an integer, got "
           << getType();
  return success();
}

LogicalResult IndexOp::verify() {
  auto rows = cast<RowsOp>((*this)->getParentOp());
  if (int64_t(getDim()) < 0 || getDim() >= rows.getDomain().size())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a dimension of the domain, which has rank "
           << rows.getDomain().size() << ", got " << getDim();
  return success();
}

LogicalResult CoordinateOp::verify() {
  return success(succeeded(getGroupSize(*this, getAxis())));
}

LogicalResult CounterOp::verify() {
  if (!step::getLoop(*this, getLoop()))
    return tp::emitOpError(*this, ErrorCode::Misplaced)
           << "expects at least " << getLoop() + 1 << " enclosing loops";
  return success();
}
