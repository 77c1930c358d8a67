// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradients of contractions and reductions.

#include "dialects/TP/ReverseMode.h"

#include "llvm/ADT/Sequence.h"

#include <utility>

using namespace mlir;
using namespace tp;

/// The gradient of `operand` of `c = einsum "terms,other->result"`: the einsum
/// of g with the other operand, "result,other->terms". A letter that only
/// `operand` has is summed over, so the gradient is repeated along it.
static Value contract(Emitter emit, Value g, Value other, Value operand,
                      StringRef result, StringRef otherTerms, StringRef terms) {
  std::string kept;
  SmallVector<int64_t> shape, dims;
  for (auto [dim, letter] : llvm::enumerate(terms)) {
    if (!result.contains(letter) && !otherTerms.contains(letter))
      continue;
    kept.push_back(letter);
    dims.push_back(dim);
    shape.push_back(typeOf(operand).getDimSize(dim));
  }
  // If the result has a wider type than the operands, `g` has the wider type,
  // too: compute the product in the type of `g`, and round the product once.
  other = emit.convert(other, typeOf(g).getElementType());
  Value product = emit.einsum((result + "," + otherTerms + "->" + kept).str(),
                              g, other, shape);
  product = emit.convert(product, typeOf(operand).getElementType());
  if (kept.size() == terms.size())
    return product;
  return emit.broadcast(product, typeOf(operand).getShape(), dims);
}

LogicalResult EinsumOp::addGradients(ReverseMode &reverse) {
  EinsumTerms terms = EinsumTerms::split(getEquation());
  Value g = reverse.getGradient(getResult());
  Emitter emit = reverse.getEmitter();
  if (reverse.isWanted(getLhs()))
    reverse.add(getLhs(), contract(emit, g, getRhs(), getLhs(), terms.result,
                                   terms.rhs, terms.lhs));
  if (reverse.isWanted(getRhs()))
    reverse.add(getRhs(), contract(emit, g, getLhs(), getRhs(), terms.result,
                                   terms.lhs, terms.rhs));
  return success();
}

namespace {

/// The gradient of a reduction.
class ReductionGradient {
public:
  ReductionGradient(ReduceOp op, ReverseMode &reverse)
      : op(op), emit(reverse.getEmitter()),
        g(reverse.getGradient(op.getResult())), input(op.getInput()) {}

  Value run() {
    switch (op.getKind()) {
    case ReductionKind::Sum:
      return repeat(g);
    case ReductionKind::Max:
    case ReductionKind::Min:
      return choose();
    case ReductionKind::Prod:
      return emit.binary<MulOp>(repeat(g), multiplyOthers());
    }
    llvm_unreachable("covered switch");
  }

private:
  /// Repeats `value`, which has the shape of the result, along the reduced
  /// dimensions.
  Value repeat(Value value) {
    SmallVector<int64_t> dims;
    for (int64_t dim : llvm::seq(typeOf(input).getRank()))
      if (!llvm::is_contained(op.getDims(), dim))
        dims.push_back(dim);
    return emit.broadcast(value, typeOf(input).getShape(), dims);
  }

  /// Elements that equal the result share its gradient equally.
  Value choose() {
    Value isResult =
        emit.compare(ComparePredicate::EQ, input, repeat(op.getResult()));
    Value one =
        emit.select(isResult, emit.constant(1, input), emit.constant(0, input));
    Value count = emit.reduce(ReductionKind::Sum, one, op.getDims());
    return emit.binary<MulOp>(repeat(emit.binary<DivOp>(g, count)), one);
  }

  /// For each element, the product of all the others: the product of the
  /// earlier elements times the product of the later ones. There is no
  /// division, so zeros are no problem.
  Value multiplyOthers() {
    // Merge the reduced dimensions into one, which comes last.
    SmallVector<int64_t> permutation, shape;
    for (int64_t dim : llvm::seq(typeOf(input).getRank()))
      if (!llvm::is_contained(op.getDims(), dim)) {
        permutation.push_back(dim);
        shape.push_back(typeOf(input).getDimSize(dim));
      }
    int64_t dim = shape.size(), count = 1;
    llvm::append_range(permutation, op.getDims());
    for (int64_t reduced : op.getDims())
      count *= typeOf(input).getDimSize(reduced);
    shape.push_back(count);
    Value moved = emit.transpose(input, permutation);
    Value rows = emit.reshape(moved, shape);
    Value others = emit.binary<MulOp>(multiplyBefore(rows, dim, false),
                                      multiplyBefore(rows, dim, true));
    SmallVector<int64_t> inverse(permutation.size());
    for (auto [to, from] : llvm::enumerate(permutation))
      inverse[from] = to;
    return emit.transpose(emit.reshape(others, typeOf(moved).getShape()),
                          inverse);
  }

  /// For each element, the product of the earlier elements, or of the later
  /// ones if `behind`.
  Value multiplyBefore(Value rows, int64_t dim, bool behind) {
    SmallVector<int64_t> starts(dim + 1, 0), sizes(typeOf(rows).getShape());
    Value all = emit.cumulative(ReductionKind::Prod, rows, dim, behind);
    starts[dim] = behind ? 1 : 0;
    int64_t length = std::exchange(sizes[dim], 1);
    Value one = emit.constant(1, Emitter::withShape(rows, sizes));
    if (length == 1)
      return one;
    sizes[dim] = length - 1;
    Value some = emit.slice(all, starts, sizes);
    return behind ? emit.concat({some, one}, dim)
                  : emit.concat({one, some}, dim);
  }

  ReduceOp op;
  Emitter emit;
  Value g, input;
};

} // namespace

LogicalResult ReduceOp::addGradients(ReverseMode &reverse) {
  reverse.add(getInput(), ReductionGradient(*this, reverse).run());
  return success();
}

LogicalResult CumulativeOp::addGradients(ReverseMode &reverse) {
  // An element is an addend of the sums at all later positions, so its gradient
  // is a cumulative sum of their gradients, in the opposite direction.
  if (getKind() == ReductionKind::Sum) {
    reverse.add(getInput(),
                reverse.getEmitter().cumulative(
                    ReductionKind::Sum, reverse.getGradient(getResult()),
                    getDim(), !getReverse()));
    return success();
  }
  return reverse.addDecomposed(*this);
}
