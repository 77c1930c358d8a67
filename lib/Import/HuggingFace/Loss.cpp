// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Loss.h"

using namespace mlir;
using namespace tp;
using namespace tp::hf;

/// The label of a token that is not predicted: torch.nn.CrossEntropyLoss's
/// ignore_index.
static constexpr int32_t kIgnored = -100;

SmallVector<std::pair<std::string, Value>>
hf::buildLoss(ModelBuilder &b, Value logits, Value labels) {
  ModelBuilder::Scope scope(b, "loss");
  ArrayRef<int64_t> shape = getShape(labels);
  RankedTensorType rows = b.tensor(shape, b.wide()),
                   scalar = b.tensor({}, b.wide());
  Value isLabel = b.op<CompareOp>(b.tensor(shape, b.i1()), ComparePredicate::NE,
                                  labels, b.integer(kIgnored, shape));
  Value each = b.op<CrossEntropyOp>(rows, logits, labels);
  Value zero = b.op<ConstantOp>(
      rows, DenseElementsAttr::get(rows, FloatAttr::get(b.wide(), 0)));
  auto sum = [&](Value value) {
    return b.op<ReduceOp>(scalar, ReductionKind::Sum, value,
                          ArrayRef<int64_t>{0, 1});
  };
  Value total = sum(b.op<SelectOp>(rows, isLabel, each, zero));
  Value count = sum(b.convert(isLabel, b.wide()));
  return {{"loss", b.op<DivOp>(scalar, total, count)}, {"label_count", count}};
}

Value hf::shiftLabels(ModelBuilder &b, Value labels) {
  ModelBuilder::Scope scope(b, "labels");
  int64_t batch = getShape(labels)[0], sequence = getShape(labels)[1];
  Value last = b.integer(kIgnored, {batch, 1});
  if (sequence == 1)
    return last;
  Value next = b.op<SliceOp>(b.tensor({batch, sequence - 1}, b.i32()), labels,
                             ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{1, 1});
  return b.op<ConcatOp>(labels.getType(), ValueRange{next, last}, 1);
}

void hf::warnOfDropout(Config &config, ArrayRef<StringRef> fields) {
  for (StringRef field : fields)
    if (config.share(field) != 0)
      emitWarning(config.getLoc(field))
          << "`" << field
          << "` asks for dropout, which is not supported and is left out of "
             "the training step; "
          << "write 0";
}
