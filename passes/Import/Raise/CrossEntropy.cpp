// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Cross entropy of logits x. Exporters write one of these formulas, with
// L = x - logsumexp(x):
//
//     logsumexp(x) - x[label]      -L[label]      -sum(onehot(label) * L)
//
// For a label that is not a class, `tp.cross_entropy` gives logsumexp(x). JAX's
// lookup of such a label gives NaN, and onehot() gives a loss of zero. A select
// after `tp.cross_entropy` restores these values.

#include "Patterns.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

/// The number of the class dim, which the loss does not have.
static constexpr int64_t kClass = 1 << 20;

namespace {

/// The elements of `from` that `label` selects along the class dim.
struct Picked {
  BroadcastOperand from, label;
  int64_t classes = 0;
  /// Conditions that are true if the label is a class. If one of them is false,
  /// the selected element is NaN. If the list is empty, a label that is not a
  /// class selects zero.
  SmallVector<BroadcastOperand, 2> guards;
  bool isLookedUp = true;
};

} // namespace

/// Returns the x in log(sum(exp(x))) along the classes.
static std::optional<BroadcastOperand>
getLogSumInput(const BroadcastOperand &log) {
  if (!log.as<LogOp>())
    return std::nullopt;
  BroadcastOperand sum = log.operand(0);
  // JAX's logsumexp allows weights, and so takes the absolute value of the sum.
  if (sum.as<AbsOp>())
    sum = sum.operand(0);
  auto reduce = sum.as<ReduceOp>();
  if (!reduce || reduce.getKind() != ReductionKind::Sum ||
      reduce.getDims().size() != 1 || sum.isAlong(kClass))
    return std::nullopt;
  BroadcastOperand exp = sum.reduced(kClass);
  if (!exp.as<ExpOp>() || !exp.operand(0).isAlong(kClass))
    return std::nullopt;
  return exp.operand(0);
}

/// Returns the x in x - logsumexp(x), written as (x - m) - log(sum(exp(x -
/// m))). Any m that is constant along the row is accepted, because m cancels
/// out.
static std::optional<BroadcastOperand>
getLogSoftmaxInput(const BroadcastOperand &term) {
  if (!term.as<SubOp>() || !term.isAlong(kClass))
    return std::nullopt;
  BroadcastOperand x = term.operand(0);
  std::optional<BroadcastOperand> input = getLogSumInput(term.operand(1));
  if (!input || !(*input == x))
    return std::nullopt;
  return x.as<SubOp>() && !x.operand(1).isAlong(kClass) ? x.operand(0) : x;
}

/// Returns the x in log(sum(exp(x - m))) + m.
static std::optional<BroadcastOperand>
getLogSumExpInput(const BroadcastOperand &term) {
  if (std::optional<BroadcastOperand> x = getLogSumInput(term))
    return x;
  for (unsigned log : {0, 1})
    if (term.as<AddOp>())
      if (std::optional<BroadcastOperand> x = getLogSumInput(term.operand(log)))
        if (x->as<SubOp>() && x->operand(1) == term.operand(1 - log))
          return x->operand(0);
  return std::nullopt;
}

/// Returns true if an index is 0, or is clamped to 0.
static bool isZero(const BroadcastOperand &index) {
  if (index.isNumber(0))
    return true;
  for (unsigned zero : {0, 1}) {
    if (!index.as<MinOp>() || !index.operand(zero).isNumber(0))
      continue;
    BroadcastOperand inner = index.operand(1 - zero);
    if (inner.as<MaxOp>() &&
        (inner.operand(0).isNumber(0) || inner.operand(1).isNumber(0)))
      return true;
  }
  return false;
}

/// Matches x[label], written as a lookup.
static std::optional<Picked> getLookedUp(BroadcastOperand term) {
  Picked picked;
  for (unsigned depth = 0; depth < 4; ++depth) {
    if (term.as<SelectOp>()) {
      std::optional<double> other = term.operand(2).getNumber();
      if (!other || !std::isnan(*other))
        return std::nullopt;
      picked.guards.push_back(term.operand(0));
      term = term.operand(1);
      continue;
    }
    auto gather = term.as<GatherOp>();
    if (!gather)
      return std::nullopt;
    auto from = typeOf(gather.getInput());
    int64_t axis = gather.getAxis(),
            rank = typeOf(gather.getIndices()).getRank();
    SmallVector<int64_t> dims(term.getDims().take_front(axis));
    if (int64_t(gather.getBatchDims()) == axis && axis + 1 == from.getRank()) {
      dims.push_back(kClass);
      picked.from = BroadcastOperand::of(gather.getInput(), dims);
      picked.label = BroadcastOperand::of(gather.getIndices(), term.getDims());
      picked.classes = from.getDimSize(axis);
      return picked;
    }
    // This gather must be a lookup of the only element along `axis`.
    if (from.getDimSize(axis) != 1 || gather.getBatchDims() != 0 ||
        typeOf(gather.getIndices()).getNumElements() != 1 ||
        !isZero(BroadcastOperand::of(gather.getIndices())))
      return std::nullopt;
    dims.push_back(BroadcastOperand::kNone);
    llvm::append_range(dims, term.getDims().drop_front(axis + rank));
    term = BroadcastOperand::of(gather.getInput(), dims);
  }
  return std::nullopt;
}

/// Matches sum(onehot(label) * x).
static std::optional<Picked> getSummed(const BroadcastOperand &sum) {
  auto reduce = sum.as<ReduceOp>();
  if (!reduce || reduce.getKind() != ReductionKind::Sum ||
      reduce.getDims().size() != 1 || sum.isAlong(kClass))
    return std::nullopt;
  BroadcastOperand product = sum.reduced(kClass);
  if (!product.as<MulOp>())
    return std::nullopt;
  for (unsigned hot : {0, 1}) {
    if (!product.operand(hot).as<ConvertOp>())
      continue;
    BroadcastOperand equal = product.operand(hot).operand(0);
    auto compare = equal.as<CompareOp>();
    if (!compare || compare.getPredicate() != ComparePredicate::EQ)
      continue;
    for (unsigned index : {0, 1}) {
      BroadcastOperand count = equal.operand(index),
                       label = equal.operand(1 - index);
      auto iota = count.as<IotaOp>();
      if (!iota || count.getDims()[iota.getDim()] != kClass ||
          label.isAlong(kClass) ||
          elementOf(label.getSource()).getIntOrFloatBitWidth() < 32 ||
          !isa<IntegerType>(elementOf(label.getSource())))
        continue;
      Picked picked;
      picked.from = product.operand(1 - hot);
      picked.label = label;
      picked.classes = iota.getType().getDimSize(iota.getDim());
      picked.isLookedUp = false;
      return picked;
    }
  }
  return std::nullopt;
}

std::optional<Match> tp::raise::matchCrossEntropy(Operation *root) {
  if (!isa<SubOp, NegOp>(root) || !isWide(elementOf(root->getResult(0))))
    return std::nullopt;
  std::optional<Picked> picked;
  std::optional<BroadcastOperand> logits;
  if (isa<SubOp>(root)) {
    picked = getLookedUp(BroadcastOperand::of(root->getOperand(1)));
    if (picked) {
      logits = getLogSumExpInput(BroadcastOperand::of(root->getOperand(0)));
      if (!logits || !(*logits == picked->from))
        return std::nullopt;
    }
  } else {
    BroadcastOperand term = BroadcastOperand::of(root->getOperand(0));
    picked = getLookedUp(term);
    if (!picked)
      picked = getSummed(term);
    if (picked)
      logits = getLogSoftmaxInput(picked->from);
  }
  if (!logits || !logits->isAlong(kClass))
    return std::nullopt;

  Match match{"cross_entropy", root, {}, {}};
  match.inputs = {logits->getSource(), picked->label.getSource()};
  for (const BroadcastOperand &guard : picked->guards)
    match.inputs.push_back(guard.getSource());
  match.build = [picked = *picked, logits = *logits,
                 type = typeOf(root->getResult(0))](OpBuilder &builder,
                                                    Location loc) -> Value {
    Emitter emit(builder, loc);
    SmallVector<int64_t> shape(type.getShape()), order;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      order.push_back(dim);
    Value label = picked.label.arrange(emit, order, shape);
    order.push_back(kClass);
    shape.push_back(picked.classes);
    Value loss = CrossEntropyOp::create(
        builder, loc, type, logits.arrange(emit, order, shape), label);
    if (!picked.isLookedUp) {
      Value isClass = emit.binary<AndOp>(
          emit.compare(ComparePredicate::GE, label, emit.constant(0, label)),
          emit.compare(ComparePredicate::LT, label,
                       emit.constant(double(picked.classes), label)));
      return emit.select(isClass, loss, emit.constant(0, loss));
    }
    Value nan =
        picked.guards.empty()
            ? Value()
            : emit.constant(std::numeric_limits<double>::quiet_NaN(), loss);
    for (const BroadcastOperand &guard : picked.guards)
      loss = emit.select(guard.materialize(emit, type.getShape()), loss, nan);
    return loss;
  };
  return match;
}
