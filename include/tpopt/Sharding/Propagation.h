// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From a few annotations to a sharding for every value.
///
/// # What it does
///
/// An axis on one tensor of an op can be used for the op's other tensors, too:
/// those that share the factor can be sharded in the same way, and the op then
/// needs no communication. Propagation repeats this until nothing changes.
///
///     x [{"data"}, {}]   w1 [{}, {"model"}]   w2 open
///
///     h = x . w1         h  [{"data", ?}, {"model", ?}]
///     g = gelu(h)        g  the same
///     y = g . w2         w2 [{"model", ?}, {?}]   y [{"data", ?}, {?}]
///
/// A dimension can only gain axes, at the minor end, and only while it is open.
/// A value never loses axes, so the iteration terminates.
///
/// # Who wins
///
/// Two dimensions can compete for the same axis. The first one gets it, and the
/// order is:
///
/// 1. user priority: lower priorities `p` come first. Until their turn,
///    dimensions with a higher `p` are hidden (empty, closed, their axes
///    unavailable);
/// 2. within a priority, the steps of OpStep: agreements that cost nothing come
///    before those that have a cost. Values with several uses wait, because one
///    reshard of the value is better than one for each use;
/// 3. within a step, program order, then breadth-first from the values that
///    changed.
///
/// If two factors of one op want overlapping axes in the same tensor at the
/// same time, the larger source tensor wins; then, in an element-wise op, the
/// factor with more pieces; then the earlier operand. If two tensors disagree
/// about a factor, their common leading axes are used. Results are updated
/// before operands, and the operands of an element-wise op follow only its
/// results: a sharding that the result cannot have would not help the op.
///
/// Unreduced axes count as used and do not propagate; Partition decides whether
/// a result is a partial sum.
///
/// Based on Shardy's propagation (basic, aggressive, op and user priority).
/// Unlike in Shardy, the order is fixed and does not depend on a pattern
/// driver, and losses are recorded.

#ifndef TPOPT_SHARDING_PROPAGATION_H
#define TPOPT_SHARDING_PROPAGATION_H

#include "tpopt/Sharding/Projection.h"
#include "tpopt/Sharding/Provenance.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <unordered_set>

namespace tp {

/// The kind of an op, which determines when propagation goes through it.
enum class OpClass : uint8_t {
  Elementwise,
  DataMovement, ///< Reshape, transpose, constraints, returns.
  DynamicSlice, ///< And dynamic update-slice.
  Broadcast,
  Other,
};

/// The directions in which axes may propagate through an op. Forward is from
/// operands to results, backward is from results to operands. Axes propagate
/// from one operand to another only if both directions are allowed.
enum class Direction : uint8_t {
  None = 0,
  Forward = 1,
  Backward = 2,
  Both = 3
};

/// An error in the graph. `op` or `value` is the place where a pass reports it.
struct GraphError {
  ErrorCode code;
  std::string message;
  std::optional<OpId> op;
  std::optional<ValueId> value;
};

/// The form in which propagation sees a program: values with shardings, ops
/// with rules.
///
///     PropagationGraph graph;
///     ValueId x = graph.addValue({8, 4}, 32, xSharding);
///     ValueId w = graph.addValue({4, 16}, 32, wSharding);
///     ValueId y = graph.addValue({8, 16}, 32,
///                                TensorSharding::replicate(2, /*open=*/true));
///     graph.addOp(&matmulRule, {x, w}, {y}, OpClass::Other);
///
/// Ops are numbered in the order in which they are added, which is program
/// order. A return is an identity op whose results have the shardings that the
/// function's type requires.
class PropagationGraph {
public:
  /// Reserves memory for this many values and ops. Counting the values and ops
  /// of a program first is faster than moving them as the lists grow.
  void reserve(size_t numValues, size_t numOps) {
    values.reserve(numValues);
    nodes.reserve(numValues);
    ops.reserve(numOps);
  }

  /// Adds a value with the sharding `sharding`. If the value has no annotation,
  /// all dimensions of `sharding` must be open. `name` is any number by which
  /// the caller can identify the value.
  ValueId addValue(llvm::ArrayRef<int64_t> shape, unsigned elementBits,
                   const TensorSharding &sharding,
                   std::optional<unsigned> name = std::nullopt);

  /// `rule` must outlive the graph; equal ops may share a rule. `allowed` is
  /// restricted by propagation barriers.
  OpId addOp(const ShardingRule *rule, llvm::ArrayRef<ValueId> operands,
             llvm::ArrayRef<ValueId> results, OpClass opClass,
             Direction allowed = Direction::Both);

  /// Adds data flow into or out of a region: each of `sources` may become the
  /// value of all `targets`. For a loop, the sources are {initial value,
  /// yielded value}, and the targets are {block argument, result}. For a
  /// conditional, the sources are the yields of all branches, and the target is
  /// the result. All targets share one sharding. Each source has its own
  /// sharding, and is resharded at the boundary of the region if its sharding
  /// differs. The data flow is numbered as the next op, unless there is an
  /// error.
  std::optional<GraphError> addDataFlow(llvm::ArrayRef<ValueId> sources,
                                        llvm::ArrayRef<ValueId> targets);

  /// Makes `values` share one sharding. Values that have an annotation must
  /// have the same one.
  std::optional<GraphError> addShardingGroup(llvm::ArrayRef<ValueId> values);

  unsigned getNumValues() const { return values.size(); }
  unsigned getNumOps() const { return ops.size(); }
  /// Returns the same object for equal shardings. It is valid until the graph
  /// is destroyed.
  const TensorSharding &getSharding(ValueId value) const {
    return *nodes[values[value].node].sharding;
  }
  std::optional<unsigned> getName(ValueId value) const {
    return values[value].name;
  }
  llvm::ArrayRef<int64_t> getShape(ValueId value) const {
    return values[value].shape;
  }
  /// The size of the whole tensor in bits.
  uint64_t getBits(ValueId value) const { return values[value].bits; }
  /// The node of a value. All values that share a sharding have the same node.
  unsigned getNode(ValueId value) const { return values[value].node; }
  const ShardingRule &getRule(OpId op) const { return *ops[op].rule; }
  /// The operands and then the results of `op`, as in its rule.
  llvm::ArrayRef<ValueId> getTensors(OpId op) const { return ops[op].tensors; }
  bool isOperand(OpId op, unsigned tensor) const {
    return tensor < ops[op].rule->operands.size();
  }
  OpClass getClass(OpId op) const { return ops[op].opClass; }
  Direction getAllowed(OpId op) const { return ops[op].allowed; }

  /// Checks annotations against `mesh`, and checks the rule of each op against
  /// the tensors of the op.
  std::optional<GraphError> verify(const Mesh &mesh) const;

private:
  friend class Propagator;

  struct Value {
    unsigned node;
    llvm::SmallVector<int64_t, 4> shape;
    uint64_t bits;
    std::optional<unsigned> name;
  };
  /// Values that share a sharding.
  struct Node {
    const TensorSharding *sharding;
    llvm::SmallVector<ValueId, 1> values;
  };
  struct Op {
    const ShardingRule *rule;
    llvm::SmallVector<ValueId, 3> tensors;
    unsigned numOperands;
    OpClass opClass;
    Direction allowed;
  };

  struct Hash {
    size_t operator()(const TensorSharding &sharding) const {
      return hash_value(sharding);
    }
  };

  const TensorSharding *intern(TensorSharding sharding) {
    return &*shardings.insert(std::move(sharding)).first;
  }
  /// `from` with one more axis on a dimension.
  const TensorSharding *append(const TensorSharding *from, unsigned dim,
                               const AxisRef &axis);

  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Op> ops;
  /// The distinct shardings: few, even if there are many values.
  std::unordered_set<TensorSharding, Hash> shardings;
  /// Caches the results of append().
  llvm::DenseMap<
      std::pair<const TensorSharding *, unsigned>,
      llvm::SmallVector<std::pair<AxisRef, const TensorSharding *>, 1>>
      appended;
  /// The rules of the data flow that addDataFlow() added.
  std::vector<std::unique_ptr<ShardingRule>> ownedRules;
};

/// Propagates the annotations of `graph` until nothing changes. Leaves every
/// value's sharding in `graph`, and a new record in `provenance`. Equal graphs
/// give equal results. If there is an error, the graph is unchanged.
std::optional<GraphError> propagate(PropagationGraph &graph, const Mesh &mesh,
                                    Provenance &provenance);

} // namespace tp

#endif // TPOPT_SHARDING_PROPAGATION_H
