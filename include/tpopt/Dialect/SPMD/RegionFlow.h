// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How values flow through ops with regions. All functions expect
/// verified ops.

#ifndef TPOPT_DIALECT_SPMD_REGIONFLOW_H
#define TPOPT_DIALECT_SPMD_REGIONFLOW_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

#include "tpopt/Dialect/SPMD/RegionFlow.h.inc"

namespace tp::spmd {

/// One value on its way through an op with regions:
///
///     %r = tp.for 3 (%x) {     sources: %x and %y
///     ^bb0(%i, %h):            targets: %r and %h
///       %y = tp.tanh %h
///       tp.yield %y
///     }
///
/// All targets have the same sharding. Each source has its own sharding, and is
/// resharded if this differs from that of the targets. Channel i of a loop
/// belongs to operand i and result i. Other ops have a channel for each operand
/// that enters a region, then one for each result.
struct Channel {
  RegionFlowOpInterface op;
  unsigned index;

  /// The uses whose values flow into the channel: the op's operand, if it
  /// enters the regions, then the operands that the regions yield, in the order
  /// of the regions.
  llvm::SmallVector<mlir::OpOperand *> getSources();
  /// The values that receive the sources: the op's result, if the channel has
  /// one, then the arguments of the regions, in the order of the regions.
  llvm::SmallVector<mlir::Value> getTargets();
  /// The first target. It stands for all targets, because they have the same
  /// sharding.
  mlir::Value getOwner() { return getTargets().front(); }

  bool operator==(const Channel &other) const {
    return op == other.op && index == other.index;
  }
};

/// All channels of `op`, in order.
llvm::SmallVector<Channel> getChannels(RegionFlowOpInterface op);

/// Returns the channel that has `value` as a target, in constant time. Returns
/// none for loop counters, and for values that are neither a result nor a
/// region argument of an op with regions.
std::optional<Channel> getChannel(mlir::Value value);
/// Returns the channel that has `use` as a source, in constant time. Returns
/// none if `use` neither passes a value into a region nor yields a value from a
/// region, or if `use` is a decision (see isDecision).
std::optional<Channel> getChannel(mlir::OpOperand &use);

/// Whether `use` decides what runs: the condition of a loop, or the branch
/// index.
bool isDecision(mlir::OpOperand &use);
/// Whether `value` is the iteration counter of the loop whose argument it is.
bool isCounter(mlir::Value value);

} // namespace tp::spmd

#endif // TPOPT_DIALECT_SPMD_REGIONFLOW_H
