// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RMS norm divides x by sqrt(mean(x^2) + epsilon). Layer norm does the same
// with x - mean(x) instead of x. Then the quotient may be multiplied by a
// scale, and a bias may be added.

#include "Patterns.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

struct Norm {
  BroadcastOperand input;
  /// The input, or in a layer norm the input minus its mean.
  BroadcastOperand centred;
  bool isLayer = false;
  double epsilon = 0;
  std::optional<BroadcastOperand> scale, bias;
};

} // namespace

/// Returns x if `term` is x - mean(x).
static std::optional<BroadcastOperand> getCentred(const BroadcastOperand &term,
                                                  int64_t dim) {
  if (!term.as<SubOp>())
    return std::nullopt;
  BroadcastOperand x = term.operand(0);
  std::optional<BroadcastOperand> mean = getMeanOf(term.operand(1), dim);
  if (!mean || !(*mean == x))
    return std::nullopt;
  return x;
}

/// Matches the mean square of a norm: in an RMS norm, the mean of x^2; in a
/// layer norm, the mean of (x - mean(x))^2, also written as mean(x^2) -
/// mean(x)^2.
static std::optional<Norm> matchMeanSquare(BroadcastOperand term, int64_t dim) {
  Norm norm;
  if (std::optional<BroadcastOperand> squares = getMeanOf(term, dim)) {
    std::optional<BroadcastOperand> x = getSquared(*squares);
    if (!x)
      return std::nullopt;
    norm.centred = norm.input = *x;
    if (std::optional<BroadcastOperand> input = getCentred(*x, dim)) {
      norm.input = *input;
      norm.isLayer = true;
    }
    return norm;
  }
  // A variance is never negative except by rounding; flax clamps it to zero.
  for (unsigned zero : {0, 1})
    if (term.as<MaxOp>() && term.operand(zero).isNumber(0))
      term = term.operand(1 - zero);
  if (!term.as<SubOp>())
    return std::nullopt;
  std::optional<BroadcastOperand> squares = getMeanOf(term.operand(0), dim);
  std::optional<BroadcastOperand> mean = getSquared(term.operand(1));
  std::optional<BroadcastOperand> x =
      squares ? getSquared(*squares) : std::nullopt;
  std::optional<BroadcastOperand> same =
      mean ? getMeanOf(*mean, dim) : std::nullopt;
  if (!x || !same || !(*same == *x))
    return std::nullopt;
  norm.input = *x;
  norm.isLayer = true;
  return norm;
}

/// Matches a norm without its bias.
static std::optional<Norm> matchProduct(const BroadcastOperand &term,
                                        int64_t dim) {
  auto findRoot = [](const Product &product,
                     bool &isUnder) -> const BroadcastOperand * {
    for (const BroadcastOperand &factor : product.over)
      if (isUnder = false; factor.as<RsqrtOp>())
        return &factor;
    for (const BroadcastOperand &factor : product.under)
      if (isUnder = true; factor.as<SqrtOp>())
        return &factor;
    return nullptr;
  };
  bool isUnder = false;
  Product apart = Product::of(term);
  const BroadcastOperand *found = findRoot(apart, isUnder);
  if (!found)
    return std::nullopt;
  BroadcastOperand square = found->operand(0);
  double epsilon = 0;
  for (unsigned number : {1, 0})
    if (square.as<AddOp>())
      if (std::optional<double> value = square.operand(number).getNumber()) {
        epsilon = *value;
        square = square.operand(1 - number);
      }
  std::optional<Norm> norm = matchMeanSquare(square, dim);
  if (!norm || !norm->input.isAlong(dim) || !(epsilon >= 0))
    return std::nullopt;
  norm->epsilon = epsilon;

  // The product may only consist of the root, the normalised value and,
  // optionally, a scale.
  Product product = Product::of(term, norm->isLayer ? nullptr : &norm->centred);
  found = findRoot(product, isUnder);
  if (!found || product.coefficient != 1 ||
      product.under.size() != (isUnder ? 1u : 0u))
    return std::nullopt;
  bool hasCentred = false;
  for (const BroadcastOperand &factor : product.over) {
    if (&factor == found)
      continue;
    bool isCentred = false;
    if (!hasCentred) {
      std::optional<BroadcastOperand> of =
          norm->isLayer ? getCentred(factor, dim) : std::nullopt;
      isCentred =
          norm->isLayer ? of && *of == norm->input : factor == norm->centred;
    }
    if (isCentred)
      hasCentred = true;
    else if (!norm->scale && factor.isRow(dim))
      norm->scale = factor;
    else
      return std::nullopt;
  }
  if (!hasCentred)
    return std::nullopt;
  return norm;
}

std::optional<Match> tp::raise::matchNorm(Operation *root) {
  if (!isa<AddOp, MulOp, DivOp>(root))
    return std::nullopt;
  auto type = typeOf(root->getResult(0));
  if (!isWide(type.getElementType()) || type.getRank() == 0)
    return std::nullopt;
  int64_t dim = type.getRank() - 1;
  std::optional<Norm> norm;
  if (auto add = dyn_cast<AddOp>(root)) {
    for (unsigned bias : {1, 0}) {
      BroadcastOperand row = BroadcastOperand::of(add->getOperand(bias));
      if (norm || !row.isRow(dim))
        continue;
      norm = matchProduct(BroadcastOperand::of(add->getOperand(1 - bias)), dim);
      if (norm)
        norm->bias = row;
    }
    if (!norm || !norm->isLayer)
      return std::nullopt;
  } else {
    norm = matchProduct(BroadcastOperand::of(root->getResult(0)), dim);
    if (!norm)
      return std::nullopt;
  }

  Match match{norm->isLayer ? "layer_norm" : "rms_norm", root, {}, {}};
  match.inputs.push_back(norm->input.getSource());
  for (const std::optional<BroadcastOperand> &row : {norm->scale, norm->bias})
    if (row)
      match.inputs.push_back(row->getSource());
  match.build = [norm = *norm, type, dim](OpBuilder &builder,
                                          Location loc) -> Value {
    Emitter emit(builder, loc);
    Value input = norm.input.materialize(emit, type.getShape());
    RankedTensorType rowType =
        Emitter::withShape(input, type.getShape().take_back());
    auto getRow = [&](const std::optional<BroadcastOperand> &row,
                      double otherwise) {
      return row ? row->arrange(emit, {dim}, rowType.getShape())
                 : emit.constant(otherwise, rowType);
    };
    FloatAttr epsilon = builder.getF64FloatAttr(norm.epsilon);
    Value scale = getRow(norm.scale, 1);
    if (!norm.isLayer)
      return RMSNormOp::create(builder, loc, type, input, scale, epsilon);
    return LayerNormOp::create(builder, loc, type, input, scale,
                               getRow(norm.bias, 0), epsilon);
  };
  return match;
}
