// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionForm.h"

#include "dialects/OpError.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static bool fitsEachOther(AttentionOpInterface op, ArrayRef<Value> also) {
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType(),
                   value = op.getValue().getType();
  if (query.getRank() != 5 || key.getRank() != 4 || value.getRank() != 4)
    return false;
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                    v = value.getShape();
  int64_t rows[] = {q[0], q[1], q[2], q[3], v[3]};
  auto isOfQueryType = [&](RankedTensorType type) {
    return type.getElementType() == query.getElementType();
  };
  return k[0] == q[0] && k[2] == q[2] && k[3] == q[4] && v[0] == q[0] &&
         v[1] == k[1] && v[2] == q[2] && isOfQueryType(key) &&
         isOfQueryType(value) && llvm::all_of(also, [&](Value other) {
           RankedTensorType type = typeOf(other);
           return type.getShape() == ArrayRef(rows) && isOfQueryType(type);
         });
}

LogicalResult tp::verifyAttention(AttentionOpInterface op,
                                  ArrayRef<Value> also) {
  if (!fitsEachOther(op, also))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e]"
           << (isa<AttentionOp>(op)
                   ? " and result [b,s,k,g,e]"
                   : " and the gradient of the result [b,s,k,g,e]")
           << ", all of the same element type";
  int64_t b = op.getQuery().getType().getDimSize(0),
          s = op.getQuery().getType().getDimSize(1),
          t = op.getKey().getType().getDimSize(1);
  auto shapeOf = [](Value value) { return typeOf(value).getShape(); };
  if (op.getOffset() && !shapeOf(op.getOffset()).empty() &&
      shapeOf(op.getOffset()) != ArrayRef<int64_t>(b))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects offset to be a scalar or to have one value per batch "
              "entry, got "
           << op.getOffset().getType();
  if (op.getLengths() && shapeOf(op.getLengths()) != ArrayRef<int64_t>(b))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects lengths to have one value per batch entry, got "
           << op.getLengths().getType();
  if (op.getMask() && shapeOf(op.getMask()) != ArrayRef<int64_t>({b, s, t}))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects mask [b,s,t], got " << op.getMask().getType();
  if (op.getWindow() && (int64_t(*op.getWindow()) < 1 || !op.getCausal()))
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects a window of at least 1, together with `causal`";
  return success();
}

RankedTensorType tp::getRowType(AttentionOpInterface op) {
  RankedTensorType query = op.getQuery().getType();
  Type element = query.getElementType();
  if (!element.isF64())
    element = Float32Type::get(op.getContext());
  return RankedTensorType::get(query.getShape().drop_back(), element);
}

LogicalResult tp::verifyRowValue(AttentionOpInterface op, Value value,
                                 StringRef name) {
  RankedTensorType type = typeOf(value), wanted = getRowType(op);
  if (type.getShape() == wanted.getShape() &&
      type.getElementType() == wanted.getElementType())
    return success();
  return tp::emitOpError(op, ErrorCode::TypeMismatch)
         << name << " must be [b,s,k,g] of " << wanted.getElementType()
         << ", got " << type;
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

ShardingRule tp::getAttentionRule(AttentionOpInterface op, StringRef operands,
                                  StringRef results) {
  std::string equation = operands.str();
  if (op.getOffset())
    equation += op.getOffset().getType().getRank() == 0 ? "," : ",b";
  if (op.getLengths())
    equation += ",b";
  if (op.getMask())
    equation += ",bst";
  equation += "->";
  equation += results;
  return spmd::parseShardingRule(op, equation);
}

double tp::getAttentionFlops(AttentionOpInterface op, ArrayRef<int64_t> sizes,
                             int64_t overD, int64_t overE) {
  // Count only products, as is usual (Chowdhery et al., PaLM, 2022, appendix
  // B). Without a machine model, only contractions have a compute cost. So an
  // op that counted its softmax would look costlier than its decomposition.
  ShardingRule rule =
      cast<spmd::ShardingRuleOpInterface>(op.getOperation()).getShardingRule();
  double rows = 1, d = 1, e = 1;
  for (auto [factor, size] : llvm::zip(rule.factors, sizes)) {
    if (factor.name == 'd')
      d = size;
    else if (factor.name == 'e')
      e = size;
    else
      rows *= size;
  }
  return rows * 2 * (overD * d + overE * e);
}

Value tp::getLocalOffset(AttentionOpInterface op, spmd::Localizer &localizer,
                         Value offset) {
  Value begin =
      op.getCausal() ? localizer.getBlockBegin(op.getQuery(), 1) : Value();
  if (!begin || !offset)
    return begin ? begin : offset;
  OpBuilder &builder = localizer.getBuilder();
  Emitter emit(builder, op.getLoc());
  // The beginning of a block may not fit into the type of the offset.
  auto given = cast<IntegerType>(typeOf(offset).getElementType());
  bool isWide = given.isSignless() && given.getWidth() >= 32;
  Type sum = isWide ? Type(given) : builder.getI64Type();
  offset = emit.convert(offset, sum);
  begin = emit.convert(begin, sum);
  RankedTensorType type = typeOf(offset);
  if (type.getRank() == 1)
    begin = BroadcastOp::create(builder, op.getLoc(), type, begin,
                                ArrayRef<int64_t>());
  return AddOp::create(builder, op.getLoc(), type, offset, begin);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

AttentionForm::AttentionForm(OpBuilder &builder, AttentionOpInterface op)
    : emit(builder, op.getLoc()), op(op), i32(builder.getI32Type()) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  shape = {q[0], q[2], q[3], q[1], op.getKey().getType().getDimSize(1)};
}

Value AttentionForm::getScores() {
  Value scores = emit.einsum("bskgd,btkd->bkgst", emit.widen(op.getQuery()),
                             emit.widen(op.getKey()), shape);
  return emit.binary<MulOp>(
      scores, emit.constant(op.getScale().convertToDouble(), scores));
}

/// Returns the position of each query, as a tensor [b,s,t].
Value AttentionForm::getPositions(ArrayRef<int64_t> plane) {
  Value position = emit.iota(1, plane, i32);
  Value offset = op.getOffset();
  if (!offset)
    return position;
  SmallVector<int64_t> dims;
  if (typeOf(offset).getRank() == 1)
    dims.push_back(0);
  return emit.binary<AddOp>(
      position, emit.broadcast(emit.convert(offset, i32), plane, dims));
}

Value AttentionForm::getVisible(Value scores) {
  SmallVector<int64_t> plane{shape[0], shape[3], shape[4]};
  Value visible;
  auto require = [&](Value condition) {
    visible = visible ? emit.binary<AndOp>(visible, condition) : condition;
  };
  if (op.getCausal()) {
    Value position = getPositions(plane), index = emit.iota(2, plane, i32);
    require(emit.compare(ComparePredicate::LE, index, position));
    if (std::optional<uint64_t> window = op.getWindow())
      require(emit.compare(ComparePredicate::LT,
                           emit.binary<SubOp>(position, index),
                           emit.constant(*window, index)));
  }
  if (Value lengths = op.getLengths())
    require(
        emit.compare(ComparePredicate::LT, emit.iota(2, plane, i32),
                     emit.broadcast(emit.convert(lengths, i32), plane, {0})));
  if (Value mask = op.getMask())
    require(mask);
  return visible ? emit.broadcast(visible, shape, {0, 3, 4}) : Value();
}

Value AttentionForm::repeat(Value rows) {
  return emit.broadcast(emit.transpose(rows, {0, 2, 3, 1}), shape,
                        {0, 1, 2, 3});
}

Value AttentionForm::getFactor(Value like) {
  return typeOf(like).getElementTypeBitWidth() < 16 ? emit.widen(like) : like;
}

Value AttentionForm::round(Value weights, Value like) {
  return emit.convert(weights, typeOf(getFactor(like)).getElementType());
}
