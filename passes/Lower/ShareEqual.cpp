// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShareEqual.h"

#include "Distances.h"
#include "FusionGroups.h"

#include "dialects/TP/EqualOps.h"
#include "tpopt/Dialect/Step/Step.h"

#include "llvm/ADT/ScopedHashTable.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// A value is small if the tensor that it was computed from is at least this
/// many times larger.
static constexpr int64_t kSmall = 16;

namespace {

using EqualTable = llvm::ScopedHashTable<Operation *, Operation *, EqualOps>;

class Sharing {
public:
  void visit(Region &region) {
    for (Block &block : region) {
      EqualTable::ScopeTy scope(table);
      distances.try_emplace(&block, block);
      for (Operation &op : llvm::make_early_inc_range(block))
        visit(&op);
    }
  }

private:
  void visit(Operation *op) {
    if (isOpTriviallyDead(op)) {
      op->erase();
      return;
    }
    for (Region &region : op->getRegions())
      visit(region);
    if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
        op->hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(op))
      return;
    Operation *earlier = table.lookup(op);
    if (!earlier || !mayShare(earlier, op)) {
      table.insert(op, op); // this op is nearer to later ops
      return;
    }
    op->replaceAllUsesWith(earlier);
    op->erase();
  }

  bool mayShare(Operation *earlier, Operation *op) {
    if (isViewOp(earlier) || isa<ConstantOp>(earlier))
      return true;
    return llvm::all_of(earlier->getResults(), [&](Value value) {
      return isInline(value) || isTable(value) || isSmall(value) ||
             isHeldUntil(value, op);
    });
  }

  /// Returns true if `value` is computed from integers and constants alone.
  bool isTable(Value value) {
    auto [it, isNew] = tables.try_emplace(value, false);
    if (!isNew)
      return it->second;
    Operation *op = value.getDefiningOp();
    bool holds = op && op->getNumRegions() == 0
                     ? llvm::all_of(op->getOperands(),
                                    [&](Value input) { return isTable(input); })
                     : !op && isIntegerTensor(value.getType());
    return tables[value] = holds;
  }

  bool isSmall(Value value) {
    return getBytes(value) * kSmall <= getSourceBytes(value);
  }

  static int64_t getBytes(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getNumElements() *
                      step::getElementBytes(type.getElementType())
                : 0;
  }

  /// Returns the size in bytes of the largest tensor in the chain of
  /// element-wise ops, reductions and views that computes `value`.
  int64_t getSourceBytes(Value value) {
    if (auto it = sources.find(value); it != sources.end())
      return it->second;
    int64_t bytes = getBytes(value);
    Operation *op = value.getDefiningOp();
    if (op &&
        (op->hasTrait<Elementwise>() || isa<ReduceOp>(op) || isViewOp(op)))
      for (Value input : op->getOperands())
        bytes = std::max(bytes, getSourceBytes(input));
    return sources[value] = bytes;
  }

  /// Returns true if `value` is used at least until shortly before `op`.
  bool isHeldUntil(Value value, Operation *op) {
    Block *block = value.getParentBlock();
    const Distances &order = distances.at(block);
    Operation *at = block->findAncestorOpInBlock(*op);
    // Stop at the first such use: a value may have thousands of uses.
    return order.isNear(value.getDefiningOp(), at) ||
           llvm::any_of(value.getUsers(), [&](Operation *user) {
             return order.isNear(block->findAncestorOpInBlock(*user), at);
           });
  }

  EqualTable table;
  std::map<Block *, Distances> distances;
  llvm::DenseMap<Value, bool> tables;
  llvm::DenseMap<Value, int64_t> sources;
};

} // namespace

void tp::shareEqual(func::FuncOp function) {
  Sharing().visit(function.getBody());
}
