// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention and its gradients.

#include "dialects/OpError.h"
#include "tpopt/Dialect/Step/Step.h"

#include <cmath>

using namespace mlir;
using namespace tp::step;
using tp::ErrorCode;

/// Returns true if rows of features are contiguous and aligned to
/// kFeatureBytes.
static bool hasWholeFeatures(MemRefType type) {
  Strides layout(type);
  int64_t bytes = getElementBytes(type.getElementType());
  auto isWhole = [&](int64_t elements) {
    return elements * bytes % kFeatureBytes == 0;
  };
  return layout.strides.back() == 1 && isWhole(type.getShape().back()) &&
         isWhole(layout.offset) &&
         llvm::all_of(ArrayRef(layout.strides).drop_back(), isWhole);
}

unsigned AttentionOp::getFirstWritten() {
  return getODSOperandIndexAndLength(6).first; // the output
}

static bool isSmall(ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements <= INT32_MAX;
}

/// Verifies query, key and value.
static LogicalResult verifyRows(AttentionOpInterface op) {
  MemRefType query = op.getQuery().getType(), key = op.getKey().getType(),
             value = op.getValue().getType();
  Type element = query.getElementType();
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                    v = value.getShape();
  if (q.size() != 5 || k.size() != 4 || v.size() != 4 || k[0] != q[0] ||
      k[2] != q[2] || k[3] != q[4] || v[0] != q[0] || v[1] != k[1] ||
      v[2] != q[2] || key.getElementType() != element ||
      value.getElementType() != element ||
      !(element.isF32() || element.isF16() || element.isBF16()))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] of "
              "the same element type, f32, f16 or bf16";
  return success();
}

/// Verifies the operands that hide keys, and the attributes `scale` and
/// `window`. Also verifies that features are contiguous and aligned, and that
/// sizes are in range. `features` are the types of the operands whose last
/// dimension is features; `rows` is the shape of the query rows.
static LogicalResult verifyOptions(AttentionOpInterface op,
                                   ArrayRef<MemRefType> features,
                                   ArrayRef<int64_t> rows) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape(),
                    k = op.getKey().getType().getShape(),
                    v = op.getValue().getType().getShape();
  auto isOf = [&](Value buffer, ArrayRef<ArrayRef<int64_t>> shapes,
                  unsigned width) {
    return !buffer ||
           (llvm::is_contained(shapes, bufferTypeOf(buffer).getShape()) &&
            bufferTypeOf(buffer).getElementType().isSignlessInteger(width));
  };
  int64_t plane[] = {q[0], q[1], k[1]};
  if (!isOf(op.getOffset(), {ArrayRef<int64_t>(), q.take_front()}, 32) ||
      !isOf(op.getLengths(), {q.take_front()}, 32) ||
      !isOf(op.getMask(), {ArrayRef<int64_t>(plane)}, 1))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects offset i32 [] or [b], lengths i32 [b] and mask i1 "
              "[b,s,t]";
  int64_t width = std::max(q[4], v[3]);
  if (width * getElementBytes(op.getQuery().getType().getElementType()) >
          kMaxFeatureBytes ||
      !llvm::all_of(features, hasWholeFeatures))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects the features of a row to be contiguous and to take at "
              "most "
           << kMaxFeatureBytes
           << " bytes, and their size, offset and strides to be multiples of "
           << kFeatureBytes << " bytes";
  double scale = op.getScale().convertToDouble();
  if (!(scale > 0) || std::isinf(scale))
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects a scale that is positive and finite";
  if (op.getWindow() && (int64_t(*op.getWindow()) < 1 || !op.getCausal()))
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects a window of at least 1, together with `causal`";
  if (!isSmall(rows) || !isSmall(k) || !isSmall(v))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects fewer than 2^31 rows, keys and values";
  return success();
}

/// Returns true if the buffer has one value per query row.
static bool isRowValue(AttentionOpInterface op, Value buffer) {
  MemRefType type = bufferTypeOf(buffer);
  return type.getElementType().isF32() &&
         type.getShape() == op.getQuery().getType().getShape().drop_back();
}

/// Returns true if `parts` has the three buffers, with the right types.
static bool hasWholeParts(AttentionOp op) {
  if (!op.getPartial() || !op.getStatistics() || !op.getCounters())
    return false;
  auto isOf = [](Value buffer, ArrayRef<int64_t> shape, auto isElement) {
    MemRefType type = bufferTypeOf(buffer);
    return type.getShape() == shape && isElement(type.getElementType()) &&
           isDense(buffer);
  };
  auto isF32 = [](Type type) { return type.isF32(); };
  ArrayRef<int64_t> partial = bufferTypeOf(op.getPartial()).getShape(),
                    output = bufferTypeOf(op.getOutput()).getShape();
  if (partial.size() != output.size() + 1 || !isSmall(partial.drop_back()))
    return false;
  SmallVector<int64_t> sums{partial.front()}, pairs;
  llvm::append_range(sums, output);
  pairs = sums;
  pairs.back() = 2;
  return isOf(op.getPartial(), sums, isF32) &&
         isOf(op.getStatistics(), pairs, isF32) &&
         isOf(op.getCounters(), output.drop_back(),
              [](Type type) { return type.isSignlessInteger(32); });
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyRows(*this)))
    return failure();
  MemRefType query = bufferTypeOf(getQuery()),
             output = bufferTypeOf(getOutput());
  SmallVector<int64_t> result(query.getShape().drop_back());
  result.push_back(bufferTypeOf(getValue()).getDimSize(3));
  if (output.getShape() != ArrayRef(result) ||
      output.getElementType() != query.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects an output [b,s,k,g,e] of the query's type";
  if (failed(verifyOptions(
          *this,
          {query, bufferTypeOf(getKey()), bufferTypeOf(getValue()), output},
          ArrayRef(result).drop_back())))
    return failure();
  bool isSplit = getPartial() || getStatistics() || getCounters();
  if (isSplit && !hasWholeParts(*this))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] "
              "and i32 [b,s,k,g], with fewer than 2^31 rows";
  if (getLogsumexp() && (isSplit || !isRowValue(*this, getLogsumexp())))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects logsumexp to be f32 [b,s,k,g], and not to be combined "
              "with parts";
  if (getTwoWarps() && (query.getElementType().isF32() ||
                        result[1] * result[3] > kMaxTwoWarpRows))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects two_warps only for 16-bit floats and at most "
           << kMaxTwoWarpRows << " rows";
  return success();
}

/// Verifies a gradient op. `outputs` has pairs of an operand and its gradient,
/// which must have the same type.
template <typename OpT>
static LogicalResult verifyGradient(OpT op,
                                    ArrayRef<std::pair<Value, Value>> outputs) {
  if (failed(verifyRows(op)))
    return failure();
  MemRefType query = bufferTypeOf(op.getQuery()),
             gradient = bufferTypeOf(op.getGradient());
  SmallVector<int64_t> rows(query.getShape().drop_back());
  rows.push_back(bufferTypeOf(op.getValue()).getDimSize(3));
  if (gradient.getShape() != ArrayRef(rows) ||
      gradient.getElementType() != query.getElementType())
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects a gradient [b,s,k,g,e] of the query's type";
  if (!isRowValue(op, op.getLogsumexp()) || !isRowValue(op, op.getDelta()))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects logsumexp and delta to be f32 [b,s,k,g]";
  SmallVector<MemRefType> features{query, bufferTypeOf(op.getKey()),
                                   bufferTypeOf(op.getValue()), gradient};
  for (auto [output, operand] : outputs) {
    MemRefType type = bufferTypeOf(output);
    if (type.getShape() != bufferTypeOf(operand).getShape() ||
        type.getElementType() != query.getElementType())
      return tp::emitOpError(op, ErrorCode::TypeMismatch)
             << "expects each gradient to have the shape and type of its "
                "operand";
    features.push_back(type);
  }
  return verifyOptions(op, features, query.getShape().drop_back());
}

unsigned AttentionQueryGradientOp::getFirstWritten() {
  return getODSOperandIndexAndLength(9).first; // the gradient of the query
}

LogicalResult AttentionQueryGradientOp::verify() {
  return verifyGradient(*this, {{getQueryGradient(), getQuery()}});
}

unsigned AttentionKeyValueGradientOp::getFirstWritten() {
  return getODSOperandIndexAndLength(9).first; // the gradient of the key
}

LogicalResult AttentionKeyValueGradientOp::verify() {
  return verifyGradient(
      *this, {{getKeyGradient(), getKey()}, {getValueGradient(), getValue()}});
}
