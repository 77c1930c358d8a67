// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Batch normalisation, which PyTorch/XLA also writes for layer norms.

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

/// Keeps the operand's feature dimension, and drops other dimensions of size 1:
/// a normalisation along a single dimension is then recognised as a layer norm.
class BatchNorm {
public:
  explicit BatchNorm(Conversion &c) : c(c) {}

  /// Reads the operands and attributes that all three operations of batch
  /// normalisation have. `vectors` are the numbers of the operands that have
  /// one element per feature.
  LogicalResult read(ArrayRef<unsigned> vectors) {
    FailureOr<int64_t> index = c.getInteger("feature_index");
    if (failed(index))
      return failure();
    auto epsilon = dyn_cast_or_null<FloatAttr>(c.get("epsilon"));
    if (!epsilon)
      return c.invalid() << " expects a number `epsilon`";
    this->epsilon = epsilon.getValueAsDouble();
    RankedTensorType type = c.inType();
    if (*index < 0 || *index >= type.getRank())
      return c.invalid() << " has no dimension " << *index;
    if (!isFloatTensor(type))
      return c.invalid() << " expects floats";
    int64_t size = type.getDimSize(*index);
    for (unsigned i : vectors)
      if (c.inType(i) != Emitter::withShape(c.in(), {size}))
        return c.invalid()
               << " expects scale, offset, mean and variance with " << size
               << " numbers of its element type, one for each feature";
    if (isEmpty(type))
      return c.unsupported()
             << " of a tensor without elements is not supported";
    for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
      bool isFeature = int64_t(dim) == *index;
      if (!isFeature && extent == 1)
        continue;
      if (isFeature)
        feature = shape.size();
      else
        others.push_back(shape.size());
      if (!isFeature)
        count *= extent;
      shape.push_back(extent);
    }
    return success();
  }

  Value squeeze(Value x) { return c.emit.reshape(x, shape); }
  Value unsqueeze(Value x) { return c.emit.reshape(x, c.inShape()); }
  Value spread(Value vector) {
    return c.emit.broadcast(vector, shape, {feature});
  }
  Value sum(Value x) {
    return others.empty() ? x : c.emit.reduce(ReductionKind::Sum, x, others);
  }
  /// Averages over all elements of a feature.
  Value average(Value x) {
    Value total = sum(x);
    return c.emit.binary<DivOp>(total, c.emit.constant(count, total));
  }
  Value center(Value x, Value mean) {
    return c.emit.binary<SubOp>(x, spread(mean));
  }
  Value addEpsilon(Value variance) {
    return c.emit.binary<AddOp>(variance, c.emit.constant(epsilon, variance));
  }
  Value getDeviation(Value variance) {
    return c.emit.unary<SqrtOp>(addEpsilon(variance));
  }
  /// Computes the result from centered values.
  Value normalize(Value centered, Value variance, Value scale, Value offset) {
    Value result =
        c.emit.binary<DivOp>(centered, spread(getDeviation(variance)));
    if (!isIdentity(Combiner::Mul, scale))
      result = c.emit.binary<MulOp>(result, spread(scale));
    if (!isIdentity(Combiner::Add, offset))
      result = c.emit.binary<AddOp>(result, spread(offset));
    return unsqueeze(result);
  }

  Conversion &c;
  double epsilon = 0, count = 1;
  /// The position of the feature dimension in `shape`.
  int64_t feature = 0;
  SmallVector<int64_t> shape, others;
};

} // namespace

static Results convertInference(Conversion &c) {
  BatchNorm norm(c);
  if (failed(norm.read({1, 2, 3, 4})))
    return failure();
  Value centered = norm.center(norm.squeeze(c.in()), c.in(3));
  return c.one(norm.normalize(centered, c.in(4), c.in(1), c.in(2)));
}

static Results convertTraining(Conversion &c) {
  BatchNorm norm(c);
  if (failed(norm.read({1, 2})))
    return failure();
  Value x = norm.squeeze(c.in());
  Value mean = norm.average(x);
  Value centered = norm.center(x, mean);
  Value variance = norm.average(c.emit.binary<MulOp>(centered, centered));
  return SmallVector<Value>{
      norm.normalize(centered, variance, c.in(1), c.in(2)), mean, variance};
}

static Results convertGradient(Conversion &c) {
  BatchNorm norm(c);
  if (failed(norm.read({1, 2, 3})))
    return failure();
  if (c.inType(4) != c.inType())
    return c.invalid() << " expects a gradient of its operand's type";
  auto multiply = [&](Value a, Value b) { return c.emit.binary<MulOp>(a, b); };
  auto divide = [&](Value a, Value b) { return c.emit.binary<DivOp>(a, b); };
  Value scale = c.in(1), mean = c.in(2), variance = c.in(3);
  Value gradient = norm.squeeze(c.in(4));
  Value centered = norm.center(norm.squeeze(c.in()), mean);
  Value deviation = norm.getDeviation(variance);
  Value sum = norm.sum(gradient);
  Value product = norm.sum(multiply(gradient, centered));
  // Subtracts the effect of x on the mean and the variance.
  Value along = multiply(
      centered, norm.spread(divide(product, norm.addEpsilon(variance))));
  Value all = multiply(gradient, c.emit.constant(norm.count, gradient));
  Value rest =
      c.emit.binary<SubOp>(c.emit.binary<SubOp>(all, norm.spread(sum)), along);
  Value factor =
      divide(divide(scale, deviation), c.emit.constant(norm.count, deviation));
  return SmallVector<Value>{norm.unsqueeze(multiply(rest, norm.spread(factor))),
                            divide(product, deviation), sum};
}

static constexpr Row kNormalizationRows[] = {
    {"stablehlo.batch_norm_grad", 5, 3, 0, convertGradient},
    {"stablehlo.batch_norm_inference", 5, 1, 0, convertInference},
    {"stablehlo.batch_norm_training", 3, 3, 0, convertTraining},
};

ArrayRef<Row> tp::stablehlo::getNormalizationRows() {
  return kNormalizationRows;
}
