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

/// One way to compute an op: the axes that shard each factor, and the resulting
/// layouts of its tensors.
struct Strategy {
  /// Per tensor, operands first: the layouts that operands must have and that
  /// results will have. Results may be unreduced.
  llvm::SmallVector<unsigned, 4> layouts;
  /// The price of computing, and of data that the op itself sends.
  cost::Price price;
  /// The bytes that a device holds while it computes, not counting operands and
  /// results.
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
  /// The reduction kinds in which results may be unreduced.
  KindSet partial = 0;

  StrategySet(llvm::ArrayRef<Strategy> strategies, unsigned numTensors,
              LayoutPool &pool);
  unsigned getLayout(unsigned tensor, unsigned strategy) const {
    return (*layouts[tensor])[ports[tensor][strategy]];
  }
};

/// Enumerates strategies: each atom (a part of a mesh axis) may shard any
/// factor that the op does not need whole, be left idle, or carry a partial
/// value through a linear op. Equal ops share one set. If there are too many
/// strategies, only those near the shardings that propagation gave the op's
/// tensors are kept.
class StrategyEnumerator {
public:
  /// `atoms` are the disjoint parts of mesh axes that the program may use. If
  /// `evenly`, only strategies that split all tensors into equal blocks count.
  StrategyEnumerator(ShardingTable &table, llvm::ArrayRef<AxisRef> atoms,
                     const cost::CostModel &cost, LayoutPool &pool, bool evenly)
      : table(table), atoms(atoms.begin(), atoms.end()), cost(cost), pool(pool),
        evenly(evenly) {}

  /// `partial[i]`: the reduction kinds in which operand i may arrive unreduced.
  const StrategySet &get(mlir::Operation *op, llvm::ArrayRef<KindSet> partial);
  /// Sets whether ops equal to `op` keep the dimensions in `tp.counted` whole;
  /// by default, strategies may shard them.
  void setCountedWhole(mlir::Operation *op, bool isWhole);
  /// The layouts in which an op can pass on a tensor of `type`, perhaps
  /// unreduced in one of `kinds`, without duplicates. The tensor is operand 0
  /// of each strategy. If there are too many, only those near `sharding` are
  /// returned. `sharding` may be null.
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
  /// The key is everything about an op that strategies depend on.
  std::unordered_map<Key, std::unique_ptr<StrategySet>, Hash> sets;
  /// Ops with too many strategies. Their sets also depend on shardings.
  std::set<Key> large;
  std::set<Key> countedWhole; ///< Structures of ops.
};

/// Everything about an op that its strategies depend on: equal for equal ops of
/// repeated layers.
std::vector<const void *> getStructure(mlir::Operation *op);

/// Infers the result shardings of `op` from its operand shardings, for an op
/// that propagation has not seen.
void inferShardings(mlir::Operation *op, ShardingTable &table);

} // namespace tp::plan

#endif // TPOPT_PLAN_STRATEGIES_H
