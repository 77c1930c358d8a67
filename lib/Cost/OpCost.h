// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What one op costs on one device, given the layouts of its tensors.
///
/// The planner asks it of every way to compute an op, the report of the one
/// that was chosen. No other place knows.
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
/// that it is no tensor, or that every device has all of it. Unreduced axes
/// shard nothing.
using OpLayouts = llvm::ArrayRef<const TensorSharding *>;

/// Which block of an unevenly sharded dimension is charged.
enum class UnevenBlocks {
  /// The largest block, with its padding: the device that has most to do
  /// decides how long all of them take.
  Largest,
  /// An equal share. Who cuts 3 heads over 2 devices and names no machine wants
  /// that, and not a gather that evens it out.
  Average,
};

/// The work of `op`, whose sharding rule is `rule`. None for an op that changes
/// and moves nothing, as a reshape, or that only sends.
Work getWork(mlir::Operation *op, const ShardingRule &rule, OpLayouts layouts,
             UnevenBlocks blocks = UnevenBlocks::Largest);

/// What is minimised, and what decides between plans that cost the same.
struct Price {
  double cost = 0;       ///< Seconds if there are links, else bytes.
  double preference = 0; ///< In the same unit, but small.
  double launches = 0;   ///< Of collectives; none is combined with another.

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

  /// The price of an op, including what it sends by itself. None if it cannot
  /// be computed with these layouts.
  std::optional<Price> getPrice(mlir::Operation *op, const ShardingRule &rule,
                                OpLayouts layouts) const;
  /// The two parts of that: computing, and what the op sends by itself, which
  /// is none if it cannot be computed with these layouts.
  Price getComputePrice(mlir::Operation *op, const ShardingRule &rule,
                        OpLayouts layouts) const;
  std::optional<Price> getSent(mlir::Operation *op, OpLayouts layouts) const;
  /// The price of carrying a value unchanged, for example to the next iteration
  /// of a loop: nothing, but smaller values are preferred.
  Price getCarryPrice(mlir::RankedTensorType type,
                      const TensorSharding &layout) const;
  /// For each axis along which an op leaves its operands unreduced: summing
  /// early is preferred among equals, as fewer values are partial then.
  double getPartialPreference(mlir::Operation *op, OpLayouts layouts) const;
  /// What one launch on a tensor of `tensorBytes` costs on top of what it
  /// sends, so that plans of equal bytes go to the one with fewer launches. In
  /// proportion to the tensor: a constant would be lost among large ones and
  /// outweigh small ones.
  double getLaunchPreference(double tensorBytes) const;
  /// The start of a launch along the axis where it costs least; 0 without
  /// links.
  double getLeastStart() const;
  /// What it costs to send `bytes` per device in one launch along `axes`.
  double getTransferCost(llvm::ArrayRef<AxisRef> axes, double bytes) const;

private:
  Price getComputePrice(const Work &work) const;
  double getByteCost() const;

  const Mesh &mesh;
  std::optional<Machine> machine;
};

} // namespace tp::cost

#endif // TPOPT_COST_OPCOST_H
