// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Chooses the order of independent steps, so that a step that a transfer
/// waits for runs before one that can run during the transfer. Nothing here
/// depends on IR. This is list scheduling with tails as priorities (Graham
/// 1966; Coffman and Graham 1972), with memory as a limit.
///
/// For example, the backward pass of a tensor-parallel layer computes the
/// gradient of its weight and then that of its input. The gradient of the input
/// is summed over devices before the layer below can continue. In the opposite
/// order, the sum is transferred while the device computes the gradient of the
/// weight:
///
///     Graph graph;
///     graph.nodes = {{2},                     // weight's gradient
///                    {2},                     // input's gradient
///                    {2, {1}, {}, true},      // its sum
///                    {2, {2}}};               // the layer below
///     findOrder(graph, 8, 0);  // 1, 2, 0, 3

#ifndef TPOPT_PASSES_SCHEDULE_ORDER_H
#define TPOPT_PASSES_SCHEDULE_ORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace tp::schedule {

/// A step, or a transfer on some of the device's links.
struct Node {
  double seconds;
  /// Earlier nodes that have to be done when this one starts.
  llvm::SmallVector<unsigned, 4> after = {};
  llvm::SmallVector<unsigned, 4> buffers = {}; ///< The buffers that it uses.
  llvm::SmallVector<unsigned, 2> links = {};   ///< Of a step, none.

  bool isTransfer() const { return !links.empty(); }
};

/// The nodes of a program, in program order. A buffer takes memory from the
/// first node that uses it to the last.
struct Graph {
  std::vector<Node> nodes;
  std::vector<int64_t> bytes; ///< Indexed by buffer.
};

/// Returns a permutation of the nodes with which the device waits less for
/// transfers. Each node comes after the nodes in its `after`. Of the steps that
/// can run, the step that is followed by the longest chain of work on the
/// device and the links goes first. A step may run at most `window` nodes ahead
/// of the oldest step that has not run, and only if at most `limit` bytes of
/// buffers are in use while the step runs. The oldest step may always run, so
/// the peak of the order can exceed `limit`. A transfer that directly follows,
/// in program order, a node in its `after` comes as early as `after` allows.
/// Any other transfer comes before the node that follows it in program order,
/// or as close to that node as `after` allows.
std::vector<unsigned> findOrder(const Graph &graph, unsigned window,
                                int64_t limit);

/// Returns the most bytes of buffers that are in use at a time if the nodes run
/// one by one in this order.
int64_t getPeakBytes(const Graph &graph, llvm::ArrayRef<unsigned> order);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_ORDER_H
