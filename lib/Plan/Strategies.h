// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ways to compute an op on a mesh.

#ifndef TPOPT_PLAN_STRATEGIES_H
#define TPOPT_PLAN_STRATEGIES_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/OpCost.h"
#include "lib/Sharding/Algebra/LayoutPool.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

namespace tp::plan {

/// Reduction kinds as a set of bits.
using KindSet = uint8_t;
inline KindSet toSet(ReduceKind kind) { return 1u << unsigned(kind); }

/// One way to compute an op: which axes cut which factor, and what that makes
/// of its tensors.
struct Strategy {
  /// Per tensor, operands first: what an operand must be, what a result is.
  /// Results may be unreduced.
  llvm::SmallVector<unsigned, 4> layouts;
  /// Of computing, and of what the op sends by itself.
  cost::Price price;
  /// What a device holds while it computes, besides operands and results, in
  /// bytes.
  int64_t scratchBytes = 0;
};

/// All strategies of an op, by number, and the layouts that occur per tensor.
struct StrategySet {
  std::vector<cost::Price> prices;
  std::vector<int64_t> scratchBytes;
  /// Distinct layouts of each tensor.
  llvm::SmallVector<const LayoutList *, 4> layouts;
  /// ports[tensor][strategy]: index into layouts[tensor].
  llvm::SmallVector<std::vector<uint16_t>, 4> ports;
  /// The kinds in which results may be unreduced.
  KindSet partial = 0;

  StrategySet(llvm::ArrayRef<Strategy> strategies, unsigned numTensors,
              LayoutPool &pool);
  unsigned getLayout(unsigned tensor, unsigned strategy) const {
    return (*layouts[tensor])[ports[tensor][strategy]];
  }
};

/// Enumerates strategies: every part of the mesh may cut any factor that the op
/// does not want whole, be left idle, or carry a partial value through a linear
/// op. Equal ops share one set. Many parts and many factors make too many; then
/// those count that are near what propagation gave the op's tensors.
class StrategyEnumerator {
public:
  /// `atoms` are the parts of mesh axes that anything in the program uses,
  /// disjoint. `evenly`: only what cuts all tensors into equal blocks.
  StrategyEnumerator(ShardingTable &table, llvm::ArrayRef<AxisRef> atoms,
                     const cost::CostModel &cost, LayoutPool &pool, bool evenly)
      : table(table), atoms(atoms.begin(), atoms.end()), cost(cost), pool(pool),
        evenly(evenly) {}

  /// `partial[i]`: the kinds in which operand i may arrive unreduced.
  const StrategySet &get(mlir::Operation *op, llvm::ArrayRef<KindSet> partial);
  /// Whether ops equal to `op` leave whole what `tp.counted` names; at first
  /// they may cut it.
  void setCountedWhole(mlir::Operation *op, bool isWhole);
  /// The ways to hold a tensor of `type` that is only handed on, perhaps
  /// unreduced in one of `kinds`: as its operand 0, each once. If they are too
  /// many, those near `sharding`, which may be null.
  std::vector<Strategy> getIdentity(mlir::RankedTensorType type,
                                    const TensorSharding *sharding,
                                    KindSet kinds);

private:
  using Key = std::vector<const void *>;
  struct Hash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };

  ShardingTable &table;
  llvm::SmallVector<AxisRef> atoms;
  const cost::CostModel &cost;
  LayoutPool &pool;
  bool evenly;
  /// By everything of an op that strategies depend on.
  std::unordered_map<Key, std::unique_ptr<StrategySet>, Hash> sets;
  /// Ops with too many strategies, which depend on shardings besides.
  std::set<Key> large;
  std::set<Key> countedWhole; ///< Structures.
};

/// Everything about an op that its strategies depend on: equal for equal ops of
/// repeated layers.
std::vector<const void *> getStructure(mlir::Operation *op);

/// Gives the results of `op` the sharding that those of its operands suggest,
/// for an op that propagation has not seen.
void inferShardings(mlir::Operation *op, ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_STRATEGIES_H
