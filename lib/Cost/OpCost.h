// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The cost of one op on one device, given the layouts of its tensors.
///
/// The planner computes it for every way to compute an op, and the report for
/// the chosen one. All of these costs are defined here.
///
///     %y = tp.einsum "ik,kj->ij" %x, %w : (8x64, 64x32) -> 8x32 of f32
///     x [{}, {"m"}], w [{"m"}, {}], y a partial sum, with m = 4:
///       2 * 8 * 16 * 32 operations on 32 bits
///       (8 * 16 + 16 * 32 + 8 * 32) * 4 bytes touched

#ifndef TPOPT_COST_OPCOST_H
#define TPOPT_COST_OPCOST_H

#include "lib/Cost/Machine.h"
#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tp::cost {

/// The layouts of an op's tensors, operands first, then results. Null means
/// that a value is not a tensor, or is replicated. Unreduced axes shard
/// nothing.
using OpLayouts = llvm::ArrayRef<const TensorSharding *>;

/// Which block of an unevenly sharded dimension determines the work that is
/// counted.
enum class UnevenBlocks {
  /// The largest block, with its padding: the device with the most work
  /// determines the total time.
  Largest,
  /// The average of all blocks. Plans without a machine count it, because a
  /// user who splits 3 heads over 2 devices wants that split. Counting the
  /// largest block would favour a gather that balances the work.
  Average,
};

/// The work of `op`, whose sharding rule is `rule`. Ops that neither change nor
/// move data, such as a reshape, and ops that only send data have no work.
Work getWork(mlir::Operation *op, const ShardingRule &rule, OpLayouts layouts,
             UnevenBlocks blocks = UnevenBlocks::Largest);

/// A cost, which is minimised, and a preference, which decides between plans of
/// equal cost.
struct Price {
  double cost = 0;       ///< Seconds if there are links, else bytes.
  double preference = 0; ///< Breaks ties: in the same unit, but small.
  double launches = 0;   ///< Launches of collectives, before any are combined.

  double getTotal() const { return cost + preference; }
  Price &operator+=(const Price &other) {
    cost += other.cost;
    preference += other.preference;
    launches += other.launches;
    return *this;
  }
  friend Price operator*(double times, const Price &price) {
    return {times * price.cost, times * price.preference,
            times * price.launches};
  }
};

class CostModel {
public:
  /// Costs on `mesh`, which has links if a machine is given.
  CostModel(const Mesh &mesh, std::optional<Machine> machine)
      : mesh(mesh), machine(std::move(machine)) {}

  /// The price of an op, including data that the op itself sends. Returns
  /// nullopt if the op cannot be computed with these layouts.
  std::optional<Price> getPrice(mlir::Operation *op, const ShardingRule &rule,
                                OpLayouts layouts) const;
  /// The two parts of the price that getPrice() returns: computing, and sending
  /// by the op itself. getSent() returns nullopt if the op cannot be computed
  /// with these layouts.
  Price getComputePrice(mlir::Operation *op, const ShardingRule &rule,
                        OpLayouts layouts) const;
  std::optional<Price> getSent(mlir::Operation *op, OpLayouts layouts) const;
  /// The price of carrying a value unchanged, for example to the next iteration
  /// of a loop: no cost, but a preference for smaller values.
  Price getCarryPrice(mlir::RankedTensorType type,
                      const TensorSharding &layout) const;
  /// A small extra cost for each axis along which an op has unreduced operands
  /// and an unreduced result: among plans of equal cost, those that sum early
  /// are preferred, since fewer values are then partial.
  double getPartialPreference(mlir::Operation *op, OpLayouts layouts) const;
  /// A small extra cost of one launch on a tensor of `tensorBytes`, so that
  /// among plans of equal bytes, one with fewer launches is chosen. It is
  /// proportional to the tensor: a constant would be lost among large tensors
  /// and outweigh small ones.
  double getLaunchPreference(double tensorBytes) const;
  /// The lowest launch latency among all axes; 0 without links.
  double getLeastStart() const;
  /// The cost of sending `bytes` per device in one launch along `axes`.
  double getTransferCost(llvm::ArrayRef<AxisRef> axes, double bytes) const;

private:
  Price getComputePrice(const Work &work) const;
  double getByteCost() const;

  const Mesh &mesh;
  std::optional<Machine> machine;
};

} // namespace tp::cost

#endif // TPOPT_COST_OPCOST_H
