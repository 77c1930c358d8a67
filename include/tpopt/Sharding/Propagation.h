// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From a few annotations to a sharding for every value.
///
/// # What it does
///
/// An axis on one tensor of an op says something about the op's other tensors:
/// those that share the factor can be cut the same way, and the op then needs
/// no communication. Propagation applies this until nothing changes.
///
///     x [{"data"}, {}]   w1 [{}, {"model"}]   w2 open
///
///     h = x . w1         h  [{"data", ?}, {"model", ?}]
///     g = gelu(h)        g  the same
///     y = g . w2         w2 [{"model", ?}, {?}]   y [{"data", ?}, {?}]
///
/// A dimension only ever gains axes, at the minor end, and only while it is
/// open. A value never loses what it has, so the loop ends.
///
/// # Who wins
///
/// Axes can be wanted in two places. What comes first stays, and the order is:
///
/// 1. user priority: for each `p`, lower first, dimensions of a higher number
///    are hidden (empty, closed, their axes not to be used);
/// 2. within it the steps of OpStep, so that what costs nothing to agree on is
///    settled before what does. Values with several uses wait, because one
///    reshard of the value is better than one for each use;
/// 3. within it program order, then breadth first from what changed.
///
/// If two factors of one op want overlapping axes in the same tensor at the
/// same time, the larger source tensor wins; then, in an element-wise op, the
/// factor with more pieces; then the cost model, if there is one; then the
/// earlier operand. If two tensors disagree about one factor, the axes both
/// start with are what they say. Results are settled before operands, and an
/// operand of an element-wise op listens to results only: a sharding that the
/// result refused would not help the op.
///
/// Unreduced axes count as used and do not travel; whether a result is a
/// partial sum is Partition's to find out.
///
/// After Shardy's propagation (basic, aggressive, op and user priority). Unlike
/// there the order is ours, not a pattern driver's, and losses are recorded.

#ifndef TPOPT_SHARDING_PROPAGATION_H
#define TPOPT_SHARDING_PROPAGATION_H

#include "tpopt/Sharding/Projection.h"
#include "tpopt/Sharding/Provenance.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <unordered_set>

namespace tp {

/// What kind of op it is, for the order of propagation.
enum class OpClass : uint8_t {
  Elementwise,
  DataMovement, ///< Reshape, transpose, constraints, returns.
  DynamicSlice, ///< And dynamic update-slice.
  Broadcast,
  Other,
};

/// The ways through an op: operands to results, results to operands. Between
/// two operands both have to be open.
enum class Direction : uint8_t {
  None = 0,
  Forward = 1,
  Backward = 2,
  Both = 3
};

/// An error in the graph, and where, so that a pass can say it at the right
/// place.
struct GraphError {
  ErrorCode code;
  std::string message;
  std::optional<OpId> op;
  std::optional<ValueId> value;
};

/// A program as propagation sees it: values with shardings, ops with rules.
///
///     PropagationGraph graph;
///     ValueId x = graph.addValue({8, 4}, 32, xSharding);
///     ValueId w = graph.addValue({4, 16}, 32, wSharding);
///     ValueId y = graph.addValue({8, 16}, 32,
///                                TensorSharding::replicate(2, /*open=*/true));
///     graph.addOp(&matmulRule, {x, w}, {y}, OpClass::Other);
///
/// Ops are numbered in program order, the order in which they are added. A
/// return is an identity op whose results are values with the shardings that
/// the function's type asks for.
class PropagationGraph {
public:
  /// Makes room for so many values and ops: a program's are counted sooner than
  /// moved.
  void reserve(size_t numValues, size_t numOps) {
    values.reserve(numValues);
    nodes.reserve(numValues);
    ops.reserve(numOps);
  }

  /// A value with its annotation; all dimensions open if it has none. `name` is
  /// anything the caller wants to find again.
  ValueId addValue(llvm::ArrayRef<int64_t> shape, unsigned elementBits,
                   const TensorSharding &sharding,
                   std::optional<unsigned> name = std::nullopt);

  /// `rule` must outlive the graph; equal ops may share one. `allowed` is what
  /// a propagation barrier restricts.
  OpId addOp(const ShardingRule *rule, llvm::ArrayRef<ValueId> operands,
             llvm::ArrayRef<ValueId> results, OpClass opClass,
             Direction allowed = Direction::Both);

  /// Data flow into a region or out of it: every one of `sources` may become
  /// `targets`. For a loop the sources are {initial value, yielded value} and
  /// the targets {block argument, result}; for a conditional the yields of all
  /// branches and the result. Targets share one sharding; sources keep their
  /// own, and the difference is a reshard at the boundary. Takes the next
  /// number among the ops, unless it fails.
  std::optional<GraphError> addDataFlow(llvm::ArrayRef<ValueId> sources,
                                        llvm::ArrayRef<ValueId> targets);

  /// From here on the values have one sharding. All annotations among them must
  /// be equal.
  std::optional<GraphError> addShardingGroup(llvm::ArrayRef<ValueId> values);

  unsigned getNumValues() const { return values.size(); }
  unsigned getNumOps() const { return ops.size(); }
  /// Values with equal shardings have the same one. It lives as long as the
  /// graph.
  const TensorSharding &getSharding(ValueId value) const {
    return *nodes[values[value].node].sharding;
  }
  std::optional<unsigned> getName(ValueId value) const {
    return values[value].name;
  }
  llvm::ArrayRef<int64_t> getShape(ValueId value) const {
    return values[value].shape;
  }
  /// Bits of the whole tensor.
  uint64_t getBits(ValueId value) const { return values[value].bits; }
  /// The values that share a sharding have the same node.
  unsigned getNode(ValueId value) const { return values[value].node; }
  const ShardingRule &getRule(OpId op) const { return *ops[op].rule; }
  /// Operands first, then results, as in the rule.
  llvm::ArrayRef<ValueId> getTensors(OpId op) const { return ops[op].tensors; }
  bool isOperand(OpId op, unsigned tensor) const {
    return tensor < ops[op].rule->operands.size();
  }
  OpClass getClass(OpId op) const { return ops[op].opClass; }
  Direction getAllowed(OpId op) const { return ops[op].allowed; }

  /// Checks annotations against `mesh` and rules against their tensors.
  std::optional<GraphError> verify(const Mesh &mesh) const;

private:
  friend class Propagator;

  struct Value {
    unsigned node;
    llvm::SmallVector<int64_t, 4> shape;
    uint64_t bits;
    std::optional<unsigned> name;
  };
  /// What shares one sharding.
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
  /// `from` with an axis more on a dimension.
  const TensorSharding *append(const TensorSharding *from, unsigned dim,
                               const AxisRef &axis);

  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Op> ops;
  /// A program has few for its many values.
  std::unordered_set<TensorSharding, Hash> shardings;
  /// What append() has answered.
  llvm::DenseMap<
      std::pair<const TensorSharding *, unsigned>,
      llvm::SmallVector<std::pair<AxisRef, const TensorSharding *>, 1>>
      appended;
  /// Rules of data flow.
  std::vector<std::unique_ptr<ShardingRule>> ownedRules;
};

/// Propagates the annotations of `graph` to the fixpoint and leaves every
/// value's sharding in it, with a fresh record in `provenance`. Equal graphs
/// give equal results. On an error the graph is as it was.
std::optional<GraphError> propagate(PropagationGraph &graph, const Mesh &mesh,
                                    Provenance &provenance);

} // namespace tp

#endif // TPOPT_SHARDING_PROPAGATION_H
