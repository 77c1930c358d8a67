// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Derives the roles of a weight's dimensions from the ops that use it.

#include "Features.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tp;

/// Returns the features of operand `index` of a contraction, treating this
/// operand as the weight.
static Features getContracted(EinsumOp op, unsigned index) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  StringRef weight = index == 0 ? terms.lhs : terms.rhs;
  StringRef other = index == 0 ? terms.rhs : terms.lhs;
  Features features;
  for (auto [dim, letter] : llvm::enumerate(weight)) {
    if (!terms.result.contains(letter))
      features.in.push_back(dim);
    else if (!other.contains(letter))
      features.out.push_back(dim);
  }
  return features;
}

/// Returns true if `op` repeats its input along new dimensions, or only adds or
/// drops dimensions of size 1.
static bool isRepeated(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    auto isNotOne = [](int64_t size) { return size != 1; };
    return llvm::equal(
        llvm::make_filter_range(reshape.getInput().getType().getShape(),
                                isNotOne),
        llvm::make_filter_range(reshape.getType().getShape(), isNotOne));
  }
  return isa<BroadcastOp>(op);
}

/// Returns true if `a` comes before `b`, comparing their ancestors in the
/// innermost block that contains both.
static bool comesBefore(Operation *a, Operation *b) {
  for (Operation *outer = b; outer; outer = outer->getParentOp())
    if (Operation *other = outer->getBlock()
                               ? outer->getBlock()->findAncestorOpInBlock(*a)
                               : nullptr)
      return other->isBeforeInBlock(outer);
  return false;
}

/// Returns the features of a bias, which is broadcast and then added.
static std::optional<Features> getBiasFeatures(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isRepeated(op) || !llvm::all_of(op->getUsers(), llvm::IsaPred<AddOp>))
    return std::nullopt;
  auto type = cast<RankedTensorType>(use.get().getType());
  return Features{
      {}, llvm::to_vector(llvm::seq<unsigned>(0, type.getRank())), {}};
}

static std::optional<Features> getFeatures(OpOperand &use) {
  return llvm::TypeSwitch<Operation *, std::optional<Features>>(use.getOwner())
      .Case([&](EinsumOp op) -> std::optional<Features> {
        return getContracted(op, use.getOperandNumber());
      })
      .Case([&](EmbeddingOp op) -> std::optional<Features> {
        if (use.get() != op.getTable())
          return std::nullopt;
        return Features{{0}, {1}, {}};
      })
      .Default([&](Operation *) { return getBiasFeatures(use); });
}

namespace {

/// Follows an argument through ops that move its elements to other dimensions.
/// PyTorch's exports, for example, transpose every weight: y = x w^T.
class ArgumentUses {
public:
  explicit ArgumentUses(BlockArgument argument) {
    Origins own;
    for (int64_t dim = 0, e = typeOf(argument).getRank(); dim < e; ++dim)
      own.push_back({unsigned(dim)});
    add(argument, std::move(own));
  }

  /// Returns the features according to the first op in the program that treats
  /// the argument as a weight.
  std::optional<Features> find() {
    lookAll();
    if (!table.op || !weight.op)
      return table.op ? table.features : weight.features;
    Features both =
        *(comesBefore(table.op, weight.op) ? table : weight).features;
    both.headOut = weight.features->out;
    return both;
  }

  std::vector<WeightUse> findAll() {
    lookAll();
    return std::move(weightUses);
  }

private:
  /// Entry i belongs to dimension i of a value. It lists the argument's
  /// dimensions that dimension i is made of.
  using Origins = SmallVector<SmallVector<unsigned, 2>, 4>;
  struct Form {
    Value value;
    Origins origins;
  };

  void add(Value value, Origins origins) {
    forms.push_back({value, std::move(origins)});
  }
  void lookAll() {
    for (size_t i = 0; i < forms.size(); ++i)
      for (OpOperand &use : forms[i].value.getUses())
        look(use, Origins(forms[i].origins));
  }
  void look(OpOperand &use, const Origins &origins);
  static Origins reshape(ReshapeOp op, const Origins &origins);
  /// Maps features of a value to dimensions of the argument. Returns nullopt if
  /// one dimension of the argument is both an input and an output feature.
  static std::optional<Features> translate(const Features &features,
                                           const Origins &origins);

  /// `table` is the first op that looks up rows of the argument. `weight` is
  /// the first op that uses the argument as a weight in any other way.
  struct FirstUse {
    Operation *op = nullptr;
    std::optional<Features> features;
  };

  std::vector<Form> forms;
  std::vector<WeightUse> weightUses;
  FirstUse table, weight;
};

} // namespace

void ArgumentUses::look(OpOperand &use, const Origins &origins) {
  Operation *op = use.getOwner();
  if (std::optional<Features> found = ::getFeatures(use)) {
    std::optional<Features> own = translate(*found, origins);
    if (own)
      weightUses.push_back({&use, *own});
    FirstUse &first = isa<EmbeddingOp>(op) ? table : weight;
    if (own && (!first.op || comesBefore(op, first.op)))
      first = {op, std::move(own)};
    return;
  }
  if (isa<ConvertOp>(op)) {
    add(op->getResult(0), origins);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Origins turned;
    for (int64_t dim : transpose.getPermutation())
      turned.push_back(origins[dim]);
    add(transpose, std::move(turned));
  } else if (auto other = dyn_cast<ReshapeOp>(op)) {
    add(other, reshape(other, origins));
  }
}

/// Returns the origins of every dimension of a reshape's result. A result
/// dimension has the origins of each input dimension with which it shares a
/// factor.
ArgumentUses::Origins ArgumentUses::reshape(ReshapeOp op,
                                            const Origins &origins) {
  ShardingRule rule = makeReshapeRule(typeOf(op.getInput()).getShape(),
                                      op.getType().getShape());
  Origins result(op.getType().getRank());
  for (auto [to, made] : llvm::enumerate(rule.results.front()))
    for (auto [from, taken] : llvm::enumerate(rule.operands.front()))
      if (llvm::any_of(taken, [&, &own = made](unsigned factor) {
            return llvm::is_contained(own, factor);
          }))
        llvm::append_range(result[to], origins[from]);
  return result;
}

std::optional<Features> ArgumentUses::translate(const Features &features,
                                                const Origins &origins) {
  auto collect = [&](ArrayRef<unsigned> dims) {
    SmallVector<unsigned> own;
    for (unsigned dim : dims)
      for (unsigned origin : origins[dim])
        if (!llvm::is_contained(own, origin))
          own.push_back(origin);
    llvm::sort(own);
    return own;
  };
  Features own{collect(features.in), collect(features.out), {}};
  for (unsigned dim : own.in)
    if (llvm::is_contained(own.out, dim))
      return std::nullopt;
  return own;
}

llvm::DenseMap<Value, Features> tp::getFeatures(FunctionOpInterface function) {
  llvm::DenseMap<Value, Features> result;
  for (BlockArgument argument : function.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      if (std::optional<Features> features = ArgumentUses(argument).find())
        result.try_emplace(argument, std::move(*features));
  return result;
}

std::vector<WeightUse> tp::findWeightUses(BlockArgument argument) {
  return ArgumentUses(argument).findAll();
}

AttentionOp tp::findAttention(Value value) {
  // Follows `value` to values that have heads: sums, rotations, and caches into
  // which heads are written. A contraction is followed only if it reads `value`
  // itself, which it may project to heads. A contraction of values that already
  // have heads does not keep the heads.
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *user : seen[i].getUsers()) {
      if (auto attention = dyn_cast<AttentionOp>(user))
        return attention;
      if (isa<EinsumOp>(user) && seen[i] != value)
        continue;
      if (!isa<EinsumOp, AddOp, RotaryOp, ConvertOp, DynamicUpdateSliceOp>(
              user) &&
          !isRepeated(user))
        continue;
      seen.insert(user->getResult(0));
      // Attention may read the rows that are written into a cache, not the
      // cache. The rows have the same heads.
      if (auto update = dyn_cast<DynamicUpdateSliceOp>(user))
        seen.insert(update.getUpdate());
    }
  return {};
}

HeadAxes tp::cutHeads(int64_t kv, int64_t group, AxisRef axis) {
  int64_t part = std::gcd(kv, axis.size), rest = axis.size / part;
  if (rest == 1 || group % rest != 0)
    return {{axis}, {}};
  HeadAxes axes;
  if (part > 1)
    axes.kv.push_back({axis.axis, axis.pre, part});
  axes.group.push_back({axis.axis, axis.pre * part, rest});
  return axes;
}
