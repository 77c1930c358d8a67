// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-raise: decides which of the ops that patterns recognise may be erased, and
// replaces them.
//
// Blocks are swept backwards, so that the largest group is found first: a norm
// with its scale before the norm without it. Later sweeps find groups of ops
// that earlier sweeps have written. From each op, a sweep looks at a bounded
// number of other ops, so that the pass is linear.

#include "Moves.h"
#include "Patterns.h"
#include "Stencils.h"

#include "tpopt/Passes/Import/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_RAISEPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// The ops between a match's root and its inputs, operands before users.
class Group {
public:
  explicit Group(const Match &match) : match(match) {}

  /// Returns true if all of these ops may be erased: nothing else needs their
  /// results.
  bool isFree();
  /// Erases the ops that are no longer used, and ops that were only used by
  /// erased ops. The root must already be erased.
  void erase(llvm::function_ref<void(Operation *)> beforeErase);

private:
  bool collect(Operation *op);

  const Match &match;
  llvm::SetVector<Operation *> ops;
  /// The ops that do more than move or convert an input and that depend on more
  /// than constants. Computing them twice has a cost.
  llvm::DenseSet<Operation *> costly;
  static constexpr size_t kMostOps = 512;
};

} // namespace

/// Erases the elements of `ops` that have no uses, and ops that only erased ops
/// used.
static void
eraseDead(ArrayRef<Operation *> ops,
          llvm::function_ref<void(Operation *)> beforeErase = nullptr) {
  llvm::SetVector<Operation *> open(ops.begin(), ops.end());
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        open.insert(source);
    if (beforeErase)
      beforeErase(op);
    op->erase();
  }
}

bool Group::collect(Operation *op) {
  if (ops.contains(op))
    return true;
  if (ops.size() >= kMostOps)
    return false;
  bool isCostly = false;
  bool isMovement =
      isa<BroadcastOp, TransposeOp, ReshapeOp, SliceOp, ConvertOp>(op);
  for (Value operand : op->getOperands()) {
    // Exporters convert an input again for each use.
    if (llvm::any_of(match.inputs, [&](Value input) {
          return isWrittenAlike(operand, input);
        })) {
      isCostly |= !isMovement;
      continue;
    }
    Operation *source = operand.getDefiningOp();
    if (!source || !collect(source))
      return false;
    isCostly |= costly.contains(source);
  }
  ops.insert(op);
  if (isCostly)
    costly.insert(op);
  return true;
}

void Group::erase(llvm::function_ref<void(Operation *)> beforeErase) {
  SmallVector<Operation *> unused;
  for (Value input : match.inputs)
    if (Operation *op = input.getDefiningOp())
      unused.push_back(op);
  llvm::append_range(unused, ops.getArrayRef().drop_back());
  eraseDead(unused, beforeErase);
}

bool Group::isFree() {
  if (!collect(match.root))
    return false;
  return llvm::all_of(ops.getArrayRef().drop_back(), [&](Operation *op) {
    // An annotation of a value, such as a sharding, must not be lost.
    if (!op->getDiscardableAttrDictionary().empty())
      return false;
    return !costly.contains(op) ||
           (op->getBlock() == match.root->getBlock() &&
            llvm::all_of(op->getUsers(), [&](Operation *user) {
              return ops.contains(user) || isOpTriviallyDead(user);
            }));
  });
}

/// Drops multiplications and divisions by one, which PyTorch writes in sums
/// without a factor. Replaces multiplications by minus one by negations. Drops
/// additions of zero, as XLA does; JAX starts sums of gradients from zero.
static bool dropUnits(Operation *root) {
  bool changed = false;
  root->walk([&](Operation *op) {
    bool isSum = isa<AddOp, SubOp>(op);
    if (!(isSum || isa<MulOp, DivOp>(op)) ||
        !op->getDiscardableAttrDictionary().empty())
      return;
    for (unsigned unit : {1, 0}) {
      if (unit == 0 && isa<DivOp, SubOp>(op))
        return;
      std::optional<double> number =
          BroadcastOperand::of(op->getOperand(unit)).getNumber();
      if (isSum ? number != 0 : number != 1 && number != -1)
        continue;
      Value other = op->getOperand(1 - unit);
      SmallVector<Operation *, 1> unused;
      if (Operation *one = op->getOperand(unit).getDefiningOp())
        unused.push_back(one);
      if (number == -1) {
        OpBuilder builder(op);
        other = NegOp::create(builder, op->getLoc(), other.getType(), other);
      }
      op->getResult(0).replaceAllUsesWith(other);
      op->erase();
      eraseDead(unused);
      changed = true;
      return;
    }
  });
  return changed;
}

/// If an op's operands are converted from 16 bits and its result is converted
/// back, rewrites the op to use 16-bit values directly. Such an op also
/// computes in f32 and rounds once.
static void narrow(Operation *op) {
  if (!isa<SoftmaxOp, LayerNormOp, RMSNormOp, RotaryOp, GeluOp, SiluOp,
           GatedOp>(op) ||
      !op->hasOneUse() || !elementOf(op->getResult(0)).isF32())
    return;
  auto back = dyn_cast<ConvertOp>(*op->user_begin());
  auto input = op->getOperand(0).getDefiningOp<ConvertOp>();
  if (!back || !input || input.getInput().getType() != back.getType() ||
      elementOf(back).getIntOrFloatBitWidth() != 16 ||
      !back->getDiscardableAttrDictionary().empty())
    return;
  Type element = elementOf(back);
  // Angles keep their own type.
  unsigned count = isa<RotaryOp>(op) ? 1 : op->getNumOperands();
  SmallVector<Value> operands(op->getOperands());
  OpBuilder builder(op);
  Emitter emit(builder, op->getLoc());
  auto getNarrow = [&](Value operand) -> Value {
    auto shape = typeOf(operand).getShape();
    BroadcastOperand term = BroadcastOperand::of(operand);
    if (term.as<ConvertOp>() &&
        elementOf(term.operand(0).getSource()) == element)
      return term.operand(0).materialize(emit, shape);
    // This is the constant row that replaces a missing scale or bias.
    std::optional<double> number = term.getNumber();
    return number == 0.0 || number == 1.0
               ? emit.constant(*number, RankedTensorType::get(shape, element))
               : Value();
  };
  for (Value &operand : MutableArrayRef(operands).take_front(count))
    if (operand = getNarrow(operand); !operand)
      return;
  SmallVector<Operation *> unused;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp())
      unused.push_back(source);
  op->setOperands(operands);
  op->getResult(0).setType(back.getType());
  back.replaceAllUsesWith(op->getResult(0));
  back.erase();
  eraseDead(unused);
}

namespace {

class Raiser {
public:
  void sweep(Region &region, ArrayRef<Recognizer> recognizers) {
    for (Block &block : region)
      for (Operation *op = block.empty() ? nullptr : &block.back(); op;) {
        for (Region &inner : op->getRegions())
          sweep(inner, recognizers);
        // Erased ops come before the op that replaces them.
        op = tryRaise(op, recognizers)->getPrevNode();
      }
  }

  /// Emits a remark on each op that was written, in program order. Then emits a
  /// remark with the number of ops of each kind.
  void report(ModuleOp module) {
    llvm::MapVector<StringRef, unsigned> counts;
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto entry = written.find(op);
      if (entry == written.end())
        return;
      ++counts[entry->second];
      auto function = op->getParentOfType<FunctionOpInterface>();
      auto remark = remark::passed(
          op->getLoc(), remark::RemarkOpts::name(entry->second)
                            .category("tp-raise")
                            .function(function ? function.getName() : ""));
      if (remark)
        remark << remark::reason("raised from primitives");
    });
    auto summary = remark::analysis(
        module.getLoc(),
        remark::RemarkOpts::name("raised").category("tp-raise"));
    if (summary)
      for (auto [name, count] : counts)
        summary << remark::metric(name, count);
  }

  bool hasChanged() const { return changed; }

private:
  /// Tries to raise `op`. Returns the op before which the backward sweep
  /// continues.
  Operation *tryRaise(Operation *op, ArrayRef<Recognizer> recognizers) {
    if (op->getNumResults() != 1 || op->use_empty() ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return op;
    for (Recognizer recognize : recognizers) {
      std::optional<Match> match = recognize(op);
      if (!match)
        continue;
      Group group(*match);
      if (group.isFree())
        return raise(*match, group);
    }
    return op;
  }

  Operation *raise(const Match &match, Group &group) {
    changed = true;
    Operation *root = match.root;
    Operation *before = root->getPrevNode();
    OpBuilder builder(root);
    Value replacement = match.build(builder, root->getLoc());
    llvm::SmallPtrSet<Operation *, 16> built;
    for (Operation *op = before ? before->getNextNode()
                                : &root->getBlock()->front();
         op != root; op = op->getNextNode())
      built.insert(op);
    // If all data movement cancels out, the replacement is an input of the
    // match. The root is followed at least by the block's terminator.
    bool isInput = llvm::is_contained(match.inputs, replacement);
    Operation *last =
        isInput ? root->getNextNode() : replacement.getDefiningOp();
    if (!isInput)
      last->setDiscardableAttrs(root->getDiscardableAttrDictionary());
    root->getResult(0).replaceAllUsesWith(replacement);
    StringRef name = match.name.empty() ? written.lookup(root) : match.name;
    forget(root);
    root->erase();
    group.erase([&](Operation *op) { forget(op); });
    if (isInput)
      return last;
    // In the replacement, reshapes and transposes may follow the transformer
    // op.
    Operation *op = last;
    while (isa<ReshapeOp, TransposeOp>(op) &&
           built.contains(op->getOperand(0).getDefiningOp()))
      op = op->getOperand(0).getDefiningOp();
    if (!name.empty())
      written[op] = name;
    narrow(op);
    return last;
  }

  void forget(Operation *op) { written.erase(op); }

  /// The names of the transformer ops that were written, except for those that
  /// have since become part of other ops.
  llvm::DenseMap<Operation *, StringRef> written;
  bool changed = false;
};

struct Raise : tp::impl::RaisePassBase<Raise> {
  void runOnOperation() override {
    Raiser raiser;
    bool changed = dropUnits(getOperation());
    Region &body = getOperation().getBodyRegion();
    raiser.sweep(body, {matchConcatenation, matchFlattened});
    raiser.sweep(body, {matchRepeated});
    raiser.sweep(body, {matchNorm, matchSoftmax, matchActivation, matchRotary,
                        matchEmbedding, matchCrossEntropy});
    raiser.sweep(body, {matchGated, matchAttention});
    raiser.sweep(body, {matchContraction, matchNestedReduction, matchBroadcast,
                        matchSlice, matchZeroAdded});
    changed |= composeMoves(body);
    raiser.sweep(body, {matchZeroAdded});
    changed |= shareWindows(body);
    if (!changed && !raiser.hasChanged())
      return markAllAnalysesPreserved();
    // Without a remark engine nobody reads remarks.
    if (getContext().getRemarkEngine())
      raiser.report(getOperation());
  }
};

} // namespace
