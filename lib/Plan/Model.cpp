// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Model.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::cost;

Model::Model(SearchSpace &space, const PlanGraph &graph)
    : space(space), graph(graph), nodes(graph.choices.size()),
      shared(graph.values.size()), identity(UINT16_MAX) {
  std::iota(identity.begin(), identity.end(), 0);
  addNodes();
  size_t numEdges = 0;
  for (const PlanValue &value : graph.values)
    numEdges += value.uses.size() + (value.uses.size() > 1 ? 1 : 0);
  problem.reserveEdges(numEdges);
  for (unsigned value = 0; value < graph.values.size(); ++value)
    connect(value);
}

/// Adds the nodes in the order in which the program computes the values.
void Model::addNodes() {
  size_t numOptions = 0;
  for (const Choice &choice : graph.choices)
    numOptions += choice.options->prices.size();
  // A choice's values may need a second node, for copies, with about as many
  // options as the choice. So reserve twice as much.
  problem.reserveNodes(2 * graph.choices.size(), 2 * numOptions);
  unsigned next = 0;
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    for (; next < graph.values[value].position; ++next)
      addChoice(next);
    addShared(value);
  }
  for (; next < graph.choices.size(); ++next)
    addChoice(next);
}

void Model::addChoice(unsigned number) {
  const Choice &choice = graph.choices[number];
  std::vector<double> costs;
  for (const Price &price : choice.options->prices)
    costs.push_back(choice.times * price.getTotal());
  if (costs.size() == 1)
    constant += costs.front();
  else
    nodes[number] = problem.addNode(costs);
}

void Model::addShared(unsigned number) {
  const PlanValue &value = graph.values[number];
  if (value.uses.size() < 2)
    return;
  llvm::SmallVector<const LayoutList *> lists{
      &graph.getLayouts(value.producer)};
  for (const PlanUse &use : value.uses)
    lists.push_back(&graph.getLayouts(use.port));
  const LayoutList &layouts = space.getUnion(lists);
  shared[number] = {problem.addNode(std::vector<double>(layouts.size(), 0)),
                    &layouts};
}

Model::End Model::getEnd(Port port) const {
  return {nodes[port.choice], &graph.getLayouts(port), graph.getPorts(port)};
}

void Model::connect(unsigned number) {
  const PlanValue &value = graph.values[number];
  End source = getEnd(value.producer);
  if (shared[number]) {
    const LayoutList *layouts = shared[number]->layouts;
    End copy{shared[number]->node, layouts,
             llvm::ArrayRef(identity).take_front(layouts->size())};
    connect(value, source, copy);
    source = copy;
  }
  for (const PlanUse &use : value.uses)
    connect(value, source, getEnd(use.port));
}

void Model::connect(const PlanValue &value, End from, End to) {
  // Both ends are the same choice, so the value keeps its layout at no cost.
  if (from.node && from.node == to.node)
    return;
  // An edge runs from the earlier node to the later one; values that the body
  // of a loop passes to the next iteration flow backwards.
  bool isBackward = from.node && to.node && *from.node > *to.node;
  const solver::CostMatrix &matrix =
      space.getMatrix(value.type, *from.layouts, *to.layouts, value.times,
                      value.shares, isBackward);
  // If one end has only a single layout, the edge's costs are added to the node
  // at the other end.
  if (from.layouts->size() == 1 && to.node) {
    problem.addCosts(*to.node, to.ports, matrix.values);
  } else if (to.layouts->size() == 1 && from.node) {
    problem.addCosts(*from.node, from.ports, matrix.values);
  } else if (!from.node || !to.node) {
    constant += matrix.values.front();
  } else {
    if (isBackward)
      std::swap(from, to);
    problem.addEdge(*from.node, from.ports, *to.node, to.ports, matrix);
  }
}

double Model::solve() {
  solution = problem.solve();
  selection.clear();
  for (const std::optional<unsigned> &node : nodes)
    selection.push_back(node ? solution.selection[*node] : 0);
  return solution.cost + constant;
}

std::vector<Model::Alternative> Model::getAlternatives(Port port,
                                                       unsigned most) const {
  if (!nodes[port.choice])
    return {};
  llvm::DenseSet<unsigned> copies;
  for (const std::optional<Shared> &copy : shared)
    if (copy)
      copies.insert(copy->node);
  std::vector<double> regrets =
      problem.getRegrets(solution.selection, *nodes[port.choice],
                         [&](unsigned node) { return copies.count(node); });
  // For each layout, the least regret of the options that have this layout.
  const LayoutList &layouts = graph.getLayouts(port);
  std::vector<double> least(layouts.size(),
                            std::numeric_limits<double>::infinity());
  for (auto [place, regret] : llvm::zip_equal(graph.getPorts(port), regrets))
    least[place] = std::min(least[place], regret);
  unsigned chosen = graph.getLayout(port, selection);
  std::vector<std::pair<double, unsigned>> order;
  for (auto [place, layout] : llvm::enumerate(layouts))
    if (layout != chosen && std::isfinite(least[place]))
      order.push_back({least[place], place});
  llvm::sort(order);
  std::vector<Alternative> alternatives;
  for (auto [regret, place] : llvm::ArrayRef(order).take_front(most))
    alternatives.push_back({layouts[place], regret});
  return alternatives;
}
