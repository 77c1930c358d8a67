// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Restriction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::solver;

Problem::Restriction::Restriction(const Problem &problem,
                                  llvm::ArrayRef<double> reducedCosts,
                                  double limit) {
  rest.reserveNodes(problem.nodes.size(), problem.costs.size());
  rest.reserveEdges(problem.edges.size());
  for (auto [number, node] : llvm::enumerate(problem.nodes)) {
    llvm::SmallVector<unsigned> options;
    llvm::SmallVector<double> costs;
    for (auto [option, cost] : llvm::enumerate(problem.getCosts(number)))
      if (reducedCosts[node.firstCost + option] <= limit) {
        options.push_back(option);
        costs.push_back(cost);
      }
    rest.addNode(costs);
    kept.push_back(&compaction.share(options));
  }
  for (const Edge &edge : problem.edges) {
    auto [from, to] = edge.nodes;
    edges.push_back(
        &compaction.addEdge(rest, edge, from, *kept[from], to, *kept[to]));
  }
}

std::vector<unsigned>
Problem::Restriction::expand(llvm::ArrayRef<unsigned> selection) const {
  std::vector<unsigned> result;
  for (auto [options, number] : llvm::zip_equal(kept, selection))
    result.push_back((*options)[number]);
  return result;
}

std::vector<unsigned>
Problem::Restriction::narrow(llvm::ArrayRef<unsigned> selection) const {
  std::vector<unsigned> result;
  for (auto [options, option] : llvm::zip_equal(kept, selection))
    result.push_back(llvm::lower_bound(*options, option) - options->begin());
  return result;
}
