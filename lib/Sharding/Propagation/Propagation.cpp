// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Propagation.h"

#include "Flow.h"
#include "Losses.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

static constexpr OpStep allSteps[] = {OpStep::SingleUse, OpStep::MultiUse,
                                      OpStep::PassThrough, OpStep::AnyFactor,
                                      OpStep::Everything};

namespace {

/// Dimensions of a node that take part in propagation only from a later user
/// priority on. Until then, the node's sharding shows them as empty and closed,
/// and lists their axes as replicated.
struct HiddenNode {
  unsigned node;
  unsigned numReplicated; ///< The number of annotated replicated axes.
  SmallVector<std::pair<unsigned, DimSharding>, 2> dims;
};

/// The axes that one factor would add to a tensor.
struct Candidate {
  unsigned factor;
  unsigned dim;
  unsigned source;     ///< Index among the op's tensors.
  uint64_t sourceBits; ///< The size of the source.
  int64_t pieces;      ///< The number of pieces of the whole factor.
  AxisList extra;      ///< The axes to add.
  AxisList given;      ///< The axes that were added.
};

} // namespace

namespace tp {

/// The state of one propagation: a queue of ops to look at again.
class Propagator {
public:
  Propagator(PropagationGraph &graph, Provenance &provenance)
      : graph(graph), provenance(provenance), flow(graph) {}

  void run();

private:
  void indexUses();
  SmallVector<int64_t> getPriorities() const;
  SmallVector<HiddenNode> hide(int64_t priority);
  void reveal(ArrayRef<HiddenNode> hidden);

  void runStep();
  bool growsAt(OpId op, OpStep step) const;
  void enqueue(OpId op);
  void take(OpId op);
  void visit(OpId op);
  Direction getSingleUseDirections(OpId op) const;
  void update(unsigned target);
  void collectCandidates(unsigned target);
  /// The rule by which `a` precedes `b`, or nullopt if it does not.
  std::optional<LossRule> beats(unsigned target, const Candidate &a,
                                const Candidate &b) const;
  void give(unsigned target, Candidate &candidate, const Fit &fit);
  void recordContest(unsigned target, size_t loser, const Fit &fit);

  PropagationGraph &graph;
  Provenance &provenance;
  Flow flow;
  Step step;
  ContestRecord contests;

  /// Ops that use or define a node, in program order: those of node n are
  /// uses[firstUse[n]] to uses[firstUse[n + 1] - 1].
  std::vector<unsigned> firstUse;
  std::vector<OpId> uses;
  /// The number of times that each node is an operand.
  std::vector<unsigned> numReads;

  std::vector<OpId> queue, early; ///< See runStep().
  std::vector<bool> queued;
  std::vector<bool> isNew; ///< Ops for which growsAt() holds in this step.
  // The state of the visit of one op.
  Direction usable = Direction::Both;
  SmallVector<Candidate, 4> candidates;
};

} // namespace tp

void Propagator::indexUses() {
  firstUse.assign(graph.nodes.size() + 1, 0);
  numReads.assign(graph.nodes.size(), 0);
  for (const auto &op : graph.ops)
    for (auto [t, value] : llvm::enumerate(op.tensors)) {
      unsigned node = graph.getNode(value);
      ++firstUse[node + 1];
      numReads[node] += t < op.numOperands;
    }
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    firstUse[node + 1] += firstUse[node];
  uses.resize(firstUse.back());
  std::vector<unsigned> next = firstUse;
  for (auto [id, op] : llvm::enumerate(graph.ops))
    for (ValueId value : op.tensors)
      uses[next[graph.getNode(value)]++] = id;
  queued.assign(graph.ops.size(), false);
  isNew.assign(graph.ops.size(), false);
}

SmallVector<int64_t> Propagator::getPriorities() const {
  std::set<int64_t> priorities = {0};
  for (const auto &node : graph.nodes)
    for (const DimSharding &dim : node.sharding->dims)
      if (dim.priority)
        priorities.insert(*dim.priority);
  return {priorities.begin(), priorities.end()};
}

SmallVector<HiddenNode> Propagator::hide(int64_t priority) {
  SmallVector<HiddenNode> hidden;
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    if (llvm::all_of(node.sharding->dims, [&](const DimSharding &dim) {
          return dim.priority.value_or(0) <= priority;
        }))
      continue;
    TensorSharding sharding = *node.sharding;
    AxisList &replicated = sharding.replicated;
    HiddenNode entry{static_cast<unsigned>(index),
                     static_cast<unsigned>(replicated.size()),
                     {}};
    for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
      if (dim.priority.value_or(0) <= priority)
        continue;
      replicated.append(dim.axes.begin(), dim.axes.end());
      entry.dims.emplace_back(d, std::exchange(dim, DimSharding()));
    }
    node.sharding = graph.intern(std::move(sharding));
    hidden.push_back(std::move(entry));
  }
  return hidden;
}

void Propagator::reveal(ArrayRef<HiddenNode> hidden) {
  for (const HiddenNode &entry : hidden) {
    const TensorSharding *&place = graph.nodes[entry.node].sharding;
    TensorSharding sharding = *place;
    sharding.replicated.truncate(entry.numReplicated);
    for (const auto &[d, dim] : entry.dims)
      sharding.dims[d] = dim;
    place = graph.intern(std::move(sharding));
  }
}

void Propagator::run() {
  indexUses();
  provenance.reserve(graph.nodes.size());
  for (int64_t priority : getPriorities()) {
    SmallVector<HiddenNode> hidden = hide(priority);
    for (OpStep opStep : allSteps) {
      step = {priority, opStep};
      runStep();
    }
    reveal(hidden);
  }
  collectLosses(graph, contests, provenance);
}

/// Returns true if `step` may propagate something through `op` that the
/// previous step did not.
bool Propagator::growsAt(OpId op, OpStep opStep) const {
  OpClass opClass = graph.getClass(op);
  switch (opStep) {
  case OpStep::SingleUse:
    return opClass != OpClass::Broadcast && opClass != OpClass::Other;
  case OpStep::MultiUse:
    return growsAt(op, OpStep::SingleUse) &&
           getSingleUseDirections(op) != Direction::Both;
  case OpStep::PassThrough:
    return opClass != OpClass::Elementwise && opClass != OpClass::DataMovement;
  case OpStep::AnyFactor:
    return growsAt(op, OpStep::PassThrough) &&
           llvm::any_of(graph.getRule(op).factors, [](const Factor &factor) {
             return factor.kind != FactorKind::PassThrough;
           });
  case OpStep::Everything:
    return opClass == OpClass::Broadcast;
  }
  llvm_unreachable("covered switch");
}

void Propagator::enqueue(OpId op) {
  if (queued[op])
    return;
  queued[op] = true;
  (isNew[op] ? queue : early).push_back(op);
}

void Propagator::take(OpId op) {
  queued[op] = false;
  visit(op);
}

void Propagator::runStep() {
  for (OpId op = 0; op < graph.getNumOps(); ++op)
    if (isNew[op] = growsAt(op, step.op); isNew[op])
      enqueue(op);
  // `queue` holds the ops that can propagate more in this step than before.
  // These are visited first in, first out, starting with a sweep in program
  // order. `early` holds all other ops, such as transposes. They are visited
  // before the rest of `queue`: otherwise a sharding that passes through such
  // an op would arrive late, and could lose a conflict.
  for (size_t next = 0; next < queue.size(); ++next) {
    take(queue[next]);
    for (size_t i = 0; i < early.size(); ++i)
      take(early[i]);
    early.clear();
  }
  queue.clear();
}

void Propagator::visit(OpId op) {
  ++provenance.visits;
  if (!flow.enter(op))
    return;
  unsigned numOperands = graph.ops[op].numOperands;
  usable = step.op == OpStep::SingleUse ? getSingleUseDirections(op)
                                        : Direction::Both;
  for (unsigned t = numOperands; t < flow.getTensors().size(); ++t)
    update(t);
  for (unsigned t = 0; t < numOperands; ++t)
    update(t);
}

/// Returns the directions of propagation that do not start at a value with
/// several uses. A direction that starts at such a value is excluded for all
/// tensors of the op. Otherwise the other tensors would propagate first, and
/// decide the op's sharding without the value that has several uses.
Direction Propagator::getSingleUseDirections(OpId op) const {
  Direction directions = Direction::Both;
  for (auto [t, value] : llvm::enumerate(graph.getTensors(op)))
    if (numReads[graph.getNode(value)] > 1 && !graph.getShape(value).empty())
      directions = directions & (graph.isOperand(op, t) ? Direction::Backward
                                                        : Direction::Forward);
  return directions;
}

void Propagator::collectCandidates(unsigned target) {
  candidates.clear();
  const ShardingRule &rule = flow.getRule();
  for (auto [d, dim] : llvm::enumerate(rule.getTensor(target)))
    for (unsigned f : dim) {
      if (rule.factors[f].size <= 1)
        continue;
      Direction directions =
          usable &
          getDirections(graph, flow.getOp(), rule.factors[f].kind, step.op);
      if (directions == Direction::None)
        continue;
      const AxisList &have = flow.getAxes(target, f);
      // Ignore the sources whose axes contradict the target's: these axes have
      // already lost, and must not shorten the proposal of the other sources.
      Proposal proposal = flow.propose(f, [&](unsigned source) {
        return flow.isSource(source, target) &&
               flow.isOpen(source, target, directions) &&
               startsWith(flow.getAxes(source, f), have);
      });
      if (proposal.axes.empty() || proposal.axes == have)
        continue;
      candidates.push_back({f,
                            static_cast<unsigned>(d),
                            proposal.source,
                            graph.getBits(flow.getTensors()[proposal.source]),
                            getSize(proposal.axes),
                            dropPrefix(proposal.axes, have),
                            {}});
    }
}

std::optional<LossRule> Propagator::beats(unsigned target, const Candidate &a,
                                          const Candidate &b) const {
  if (a.sourceBits != b.sourceBits)
    return a.sourceBits > b.sourceBits ? std::optional(LossRule::LargerSource)
                                       : std::nullopt;
  if (graph.getClass(flow.getOp()) == OpClass::Elementwise &&
      a.pieces != b.pieces)
    return a.pieces > b.pieces ? std::optional(LossRule::MoreSharded)
                               : std::nullopt;
  // Two factors of one tensor never have the same axis, so conflicting
  // candidates come from different source tensors.
  return a.source < b.source ? std::optional(LossRule::OperandOrder)
                             : std::nullopt;
}

void Propagator::update(unsigned target) {
  collectCandidates(target);
  // Insertion sort: there are few candidates, and equal ones stay in the order
  // of their factors.
  for (size_t i = 1; i < candidates.size(); ++i)
    for (size_t j = i; j > 0 && beats(target, candidates[j], candidates[j - 1]);
         --j)
      std::swap(candidates[j], candidates[j - 1]);
  for (size_t i = 0; i < candidates.size(); ++i) {
    Candidate &candidate = candidates[i];
    Fit fit =
        fitAxes(flow.getRule(), target, candidate.dim, candidate.factor,
                flow.getProjection(target),
                graph.getSharding(flow.getTensors()[target]), candidate.extra);
    if (fit.obstacle == Obstacle::AxisInUse)
      recordContest(target, i, fit);
    if (!fit.axes.empty())
      give(target, candidate, fit);
  }
}

void Propagator::give(unsigned target, Candidate &candidate, const Fit &fit) {
  ValueId value = flow.getTensors()[target];
  unsigned node = graph.getNode(value);
  const TensorSharding *&sharding = graph.nodes[node].sharding;
  for (const AxisRef &axis : fit.axes) {
    sharding = graph.append(sharding, candidate.dim, axis);
    provenance.add(node,
                   {value, candidate.dim, axis, flow.getOp(), candidate.factor,
                    step, flow.getTensors()[candidate.source]});
  }
  candidate.given = fit.axes;
  flow.refresh(value);
  for (unsigned i = firstUse[node]; i < firstUse[node + 1]; ++i)
    enqueue(uses[i]);
}

/// If candidate `loser` lost an axis to an earlier candidate, records the rule
/// by which the earlier candidate won. If `target` already had the axis before
/// this update, nothing is recorded: how the axis arrived at `target` explains
/// the loss.
void Propagator::recordContest(unsigned target, size_t loser, const Fit &fit) {
  for (size_t i = 0; i < loser; ++i) {
    const Candidate &winner = candidates[i];
    if (!overlap(winner.given, *fit.blocker))
      continue;
    // If neither candidate beats the other, the order of the candidates has
    // decided.
    LossRule rule = beats(target, winner, candidates[loser])
                        .value_or(LossRule::OperandOrder);
    contests.try_emplace({flow.getOp(), target, candidates[loser].factor},
                         ContestResult{rule, *fit.blocker});
    return;
  }
}

std::optional<GraphError> tp::propagate(PropagationGraph &graph,
                                        const Mesh &mesh,
                                        Provenance &provenance) {
  provenance = Provenance();
  if (auto error = graph.verify(mesh))
    return error;
  Propagator(graph, provenance).run();
  return std::nullopt;
}
