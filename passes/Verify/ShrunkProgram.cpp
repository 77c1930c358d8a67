// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShrunkProgram.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/Sequence.h"

#include <map>
#include <set>

using namespace mlir;
using namespace tp;

/// The size of a dimension that has shrunk freely. Shorter dimensions keep
/// their sizes.
static constexpr int64_t kSmall = 3;
/// Two sizes count as near each other if they differ by at most this much.
static constexpr int64_t kNear = 8;

namespace {
/// How a dimension shrinks. If an op does not verify on the new sizes, its
/// dimensions are raised to the next level.
enum Level : unsigned {
  Alone,    ///< To a small size.
  Together, ///< By as much as near sizes: 256 and 255 to 4 and 3.
  Fixed,    ///< Not at all.
};
} // namespace

/// Replaces sharding directives, which are identities here, and transformer
/// ops, whose meaning depends on sizes.
static void simplify(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    bool isIdentity =
        isa<spmd::ConstraintOp, spmd::BarrierOp, spmd::GroupOp>(op);
    bool isComposed =
        isa<DecomposeOpInterface>(op) && !isa<EvaluateOpInterface>(op);
    if (isIdentity || isComposed)
      ops.push_back(op);
  });
  while (!ops.empty()) {
    Operation *op = ops.pop_back_val();
    if (auto composed = dyn_cast<DecomposeOpInterface>(op)) {
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      SmallVector<Value> values = composed.decompose(builder);
      for (Operation *made = before ? before->getNextNode()
                                    : &op->getBlock()->front();
           made != op; made = made->getNextNode())
        if (isa<DecomposeOpInterface>(made) && !isa<EvaluateOpInterface>(made))
          ops.push_back(made);
      op->replaceAllUsesWith(values);
    } else {
      op->replaceAllUsesWith(op->getOperands().take_front(op->getNumResults()));
    }
    op->erase();
  }
}

namespace {

class Shrinker {
public:
  Shrinker(func::FuncOp function, ArrayRef<std::pair<unsigned, unsigned>> pairs,
           ArrayRef<std::pair<unsigned, unsigned>> equalResults)
      : function(function) {
    number();
    function.walk([&](Operation *op) { tie(op); });
    Operation *end = function.front().getTerminator();
    for (auto [argument, result] : pairs)
      tie(function.getArgument(argument), end->getOperand(result));
    for (auto [a, b] : equalResults)
      tie(end->getOperand(a), end->getOperand(b));
  }

  /// Gives the values of `copy` their small types. If an op is then invalid,
  /// raises the levels of the op's dimensions and returns false. The caller
  /// then tries again with a new copy. This ends at the latest when all sizes
  /// are the original ones.
  bool shrink(func::FuncOp copy);

private:
  void number();
  void tie(Operation *op);
  void tie(Value a, Value b);
  /// Raises the level of a dimension to at least `level`.
  void raise(unsigned node, unsigned level) {
    unsigned &own = levels[node];
    own = std::max(own, level);
  }
  void fix(Value value);
  void fix(Operation *op);
  /// Raises the dimensions of an op to one level above their levels in
  /// `levels`. Returns true if any could be raised.
  bool raise(Operation *op, const DenseMap<unsigned, unsigned> &levels);
  /// Returns the level of each class of equal dimensions, by the leader of the
  /// class.
  DenseMap<unsigned, unsigned> getLevels();
  /// Groups sizes that are near each other, and computes by how much the sizes
  /// of a group shrink.
  void findShifts(const DenseMap<unsigned, unsigned> &levels);
  int64_t shrink(int64_t size, unsigned level);

  /// Returns all values of a function. The values of a copy of the function are
  /// returned in the same order.
  static SmallVector<Value> collect(func::FuncOp function);
  static void forEachOp(func::FuncOp function,
                        llvm::function_ref<void(Operation *)> visit) {
    function.walk<WalkOrder::PreOrder>(visit);
  }

  func::FuncOp function;
  /// The number of each value's first dimension. The value's other dimensions
  /// have the numbers that follow.
  DenseMap<Value, unsigned> first;
  llvm::EquivalenceClasses<unsigned> classes;
  /// The levels of dimensions; a class has the highest level of its members.
  DenseMap<unsigned, unsigned> levels;
  std::map<int64_t, int64_t> shifts;
};

} // namespace

SmallVector<Value> Shrinker::collect(func::FuncOp function) {
  SmallVector<Value> values;
  forEachOp(function, [&](Operation *op) {
    llvm::append_range(values, op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(values, block.getArguments());
  });
  return values;
}

void Shrinker::number() {
  unsigned next = 0;
  for (Value value : collect(function)) {
    first[value] = next;
    for (int64_t size : typeOf(value).getShape()) {
      (void)size;
      classes.insert(next++);
    }
  }
}

void Shrinker::tie(Value a, Value b) {
  for (int64_t dim : llvm::seq(typeOf(a).getRank()))
    classes.unionSets(first[a] + dim, first[b] + dim);
}

void Shrinker::fix(Value value) {
  for (int64_t dim : llvm::seq(typeOf(value).getRank()))
    raise(first[value] + dim, Fixed);
}

void Shrinker::fix(Operation *op) {
  for (Value operand : op->getOperands())
    fix(operand);
  for (Value result : op->getResults())
    fix(result);
}

DenseMap<unsigned, unsigned> Shrinker::getLevels() {
  DenseMap<unsigned, unsigned> highest;
  for (auto [node, level] : levels) {
    unsigned &own = highest[classes.getLeaderValue(node)];
    own = std::max(own, level);
  }
  return highest;
}

bool Shrinker::raise(Operation *op,
                     const DenseMap<unsigned, unsigned> &levels) {
  SmallVector<Value> tensors;
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (typeOf(value).getRank() > 0)
        tensors.push_back(value);
  auto getClass = [&](Value value, int64_t dim) {
    return classes.getLeaderValue(first[value] + dim);
  };
  // At first raise only dimensions whose class differs between the tensors. A
  // dimension with a single class, such as one that a slice takes whole, is not
  // why the op is invalid.
  auto isWrong = [&](int64_t dim) {
    return llvm::any_of(tensors, [&](Value value) {
      return typeOf(value).getRank() != typeOf(tensors[0]).getRank() ||
             getClass(value, dim) != getClass(tensors[0], dim);
    });
  };
  auto raiseIf = [&](llvm::function_ref<bool(int64_t)> condition) {
    bool raised = false;
    for (Value value : tensors)
      for (int64_t dim : llvm::seq(typeOf(value).getRank())) {
        unsigned level = levels.lookup(getClass(value, dim));
        if (level == Fixed || !condition(dim))
          continue;
        raise(first[value] + dim, level + 1);
        raised = true;
      }
    return raised;
  };
  return raiseIf(isWrong) || raiseIf([](int64_t) { return true; });
}

void Shrinker::findShifts(const DenseMap<unsigned, unsigned> &levels) {
  std::set<int64_t> sizes;
  for (auto [value, node] : first)
    for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape()))
      if (levels.lookup(classes.getLeaderValue(node + dim)) == Together)
        sizes.insert(size);
  shifts.clear();
  std::optional<int64_t> last;
  int64_t least = 0;
  for (int64_t size : sizes) {
    if (!last || size - *last > kNear)
      least = size;
    shifts[size] = std::max<int64_t>(0, least - kSmall);
    last = size;
  }
}

int64_t Shrinker::shrink(int64_t size, unsigned level) {
  switch (level) {
  case Alone:
    return std::min(size, kSmall);
  case Together:
    return size - shifts[size];
  default:
    return size;
  }
}

void Shrinker::tie(Operation *op) {
  if (auto flow = dyn_cast<spmd::RegionFlowOpInterface>(op)) {
    for (spmd::Channel channel : spmd::getChannels(flow)) {
      Value owner = channel.getOwner();
      for (OpOperand *source : channel.getSources())
        tie(owner, source->get());
      for (Value target : channel.getTargets())
        tie(owner, target);
    }
    return;
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (!isa<SplatElementsAttr>(constant.getValue()))
      fix(constant.getResult());
    return;
  }
  // Positions are computed at run time, and would be different in a shorter
  // dimension.
  if (isa<DynamicSliceOp, DynamicUpdateSliceOp>(op)) {
    Value whole = op->getOperand(0);
    Value part = isa<DynamicSliceOp>(op) ? op->getResult(0) : op->getOperand(1);
    for (int64_t dim : llvm::seq(typeOf(whole).getRank()))
      if (typeOf(whole).getDimSize(dim) != typeOf(part).getDimSize(dim))
        for (Value value : {whole, part})
          raise(first[value] + dim, Fixed);
  }
  auto ruled = dyn_cast<spmd::ShardingRuleOpInterface>(op);
  if (!ruled) {
    if (!op->hasTrait<OpTrait::IsTerminator>() && op != function)
      fix(op);
    return;
  }
  ShardingRule rule = ruled.getShardingRule();
  SmallVector<std::optional<unsigned>> known(rule.factors.size());
  for (unsigned tensor : llvm::seq(rule.getNumTensors())) {
    Value value = tensor < op->getNumOperands()
                      ? op->getOperand(tensor)
                      : op->getResult(tensor - op->getNumOperands());
    for (auto [dim, factors] : llvm::enumerate(rule.getTensor(tensor))) {
      unsigned node = first[value] + dim;
      // The size of a dimension of several factors is their product.
      if (factors.size() != 1 ||
          rule.factors[factors[0]].size != typeOf(value).getDimSize(dim)) {
        raise(node, Fixed);
        for (unsigned factor : factors)
          if (known[factor])
            raise(*known[factor], Fixed);
          else
            known[factor] = node;
        continue;
      }
      std::optional<unsigned> &other = known[factors[0]];
      if (other)
        classes.unionSets(node, *other);
      other = node;
    }
  }
}

bool Shrinker::shrink(func::FuncOp copy) {
  SmallVector<Value> whole = collect(function), values = collect(copy);
  DenseMap<unsigned, unsigned> highest = getLevels();
  findShifts(highest);
  for (auto [from, to] : llvm::zip_equal(whole, values)) {
    SmallVector<int64_t> shape(typeOf(from).getShape());
    for (auto [dim, size] : llvm::enumerate(shape))
      size = shrink(size,
                    highest.lookup(classes.getLeaderValue(first[from] + dim)));
    to.setType(typeOf(from).clone(shape));
  }
  copy.setFunctionType(
      FunctionType::get(copy.getContext(), copy.front().getArgumentTypes(),
                        copy.front().getTerminator()->getOperandTypes()));
  // Sources say which part of a stored tensor a weight is, and annotations how
  // it is sharded: both would be wrong for other sizes.
  for (unsigned i : llvm::seq(copy.getNumArguments()))
    for (StringRef name :
         {StringRef(kSourceAttr), StringRef(spmd::kShardingAttr)})
      copy.removeArgAttr(i, name);
  for (unsigned i : llvm::seq(copy.getNumResults()))
    for (StringRef name :
         {StringRef(kSourceAttr), StringRef(spmd::kShardingAttr)})
      copy.removeResultAttr(i, StringAttr::get(copy.getContext(), name));
  SmallVector<Operation *> ops, copies;
  forEachOp(function, [&](Operation *op) { ops.push_back(op); });
  forEachOp(copy, [&](Operation *op) { copies.push_back(op); });
  ScopedDiagnosticHandler quiet(copy.getContext(),
                                [](Diagnostic &) { return success(); });
  bool isRight = true, raised = false;
  for (auto [op, made] : llvm::zip_equal(ops, copies)) {
    if (auto constant = dyn_cast<ConstantOp>(made))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        constant.setValueAttr(splat.resizeSplat(constant.getType()));
    if (made == copy || succeeded(verify(made, /*verifyRecursively=*/false)))
      continue;
    raised |= raise(op, highest);
    isRight = false;
  }
  return isRight || !raised;
}

OwningOpRef<ModuleOp>
tp::shrinkProgram(func::FuncOp function,
                  ArrayRef<std::pair<unsigned, unsigned>> pairs,
                  ArrayRef<std::pair<unsigned, unsigned>> equalResults) {
  OwningOpRef<ModuleOp> whole(ModuleOp::create(function.getLoc()));
  OpBuilder builder = OpBuilder::atBlockEnd(whole->getBody());
  auto original = cast<func::FuncOp>(builder.clone(*function));
  simplify(original);
  Shrinker shrinker(original, pairs, equalResults);
  while (true) {
    OwningOpRef<ModuleOp> module(ModuleOp::create(function.getLoc()));
    OpBuilder inside = OpBuilder::atBlockEnd(module->getBody());
    if (shrinker.shrink(cast<func::FuncOp>(inside.clone(*original))))
      return module;
  }
}
