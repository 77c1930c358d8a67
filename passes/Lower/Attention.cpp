// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers attention and its gradients to dedicated steps, for a target that has
// kernels for them.

#include "Lowering.h"

#include "lib/Codegen/Attention.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static AttentionSize sizeOf(AttentionOpInterface op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  ArrayRef<int64_t> v = op.getValue().getType().getShape();
  return {q[0] * q[2], q[1] * q[3],
          v[1],        q[4],
          v[3],        !op.getQuery().getType().getElementType().isF32()};
}

/// The reason why the kernels cannot compute `op`; empty if they can.
static std::string findObstacle(AttentionOpInterface op) {
  Type element = op.getQuery().getType().getElementType();
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return llvm::formatv(
        "attention kernels do not support elements of type {0}", element);
  AttentionSize size = sizeOf(op);
  int64_t bytes = step::getElementBytes(element);
  for (int64_t features : {size.features, size.valueFeatures})
    if (features * bytes > step::kMaxFeatureBytes ||
        features * bytes % step::kFeatureBytes != 0)
      return llvm::formatv("attention kernels support at most {1} features, "
                           "and only multiples of {2}, got {0}",
                           features, step::kMaxFeatureBytes / bytes,
                           step::kFeatureBytes / bytes);
  double scale = op.getScale().convertToDouble();
  if (!(scale > 0) || std::isinf(scale))
    return "the scale is not positive and finite";
  double rows = double(size.heads) * size.rows * getAttentionParts(size);
  double features = std::max(size.features, size.valueFeatures);
  if (std::max(rows, double(size.heads) * size.keys * features) > INT32_MAX)
    return "attention kernels support fewer than 2^31 rows, and fewer than "
           "2^31 elements of keys and values";
  return "";
}

bool tp::hasAttentionKernel(AttentionOpInterface op, const Target &target) {
  return target.hasAttention() && findObstacle(op).empty();
}

void tp::prepareAttention(AttentionOpInterface op, const Target &target) {
  if (!hasAttentionKernel(op, target)) {
    if (target.hasAttention())
      op->emitRemark() << "this attention runs without an attention kernel: "
                       << findObstacle(op);
    else
      splitCausalAttention(op);
    return;
  }
  // The kernels only read integers of type i32.
  OpBuilder builder(op);
  auto toWord = [&](MutableOperandRange operand) {
    if (operand.empty())
      return;
    Value value = operand[0].get();
    auto type =
        RankedTensorType::get(typeOf(value).getShape(), builder.getI32Type());
    if (type != value.getType())
      operand.assign(ConvertOp::create(builder, op.getLoc(), type, value));
  };
  toWord(op.getOffsetMutable());
  toWord(op.getLengthsMutable());
}

/// Returns the view of `value`, copied if its rows of features do not begin at
/// multiples of kFeatureBytes.
View ProgramLowering::getFeatures(Value value, Operation *op) {
  View view = getView(value), adjusted = view;
  int64_t bytes = step::getElementBytes(view.element);
  bool isWhole = view.strides.back() == 1 &&
                 view.offset * bytes % step::kFeatureBytes == 0;
  for (auto [size, stride] :
       llvm::drop_end(llvm::zip(adjusted.shape, adjusted.strides))) {
    if (stride * bytes % step::kFeatureBytes == 0)
      continue;
    isWhole &= size == 1;
    stride = 0; // the stride of a single element is unused
  }
  if (isWhole)
    return adjusted;
  View dense = allocate(view.shape, view.element);
  copy(view, dense, op);
  return dense;
}

/// The buffer of an optional operand; null if it was left out.
Value ProgramLowering::getOptionalBuffer(Value value) {
  return value ? getBuffer(getView(value)) : Value();
}

void ProgramLowering::lowerAttention(AttentionOp op) {
  View query = getFeatures(op.getQuery(), op),
       key = getFeatures(op.getKey(), op),
       value = getFeatures(op.getValue(), op);
  Value offset = getOptionalBuffer(op.getOffset()),
        lengths = getOptionalBuffer(op.getLengths()),
        mask = getOptionalBuffer(op.getMask()), logsumexp;
  View result = allocateFor(op.getResult());
  views[op.getResult()] = result;
  if (op.getLogsumexp()) {
    views[op.getLogsumexp()] = allocateFor(op.getLogsumexp());
    logsumexp = getBuffer(views[op.getLogsumexp()]);
  }
  // All alternatives read the same views, so create them first.
  Value q = getBuffer(query), k = getBuffer(key), v = getBuffer(value);
  auto create = [&](const AttentionChoice &choice) {
    Value partial, statistics, counters;
    if (choice.parts > 1) {
      SmallVector<int64_t> shape(result.shape);
      shape.insert(shape.begin(), choice.parts);
      partial = getBuffer(allocate(shape, builder.getF32Type()));
      shape.back() = 2;
      statistics = getBuffer(allocate(shape, builder.getF32Type()));
      counters = getBuffer(getCounters(ArrayRef(result.shape).drop_back(), op));
    }
    step::AttentionOp::create(
        builder, loc, q, k, v, offset, lengths, mask, getBuffer(result),
        partial, statistics, counters, logsumexp, op.getScaleAttr(),
        op.getCausalAttr(), op.getWindowAttr(),
        choice.hasTwoWarps ? builder.getUnitAttr() : UnitAttr());
  };
  // An op with a log-sum-exp has all queries of a sequence. These keep the GPU
  // busy, so that the keys need not be split into parts. An op with a window
  // gets only the first of the choices: in calls that the runtime makes to time
  // the choices, the window would hide all keys.
  SmallVector<AttentionChoice> choices{{/*parts=*/1}};
  if (!logsumexp)
    choices = getAttentionChoices(sizeOf(op));
  if (op.getWindow() || !target.choosesSteps())
    choices.truncate(1);
  chooseBetween(choices.size(), [&](size_t i) { create(choices[i]); });
}

/// Returns zeros of this shape for steps that set them back to zero. Such steps
/// run one after the other, so those with equally many counters share them. The
/// program sets them to zero when it begins: a run that failed may have left
/// other numbers.
View ProgramLowering::getCounters(ArrayRef<int64_t> shape, Operation *op) {
  int64_t count = ShapedType::getNumElements(shape);
  auto [it, isNew] = counters.try_emplace(count);
  if (isNew) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&program.getBody().front());
    it->second = allocate({count}, builder.getI32Type());
    fill(it->second, builder.getI32IntegerAttr(0), op);
  }
  return getDense(*it->second.reshape(shape), op);
}

/// Nests `ways` alternatives: a choice has the first one in its first region,
/// and a choice between the others in its second region.
void ProgramLowering::chooseBetween(size_t ways,
                                    llvm::function_ref<void(size_t)> lower) {
  if (ways == 1)
    return lower(0);
  OpBuilder::InsertionGuard guard(builder);
  auto outerBuffers = buffers;
  for (size_t i = 0; i < ways; ++i) {
    if (i + 1 < ways) {
      auto choice = step::ChooseOp::create(builder, loc);
      builder.setInsertionPointToStart(&choice.getSecond().emplaceBlock());
      OpBuilder::InsertionGuard behind(builder);
      builder.setInsertionPointToStart(&choice.getFirst().emplaceBlock());
      lower(i);
    } else {
      lower(i);
    }
    buffers = outerBuffers; // views created in a region end with it
  }
}

template <typename StepOp, typename OpT>
void ProgramLowering::lowerAttentionGradient(OpT op) {
  SmallVector<Value> operands;
  for (Value rows :
       {op.getQuery(), op.getKey(), op.getValue(), op.getGradient()})
    operands.push_back(getBuffer(getFeatures(rows, op)));
  for (Value perRow : {op.getLogsumexp(), op.getDelta()})
    operands.push_back(getBuffer(getView(perRow)));
  SmallVector<Value> outputs;
  for (Value result : op->getResults()) {
    views[result] = allocateFor(result);
    outputs.push_back(getBuffer(views[result]));
  }
  auto create = [&](auto... output) {
    StepOp::create(
        builder, loc, operands[0], operands[1], operands[2], operands[3],
        operands[4], operands[5], getOptionalBuffer(op.getOffset()),
        getOptionalBuffer(op.getLengths()), getOptionalBuffer(op.getMask()),
        output..., op.getScaleAttr(), op.getCausalAttr(), op.getWindowAttr());
  };
  if constexpr (std::is_same_v<OpT, AttentionQueryGradientOp>)
    create(outputs[0]);
  else
    create(outputs[0], outputs[1]);
}

void ProgramLowering::lowerAttention(AttentionQueryGradientOp op) {
  lowerAttentionGradient<step::AttentionQueryGradientOp>(op);
}

void ProgramLowering::lowerAttention(AttentionKeyValueGradientOp op) {
  lowerAttentionGradient<step::AttentionKeyValueGradientOp>(op);
}
