// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShareEqual.h"

#include "FusionGroups.h"

#include "llvm/ADT/ScopedHashTable.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// What is shared waits for so many contractions at most. The two gradients of
/// an attention, which share its weights, are five products.
static constexpr unsigned kNearby = 4;

/// Something is small if what it was computed of is so many times larger.
static constexpr int64_t kSmall = 16;

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

Distances::Distances(Block &block) {
  unsigned count = 0;
  for (Operation &op : block) {
    before[&op] = count;
    if (op.getNumRegions() != 0)
      count += kNearby + 1; // nobody knows how long a loop takes
    else if (isa<EinsumOp, AttentionOpInterface>(op))
      ++count;
  }
}

bool Distances::isNear(Operation *first, Operation *second) const {
  return before.lookup(second) <= before.lookup(first) + kNearby;
}

//===----------------------------------------------------------------------===//
// Equal ops
//===----------------------------------------------------------------------===//

namespace {

/// Ops are equal if they have the same name, attributes, operands and types.
struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getTombstoneKey() || a == getEmptyKey() ||
        b == getTombstoneKey() || b == getEmptyKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};

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
      table.insert(op, op); // the next one is nearer to this one
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

  /// Whether the value is computed of integers and constants alone.
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
                      llvm::divideCeil(
                          type.getElementType().getIntOrFloatBitWidth(), 8)
                : 0;
  }

  /// Of the largest tensor that element-wise ops and reductions made it of.
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

  /// Whether a value is used so late that `op` hardly comes later.
  bool isHeldUntil(Value value, Operation *op) {
    Block *block = value.getParentBlock();
    const Distances &order = distances.at(block);
    Operation *at = block->findAncestorOpInBlock(*op);
    // The first late use decides: a value may have thousands.
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
