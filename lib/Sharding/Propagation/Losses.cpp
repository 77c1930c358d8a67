// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Losses.h"

#include "Flow.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using llvm::SmallVector;

namespace tp {

/// Compares every tensor of every op with the tensors it accepts axes from.
class LossCollector {
public:
  LossCollector(const PropagationGraph &graph, const ContestRecord &contests,
                Provenance &provenance)
      : graph(graph), contests(contests), provenance(provenance), flow(graph) {}

  void run() {
    for (OpId op = 0; op < graph.getNumOps(); ++op)
      if (flow.enter(op))
        for (unsigned t = 0; t < flow.getTensors().size(); ++t)
          for (auto [d, dim] : llvm::enumerate(flow.getRule().getTensor(t)))
            for (unsigned f : dim)
              if (flow.getRule().factors[f].size > 1)
                collect(t, d, f);
  }

private:
  void collect(unsigned target, unsigned dim, unsigned factor);
  void explain(unsigned target, unsigned source, Loss &loss) const;
  void explainFit(unsigned target, unsigned source, const Fit &fit,
                  Loss &loss) const;
  std::optional<AxisRef> findDisagreement(unsigned target,
                                          const Loss &loss) const;
  bool cameEarlier(unsigned target, unsigned source, const AxisRef &winner,
                   const Loss &loss) const;

  const PropagationGraph &graph;
  const ContestRecord &contests;
  Provenance &provenance;
  Flow flow;
};

} // namespace tp

void LossCollector::collect(unsigned target, unsigned dim, unsigned factor) {
  const AxisList &have = flow.getAxes(target, factor);
  SmallVector<AxisRef, 2> seen;
  for (unsigned source = 0; source < flow.getTensors().size(); ++source) {
    const AxisList &axes = flow.getAxes(source, factor);
    if (startsWith(have, axes) || !flow.isSource(source, target))
      continue;
    AxisRef loser = dropPrefix(axes, getCommonPrefix(have, axes)).front();
    if (llvm::is_contained(seen, loser))
      continue;
    seen.push_back(loser);
    Loss loss{flow.getTensors()[target], dim,   flow.getOp(), factor,
              flow.getTensors()[source], loser, std::nullopt, LossRule::Closed};
    explain(target, source, loss);
    provenance.losses.push_back(loss);
  }
}

void LossCollector::explain(unsigned target, unsigned source,
                            Loss &loss) const {
  const AxisList &have = flow.getAxes(target, loss.factor);
  const AxisList &axes = flow.getAxes(source, loss.factor);
  AxisList common = getCommonPrefix(have, axes);
  if (!flow.isOpen(source, target, graph.getAllowed(flow.getOp()))) {
    loss.rule = LossRule::Barrier;
    return;
  }
  if (common != have) {
    loss.winner = dropPrefix(have, common).front();
    loss.rule = cameEarlier(target, source, *loss.winner, loss)
                    ? LossRule::Priority
                    : LossRule::DimTaken;
    return;
  }
  Fit fit = fitAxes(flow.getRule(), target, loss.dim, loss.factor,
                    flow.getProjection(target), graph.getSharding(loss.value),
                    dropPrefix(axes, common));
  if (fit.axes.empty()) {
    explainFit(target, source, fit, loss);
    return;
  }
  // The axes would fit, but the op's other tensors disagree about them.
  loss.rule = LossRule::SourcesDisagree;
  loss.winner = findDisagreement(target, loss);
}

/// Looks for a source tensor whose axes extend the axes of the target by an
/// axis that conflicts with the losing axis. Returns this conflicting axis.
std::optional<AxisRef> LossCollector::findDisagreement(unsigned target,
                                                       const Loss &loss) const {
  const AxisList &have = flow.getAxes(target, loss.factor);
  for (unsigned other = 0; other < flow.getTensors().size(); ++other) {
    const AxisList &axes = flow.getAxes(other, loss.factor);
    if (!flow.isSource(other, target) ||
        !flow.isOpen(other, target, graph.getAllowed(flow.getOp())) ||
        axes == have || !startsWith(axes, have))
      continue;
    AxisRef next = dropPrefix(axes, have).front();
    if (!next.hasPrefix(loss.loser) && !loss.loser.hasPrefix(next))
      return next;
  }
  return std::nullopt;
}

void LossCollector::explainFit(unsigned target, unsigned source, const Fit &fit,
                               Loss &loss) const {
  loss.winner = fit.blocker;
  switch (*fit.obstacle) {
  case Obstacle::Closed:
    loss.rule = LossRule::Closed;
    return;
  case Obstacle::Overflow:
    loss.rule = LossRule::Overflow;
    return;
  case Obstacle::Replicated:
    loss.rule = LossRule::Replicated;
    return;
  case Obstacle::NotDivisible:
    loss.rule = LossRule::NotDivisible;
    return;
  case Obstacle::Strided:
    loss.rule = LossRule::Strided;
    return;
  case Obstacle::AxisInUse: {
    auto contest = contests.find({flow.getOp(), target, loss.factor});
    if (contest != contests.end() &&
        contest->second.winner.overlaps(*fit.blocker))
      loss.rule = contest->second.rule;
    else
      loss.rule = cameEarlier(target, source, *fit.blocker, loss)
                      ? LossRule::Priority
                      : LossRule::AxisInUse;
    return;
  }
  case Obstacle::WantedWhole:
  case Obstacle::MixedReductions:
  case Obstacle::NotInResult:
    break;
  }
  llvm_unreachable("this obstacle does not concern a tensor's own axes");
}

/// Returns true if the winning axis was propagated to the target in a step that
/// ended before the losing axis could have arrived. An axis that an annotation
/// gives was not propagated, so it does not count.
bool LossCollector::cameEarlier(unsigned target, unsigned source,
                                const AxisRef &winner, const Loss &loss) const {
  unsigned arrival =
      provenance.find(graph.getNode(loss.value), winner, Provenance::none);
  if (arrival == Provenance::none)
    return false;

  Step loserStep;
  unsigned sourceNode = graph.getNode(loss.source);
  unsigned sourceArrival =
      provenance.find(sourceNode, loss.loser, Provenance::none);
  if (sourceArrival != Provenance::none) {
    loserStep = provenance.arrivals[sourceArrival].step;
  } else {
    for (const DimSharding &dim : graph.getSharding(loss.source).dims)
      if (overlap(dim.axes, loss.loser))
        loserStep.priority = dim.priority.value_or(0);
  }
  FactorKind kind = flow.getRule().factors[loss.factor].kind;
  auto isOpen = [&](OpStep step) {
    return flow.isOpen(source, target,
                       getDirections(graph, flow.getOp(), kind, step));
  };
  while (loserStep.op != OpStep::Everything && !isOpen(loserStep.op))
    loserStep.op = static_cast<OpStep>(static_cast<int>(loserStep.op) + 1);
  return provenance.arrivals[arrival].step < loserStep;
}

void tp::collectLosses(const PropagationGraph &graph,
                       const ContestRecord &contests, Provenance &provenance) {
  LossCollector(graph, contests, provenance).run();
}
