// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rewrites equal programs into one spelling, so that the way a program is
// written does not change the cost of its plan: nested reductions of one kind
// become one reduction, and a dynamic slice with constant starts becomes a
// static one.

#include "Patterns.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

std::optional<Match> tp::raise::matchNestedReduction(Operation *root) {
  auto outer = dyn_cast<ReduceOp>(root);
  auto inner = outer ? outer.getInput().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!inner || inner.getKind() != outer.getKind())
    return std::nullopt;
  // Sums and products are rounded on the way.
  bool isExact = outer.getKind() == ReductionKind::Max ||
                 outer.getKind() == ReductionKind::Min;
  Type element = elementOf(root->getResult(0));
  if (!isExact && isa<FloatType>(element) && !isWide(element))
    return std::nullopt;
  SmallVector<int64_t> dims(inner.getDims()), kept;
  for (int64_t dim = 0, e = typeOf(inner.getInput()).getRank(); dim < e; ++dim)
    if (!llvm::is_contained(inner.getDims(), dim))
      kept.push_back(dim);
  for (int64_t dim : outer.getDims())
    dims.push_back(kept[dim]);
  llvm::sort(dims);
  Match match{"", root, {inner.getInput()}, {}};
  match.build = [=, kind = outer.getKind(),
                 input = inner.getInput()](OpBuilder &builder, Location loc) {
    return Emitter(builder, loc).reduce(kind, input, dims);
  };
  return match;
}

std::optional<Match> tp::raise::matchSlice(Operation *root) {
  auto slice = dyn_cast<DynamicSliceOp>(root);
  if (!slice)
    return std::nullopt;
  ArrayRef<int64_t> sizes = slice.getType().getShape();
  SmallVector<int64_t> starts;
  for (auto [start, whole, size] : llvm::zip_equal(
           slice.getStarts(), typeOf(slice.getInput()).getShape(), sizes)) {
    APInt number;
    if (!matchPattern(start, m_ConstantInt(&number)))
      return std::nullopt;
    // The part lies inside, wherever it is said to start.
    unsigned bits = std::max(64u, number.getBitWidth());
    number = elementOf(start).isUnsignedInteger() ? number.zext(bits + 1)
                                                  : number.sext(bits + 1);
    number = llvm::APIntOps::smax(number, APInt(bits + 1, 0));
    number = llvm::APIntOps::smin(number, APInt(bits + 1, whole - size));
    starts.push_back(number.getSExtValue());
  }
  Match match{"", root, {slice.getInput()}, {}};
  match.build = [=, input = slice.getInput(),
                 sizes = SmallVector<int64_t>(sizes)](OpBuilder &builder,
                                                      Location loc) {
    return Emitter(builder, loc).slice(input, starts, sizes);
  };
  return match;
}
