// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scaled dot-product attention over grouped heads.

#include "dialects/OpError.h"
#include "dialects/TP/Emitter.h"

#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;
using namespace tp;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult AttentionOp::verify() {
  RankedTensorType query = typeOf(getQuery()), key = typeOf(getKey()),
                   value = typeOf(getValue());
  auto same = [&](RankedTensorType type) {
    return type.getElementType() == query.getElementType();
  };
  bool fits = query.getRank() == 5 && key.getRank() == 4 &&
              value.getRank() == 4 && same(key) && same(value) &&
              same(getType());
  if (fits) {
    ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                      v = value.getShape();
    int64_t wanted[] = {q[0], q[1], q[2], q[3], v[3]};
    fits = k[0] == q[0] && k[2] == q[2] && k[3] == q[4] && v[0] == q[0] &&
           v[1] == k[1] && v[2] == q[2] &&
           getType().getShape() == ArrayRef<int64_t>(wanted);
  }
  if (!fits)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "takes query [b,s,k,g,d], key [b,t,k,d] and value "
              "[b,t,k,e] and gives [b,s,k,g,e], in one element "
              "type";
  int64_t b = query.getDimSize(0), s = query.getDimSize(1),
          t = key.getDimSize(1);
  if (getOffset() && typeOf(getOffset()).getRank() != 0 &&
      typeOf(getOffset()).getShape() != ArrayRef<int64_t>(b))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "offset is a scalar or one per batch entry, not "
           << getOffset().getType();
  if (getLengths() && typeOf(getLengths()).getShape() != ArrayRef<int64_t>(b))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "lengths has one entry per batch entry, not "
           << getLengths().getType();
  if (getMask() && typeOf(getMask()).getShape() != ArrayRef<int64_t>({b, s, t}))
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "mask is [b,s,t], not " << getMask().getType();
  if (getWindow() && (int64_t(*getWindow()) < 1 || !getCausal()))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "window is at least 1 and needs causal";
  return success();
}

ShardingRule AttentionOp::getShardingRule() {
  std::string equation = "bskgd!,bt!kd,bt!ke";
  if (getOffset())
    equation += typeOf(getOffset()).getRank() == 0 ? "," : ",b";
  if (getLengths())
    equation += ",b";
  if (getMask())
    equation += ",bst";
  return spmd::parseShardingRule(*this, equation + "->bskge");
}

double AttentionOp::getFlops(ArrayRef<int64_t> sizes) {
  // Two products over everything but the other's feature. The softmax does not
  // count, as is usual (Chowdhery et al., PaLM, 2022, appendix B): what has no
  // machine weighs products alone, and its parts would then cost less than the
  // whole, which keeps no scores in memory.
  ShardingRule rule = getShardingRule();
  double rows = 1, d = 1, e = 1;
  for (auto [factor, size] : llvm::zip(rule.factors, sizes)) {
    if (factor.name == 'd')
      d = size;
    else if (factor.name == 'e')
      e = size;
    else
      rows *= size;
  }
  return rows * (2 * d + 2 * e);
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  Emitter emit(builder, getLoc());
  Value query = emit.widen(getQuery()), key = emit.widen(getKey());
  ArrayRef<int64_t> q = typeOf(query).getShape();
  int64_t t = typeOf(key).getDimSize(1);
  SmallVector<int64_t> shape{q[0], q[2], q[3], q[1], t}; // b k g s t
  Value scores = emit.einsum("bskgd,btkd->bkgst", query, key, shape);
  scores = emit.binary<MulOp>(
      scores, emit.constant(getScale().convertToDouble(), scores));

  // What is visible, over [b, s, t].
  SmallVector<int64_t> plane{q[0], q[1], t};
  Type i32 = builder.getI32Type();
  Value visible;
  auto require = [&](Value condition) {
    visible = visible ? emit.binary<AndOp>(visible, condition) : condition;
  };
  if (getCausal()) {
    Value position = emit.iota(1, plane, i32);
    if (getOffset()) {
      SmallVector<int64_t> dims;
      if (typeOf(getOffset()).getRank() == 1)
        dims.push_back(0);
      position = emit.binary<AddOp>(
          position,
          emit.broadcast(emit.convert(getOffset(), i32), plane, dims));
    }
    Value index = emit.iota(2, plane, i32);
    require(emit.compare(ComparePredicate::LE, index, position));
    if (getWindow())
      require(emit.compare(ComparePredicate::LT,
                           emit.binary<SubOp>(position, index),
                           emit.constant(*getWindow(), index)));
  }
  if (getLengths())
    require(emit.compare(
        ComparePredicate::LT, emit.iota(2, plane, i32),
        emit.broadcast(emit.convert(getLengths(), i32), plane, {0})));
  if (getMask())
    require(getMask());

  Value weights;
  if (!visible) {
    weights = emit.softmax(scores, 4);
  } else {
    // Hidden scores take no part in the maximum and have weight zero, also in
    // rows that see nothing, where the sum is zero and 1 divides instead.
    Value seen = emit.broadcast(visible, shape, {0, 3, 4});
    Value lowest = emit.constant(-std::numeric_limits<float>::max(), scores);
    Value max =
        emit.reduce(ReductionKind::Max, emit.select(seen, scores, lowest), 4);
    Value shifted =
        emit.binary<SubOp>(scores, emit.repeatAlong(max, scores, 4));
    Value zero = emit.constant(0, scores);
    Value exp = emit.select(
        seen, emit.unary<ExpOp>(emit.select(seen, shifted, zero)), zero);
    Value sum = emit.reduce(ReductionKind::Sum, exp, 4);
    Value empty =
        emit.compare(ComparePredicate::EQ, sum, emit.constant(0, sum));
    sum = emit.select(empty, emit.constant(1, sum), sum);
    weights = emit.binary<DivOp>(exp, emit.repeatAlong(sum, exp, 4));
  }
  // Weights are rounded to 16 bits where values have so many, as models' own
  // code does: they are at most 1, and the product is one of narrow operands.
  Type element = getType().getElementType();
  Value value = element.getIntOrFloatBitWidth() < 16 ? emit.widen(getValue())
                                                     : getValue();
  weights = emit.convert(weights, typeOf(value).getElementType());
  Value y =
      emit.einsum("bkgst,btke->bskge", weights, value, getType().getShape());
  return {emit.convert(y, element)};
}

FailureOr<SmallVector<Value>> AttentionOp::localize(spmd::Localizer &localizer,
                                                    ValueRange operands) {
  OpBuilder &builder = localizer.getBuilder();
  IRMapping mapping;
  mapping.map(getOperands(), operands);
  // Query rows count from where the device's block begins.
  Value offset = getOffset() ? mapping.lookup(getOffset()) : Value();
  if (Value begin =
          getCausal() ? localizer.getBlockBegin(getQuery(), 1) : Value()) {
    Emitter emit(builder, getLoc());
    if (!offset) {
      offset = begin;
    } else {
      // Where a block begins may not fit into the type of an offset that does.
      auto given = cast<IntegerType>(typeOf(offset).getElementType());
      bool isWide = given.isSignless() && given.getWidth() >= 32;
      Type sum = isWide ? Type(given) : builder.getI64Type();
      offset = emit.convert(offset, sum);
      begin = emit.convert(begin, sum);
      RankedTensorType type = typeOf(offset);
      if (type.getRank() == 1)
        begin = BroadcastOp::create(builder, getLoc(), type, begin,
                                    ArrayRef<int64_t>());
      offset = AddOp::create(builder, getLoc(), type, offset, begin);
    }
  }
  auto lookup = [&](Value value) {
    return value ? mapping.lookup(value) : Value();
  };
  return SmallVector<Value>{create(
      builder, getLoc(), localizer.getLocalType(getResult()),
      mapping.lookup(getQuery()), mapping.lookup(getKey()),
      mapping.lookup(getValue()), offset, lookup(getLengths()),
      lookup(getMask()), getScaleAttr(), getCausalAttr(), getWindowAttr())};
}
