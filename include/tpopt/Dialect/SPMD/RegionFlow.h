// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How values flow through ops with regions. All of it asks verified ops.

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
/// Targets have one sharding; sources keep their own, and are resharded where
/// it differs. Channel i of a loop is that of operand i and result i. Other ops
/// have a channel for each operand that enters, then one for each result.
struct Channel {
  RegionFlowOpInterface op;
  unsigned index;

  /// What becomes the value: the op's operand, if it enters, then what the
  /// regions yield, in their order.
  llvm::SmallVector<mlir::OpOperand *> getSources();
  /// What the value becomes: the op's result, if it leaves, then the arguments
  /// of the regions, in their order.
  llvm::SmallVector<mlir::Value> getTargets();
  /// The target that stands for all of them: the first.
  mlir::Value getOwner() { return getTargets().front(); }

  bool operator==(const Channel &other) const {
    return op == other.op && index == other.index;
  }
};

/// All channels of `op`, in order.
llvm::SmallVector<Channel> getChannels(RegionFlowOpInterface op);

/// Returns the channel that has `value` as a target. There is none for
/// counters, nor for a value that is not an argument or a result of an op with
/// regions. Takes constant time.
std::optional<Channel> getChannel(mlir::Value value);
/// Returns the channel that has `use` as a source. There is none for decisions,
/// nor for operands that neither enter nor leave a region. Takes constant time.
std::optional<Channel> getChannel(mlir::OpOperand &use);

/// Whether `use` is the decision of an op with regions.
bool isDecision(mlir::OpOperand &use);
/// Whether `value` counts the iterations of the loop that it is an argument of.
bool isCounter(mlir::Value value);

} // namespace tp::spmd

#endif // TPOPT_DIALECT_SPMD_REGIONFLOW_H
