// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unflatten.h"

#include "Strategies.h"

#include "dialects/TP/Emitter.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::plan;

/// The sizes in `shape` that each dimension of `flat` is split into; nullopt if
/// dimensions are merged.
static std::optional<SmallVector<SmallVector<int64_t, 2>>>
getParts(ArrayRef<int64_t> flat, ArrayRef<int64_t> shape) {
  SmallVector<SmallVector<int64_t, 2>> parts;
  for (int64_t size : flat) {
    auto &own = parts.emplace_back();
    int64_t product = 1;
    do {
      if (shape.empty() || shape.front() == 0)
        return std::nullopt;
      own.push_back(shape.front());
      product *= shape.front();
      shape = shape.drop_front();
    } while (product < size);
    if (product != size)
      return std::nullopt;
  }
  // The dimensions of `shape` that are left must have size 1. They count as
  // parts of the last dimension of `flat`.
  for (int64_t size : shape) {
    if (size != 1 || parts.empty())
      return std::nullopt;
    parts.back().push_back(size);
  }
  return parts;
}

namespace {

/// One einsum, and the sizes into which each letter of its equation is split.
class Unflattening {
public:
  Unflattening(EinsumOp einsum, ArrayRef<int64_t> counts)
      : einsum(einsum), terms(EinsumTerms::split(einsum.getEquation())),
        counts(counts) {
    SmallVector<std::pair<StringRef, Value>, 2> sides{
        {terms.lhs, einsum.getLhs()}, {terms.rhs, einsum.getRhs()}};
    for (auto [letters, operand] : sides)
      for (auto [letter, size] : llvm::zip_equal(letters, shapeOf(operand)))
        parts[letter] = {size};
    for (auto [letters, operand] : sides)
      if (auto reshape = operand.getDefiningOp<ReshapeOp>())
        split(letters, shapeOf(reshape), shapeOf(reshape.getInput()));
    root = einsum;
    if (!einsum->hasOneUse())
      return;
    if (auto reshape = dyn_cast<ReshapeOp>(*einsum->user_begin());
        reshape && split(terms.result, shapeOf(einsum), shapeOf(reshape)))
      root = reshape;
  }

  bool hasSplit() const { return isSplit && fits(); }

  ProgramView::Rewrite &addTo(ProgramView &view, ShardingTable &table) {
    SmallVector<Operation *> absorbed;
    for (Value operand : einsum.getOperands())
      if (auto reshape = operand.getDefiningOp<ReshapeOp>();
          reshape && reshape->hasOneUse() && isUndone(reshape))
        absorbed.push_back(reshape);
    if (root != einsum)
      absorbed.push_back(einsum);
    return view.add(root, absorbed, [&](OpBuilder &builder) {
      Value value = build(builder);
      for (Operation &part : *builder.getInsertionBlock())
        inferShardings(&part, table);
      return SmallVector<Value>{value};
    });
  }

private:
  /// Splits the letters of `flat` into the dimensions of `shape`. Returns false
  /// if `shape` does more than split dimensions, or if no number of devices
  /// requires the split.
  bool split(StringRef letters, ArrayRef<int64_t> flat,
             ArrayRef<int64_t> shape) {
    auto split = getParts(flat, shape);
    if (!split)
      return false;
    auto all = parts;
    bool isNeeded = false;
    for (auto [letter, size, sizes] : llvm::zip_equal(letters, flat, *split)) {
      if (sizes.size() == 1)
        continue;
      SmallVector<int64_t, 2> &known = all[letter];
      if (known.size() > 1 && known != sizes)
        return false;
      isNeeded |= hasOtherBlocks(size, sizes);
      known = sizes;
    }
    if (isNeeded)
      parts = all;
    isSplit |= isNeeded;
    return isNeeded;
  }

  /// Returns true if, for some number of devices, sharding a dimension of
  /// `size` gives other blocks than sharding the first of the dimensions
  /// `sizes` into which it is split. Dimensions of size 1 are skipped.
  bool hasOtherBlocks(int64_t size, ArrayRef<int64_t> sizes) const {
    const auto *first =
        llvm::find_if(sizes, [](int64_t part) { return part > 1; });
    if (first == sizes.end() || *first == size)
      return false;
    return llvm::any_of(counts, [&](int64_t count) {
      return *first % count != 0 && count < 2 * *first;
    });
  }

  /// Returns true if there are enough letters for all parts.
  bool fits() const {
    size_t count = 0;
    for (const auto &[letter, sizes] : parts)
      count += sizes.size();
    return count <= 26;
  }

  SmallVector<int64_t> getShape(StringRef letters) const {
    SmallVector<int64_t> shape;
    for (char letter : letters)
      llvm::append_range(shape, parts.find(letter)->second);
    return shape;
  }

  /// Returns true if the split undoes `reshape`, so that the product can read
  /// the input of `reshape`.
  bool isUndone(ReshapeOp reshape) {
    for (auto [letters, operand] : {std::pair(terms.lhs, einsum.getLhs()),
                                    std::pair(terms.rhs, einsum.getRhs())})
      if (operand == reshape.getResult() &&
          shapeOf(reshape.getInput()) != ArrayRef(getShape(letters)))
        return false;
    return true;
  }

  Value build(OpBuilder &builder) {
    Emitter emit(builder, einsum.getLoc());
    std::map<char, std::string> names;
    char next = 'a';
    for (const auto &[letter, sizes] : parts)
      for (size_t i = 0; i < sizes.size(); ++i)
        names[letter] += next++;
    auto rename = [&](StringRef letters) {
      std::string renamed;
      for (char letter : letters)
        renamed += names[letter];
      return renamed;
    };
    auto read = [&](Value operand, StringRef letters) -> Value {
      SmallVector<int64_t> shape = getShape(letters);
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (reshape && isUndone(reshape))
        return reshape.getInput();
      return shapeOf(operand) == ArrayRef(shape) ? operand
                                                 : emit.reshape(operand, shape);
    };
    Value lhs = read(einsum.getLhs(), terms.lhs);
    Value rhs = read(einsum.getRhs(), terms.rhs);
    Value product = EinsumOp::create(
        builder, einsum.getLoc(),
        RankedTensorType::get(getShape(terms.result),
                              einsum.getType().getElementType()),
        rename(terms.lhs) + "," + rename(terms.rhs) + "->" +
            rename(terms.result),
        lhs, rhs);
    ArrayRef<int64_t> wanted = shapeOf(root->getResult(0));
    return shapeOf(product) == wanted ? product : emit.reshape(product, wanted);
  }

  EinsumOp einsum;
  EinsumTerms terms;
  ArrayRef<int64_t> counts;
  Operation *root;
  llvm::MapVector<char, SmallVector<int64_t, 2>> parts;
  bool isSplit = false;
};

} // namespace

SmallVector<ProgramView::Rewrite *>
tp::plan::addUnflattened(ProgramView &view, ArrayRef<Operation *> ops,
                         ArrayRef<int64_t> counts, ShardingTable &table) {
  SmallVector<ProgramView::Rewrite *> rewrites;
  for (Operation *op : ops)
    if (auto einsum = dyn_cast<EinsumOp>(op))
      if (Unflattening unflattening(einsum, counts); unflattening.hasSplit())
        rewrites.push_back(&unflattening.addTo(view, table));
  return rewrites;
}
