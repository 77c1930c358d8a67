// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions on unflattened tensors. PyTorch multiplies matrices, or stacks
// of them, and so flattens dims before a product and restores them after it:
//
//     %flat = tp.reshape %x : 2x7x32 -> 14x32
//     %y = tp.einsum "ab,bc->ac" %flat, %w : 14x32, 32x48 -> 14x48
//     %z = tp.add %y, %bias : 14x48
//     %r = tp.reshape %z : 14x48 -> 2x7x48
//
// A flattened dim can be sharded along its leading part only. That would rule
// out sharding the sequence of [batch, sequence], or the heads of [batch,
// head]. If all ops between such reshapes can be written without the reshapes,
// they become
//
//     %y = tp.einsum "deb,bc->dec" %x, %w : 2x7x32, 32x48 -> 2x7x48
//
// Matrices that are repeated only to make a stack are used without repetition.

#include "Patterns.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// For each dim of a value, the sizes of the dims that it is split into.
using Split = SmallVector<SmallVector<int64_t, 2>, 4>;

/// The computation between reshapes that merge dims and a reshape that splits
/// them.
class Unflattening {
public:
  /// Returns true if `value` can be computed with its dims split, from values
  /// that already exist.
  bool plan(Value value, const Split &split);
  ArrayRef<Value> getInputs() const { return inputs; }
  Value build(OpBuilder &builder, Value value);

private:
  bool planEinsum(EinsumOp einsum, const Split &split);
  Value write(OpBuilder &builder, Value value);
  Value buildEinsum(OpBuilder &builder, EinsumOp einsum);

  llvm::MapVector<Value, Split> splits;
  SmallVector<Value, 4> inputs;
  llvm::DenseMap<Value, Value> built;
  static constexpr size_t kMostValues = 64, kMostLetters = 26;
};

} // namespace

static SmallVector<int64_t> flatten(const Split &split) {
  SmallVector<int64_t> shape;
  for (const auto &sizes : split)
    llvm::append_range(shape, sizes);
  return shape;
}

/// Returns true if only dims of size 1 are split off.
static bool isTrivial(ArrayRef<int64_t> sizes) {
  return llvm::count_if(sizes, [](int64_t size) { return size != 1; }) <= 1;
}

/// Returns the dims of `to` that each dim of `from` is split into, if no dims
/// are merged.
static std::optional<Split> getSplit(ArrayRef<int64_t> from,
                                     ArrayRef<int64_t> to) {
  auto groups = getReassociationIndicesForCollapse(to, from);
  if (!groups)
    return std::nullopt;
  Split split;
  for (const ReassociationIndices &group : *groups) {
    auto &sizes = split.emplace_back();
    for (int64_t dim : group)
      sizes.push_back(to[dim]);
  }
  return split;
}

/// Returns true if every dim is split, is merged with its neighbours, or stays;
/// dims of size 1 may be added and dropped.
static bool isSplitOrMerged(SmallVector<int64_t> from,
                            SmallVector<int64_t> to) {
  llvm::erase(from, 1);
  llvm::erase(to, 1);
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    size_t first = i, second = j;
    int64_t product = from[i++], other = to[j++];
    while (product != other)
      if (product < other && i < from.size())
        product *= from[i++];
      else if (other < product && j < to.size())
        other *= to[j++];
      else
        return false;
    if (i - first > 1 && j - second > 1)
      return false;
  }
  return i == from.size() && j == to.size();
}

/// Returns the sizes that each letter of an einsum is split into.
static llvm::DenseMap<char, SmallVector<int64_t, 2>>
getLetterSplits(EinsumOp einsum, const Split &split) {
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  llvm::DenseMap<char, SmallVector<int64_t, 2>> result;
  for (auto [letters, operand] : {std::pair(terms.lhs, einsum.getLhs()),
                                  std::pair(terms.rhs, einsum.getRhs())})
    for (auto [letter, size] :
         llvm::zip_equal(letters, typeOf(operand).getShape()))
      result[letter] = {size};
  for (auto [letter, sizes] : llvm::zip_equal(terms.result, split))
    result[letter] = sizes;
  return result;
}

bool Unflattening::planEinsum(EinsumOp einsum, const Split &split) {
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  auto letters = getLetterSplits(einsum, split);
  size_t count = 0;
  for (auto &[letter, sizes] : letters)
    count += sizes.size();
  return count <= kMostLetters &&
         llvm::all_of(ArrayRef{std::pair(terms.lhs, einsum.getLhs()),
                               std::pair(terms.rhs, einsum.getRhs())},
                      [&](auto side) {
                        Split own;
                        for (char letter : side.first)
                          own.push_back(letters[letter]);
                        return plan(side.second, own);
                      });
}

bool Unflattening::plan(Value value, const Split &split) {
  auto [it, isNew] = splits.try_emplace(value, split);
  if (!isNew)
    return it->second == split;
  if (splits.size() > kMostValues)
    return false;
  if (llvm::all_of(split, [](const auto &sizes) { return isTrivial(sizes); })) {
    inputs.push_back(value);
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (!isSplitOrMerged(
            SmallVector<int64_t>(typeOf(reshape.getInput()).getShape()),
            flatten(split)))
      return false;
    inputs.push_back(reshape.getInput());
    return true;
  }
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<DenseElementsAttr>(constant.getValue());
  if (auto einsum = dyn_cast<EinsumOp>(op))
    return planEinsum(einsum, split);
  if (op->hasTrait<Elementwise>())
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return plan(operand, split); });
  Split inner;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (int64_t dim : broadcast.getDims())
      inner.push_back(split[dim]);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    inner.resize(split.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      inner[from] = split[dim];
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    inner = split;
    for (int64_t dim : reduce.getDims())
      inner.insert(inner.begin() + dim,
                   {typeOf(reduce.getInput()).getDimSize(dim)});
  } else {
    return false;
  }
  return plan(op->getOperand(0), inner);
}

Value Unflattening::buildEinsum(OpBuilder &builder, EinsumOp einsum) {
  const Split &split = splits.find(einsum.getResult())->second;
  auto letterSplits = getLetterSplits(einsum, split);
  char next = 'a';
  llvm::DenseMap<char, std::string> parts;
  auto rename = [&](StringRef letters) {
    std::string renamed;
    for (char letter : letters) {
      std::string &own = parts[letter];
      for (size_t i = own.size(); i < letterSplits[letter].size(); ++i)
        own += next++;
      renamed += own;
    }
    return renamed;
  };
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  std::string lhs = rename(terms.lhs), rhs = rename(terms.rhs);
  return EinsumOp::create(
      builder, einsum.getLoc(),
      RankedTensorType::get(flatten(split), elementOf(einsum)),
      lhs + "," + rhs + "->" + rename(terms.result),
      build(builder, einsum.getLhs()), build(builder, einsum.getRhs()));
}

Value Unflattening::build(OpBuilder &builder, Value value) {
  if (Value known = built.lookup(value))
    return known;
  return built[value] = write(builder, value);
}

Value Unflattening::write(OpBuilder &builder, Value value) {
  const Split &split = splits.find(value)->second;
  SmallVector<int64_t> shape = flatten(split);
  Emitter emit(builder, value.getLoc());
  if (llvm::is_contained(inputs, value))
    return emit.reshape(value, shape);
  Operation *op = value.getDefiningOp();
  if (auto einsum = dyn_cast<EinsumOp>(op))
    return buildEinsum(builder, einsum);
  auto type = RankedTensorType::get(shape, elementOf(value));
  if (auto constant = dyn_cast<ConstantOp>(op))
    return ConstantOp::create(
        builder, op->getLoc(), type,
        cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return emit.reshape(reshape.getInput(), shape);
  if (op->hasTrait<Elementwise>()) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(build(builder, operand));
    Operation *copy = op->clone();
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return builder.insert(copy)->getResult(0);
  }
  // Replaces each dim that the op names by all of its parts.
  Value input = build(builder, op->getOperand(0));
  auto spread = [](ArrayRef<int64_t> dims, const Split &over) {
    SmallVector<int64_t> spread, offsets(1, 0);
    for (const auto &sizes : over)
      offsets.push_back(offsets.back() + sizes.size());
    for (int64_t dim : dims)
      llvm::append_range(spread, llvm::seq(offsets[dim], offsets[dim + 1]));
    return spread;
  };
  const Split &inner = splits.find(op->getOperand(0))->second;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return emit.broadcast(input, shape, spread(broadcast.getDims(), split));
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return emit.transpose(input, spread(transpose.getPermutation(), inner));
  auto reduce = cast<ReduceOp>(op);
  return emit.reduce(reduce.getKind(), input, spread(reduce.getDims(), inner));
}

std::optional<Match> tp::raise::matchFlattened(Operation *root) {
  auto reshape = dyn_cast<ReshapeOp>(root);
  // An annotation of the result need not hold for the values from which the
  // result is computed.
  if (!reshape || !root->getDiscardableAttrDictionary().empty())
    return std::nullopt;
  ArrayRef<int64_t> flat = typeOf(reshape.getInput()).getShape();
  std::optional<Split> split = getSplit(flat, reshape.getType().getShape());
  if (!split)
    return std::nullopt;
  // Tries each dim separately: of [batch * position, head * feature], only the
  // first can be split if a weight has head * feature as a single dim.
  Split whole;
  for (int64_t size : flat)
    whole.push_back({size});
  Split some = whole;
  for (auto [dim, sizes] : llvm::enumerate(*split)) {
    Split one = whole;
    one[dim] = sizes;
    if (!isTrivial(sizes) && Unflattening().plan(reshape.getInput(), one))
      some[dim] = sizes;
  }
  Unflattening plan;
  if (some == whole || !plan.plan(reshape.getInput(), some))
    return std::nullopt;
  Match match{"unflattened", root, {}, {}};
  match.inputs.append(plan.getInputs().begin(), plan.getInputs().end());
  match.build = [plan = std::move(plan), value = reshape.getInput(),
                 shape = reshape.getType().getShape()](OpBuilder &builder,
                                                       Location loc) mutable {
    return Emitter(builder, loc).reshape(plan.build(builder, value), shape);
  };
  return match;
}

std::optional<Match> tp::raise::matchRepeated(Operation *root) {
  auto einsum = dyn_cast<EinsumOp>(root);
  if (!einsum)
    return std::nullopt;
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  for (unsigned side : {0, 1}) {
    StringRef own = side ? terms.rhs : terms.lhs,
              other = side ? terms.lhs : terms.rhs;
    BroadcastOperand term = BroadcastOperand::of(
        einsum->getOperand(side), SmallVector<int64_t>(own.begin(), own.end()));
    // Dims along which the operand is repeated must also be dims of the other
    // operand and of the result.
    std::string kept;
    SmallVector<int64_t> order, sizes;
    bool isRepeated = false, fits = true;
    for (auto [letter, size] :
         llvm::zip_equal(own, typeOf(einsum->getOperand(side)).getShape())) {
      bool isElsewhere =
          other.contains(letter) && terms.result.contains(letter);
      if (term.isAlong(letter) || (size == 1 && !isElsewhere)) {
        kept += letter;
        order.push_back(letter);
        sizes.push_back(size);
        continue;
      }
      isRepeated |= size != 1;
      fits &= isElsewhere;
    }
    if (!isRepeated || !fits)
      continue;
    Match match{"contraction", root, {}, {}};
    match.inputs = {term.getSource(), einsum->getOperand(1 - side)};
    std::string equation =
        side ? (other + "," + kept + "->" + terms.result).str()
             : (kept + "," + other + "->" + terms.result).str();
    match.build = [=, type = einsum.getType(),
                   whole = einsum->getOperand(1 - side)](
                      OpBuilder &builder, Location loc) -> Value {
      Emitter emit(builder, loc);
      Value operands[2];
      operands[side] = term.arrange(emit, order, sizes);
      operands[1 - side] = whole;
      return EinsumOp::create(builder, loc, type, equation, operands[0],
                              operands[1]);
    };
    return match;
  }
  return std::nullopt;
}
