// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Restriction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::pbqp;

Problem::Restriction::Restriction(const Problem &problem,
                                  llvm::ArrayRef<double> excess, double most) {
  rest.reserveNodes(problem.nodes.size(), problem.costs.size());
  rest.reserveEdges(problem.edges.size());
  for (auto [number, node] : llvm::enumerate(problem.nodes)) {
    llvm::SmallVector<unsigned> kept;
    llvm::SmallVector<double> costs;
    for (auto [c, cost] : llvm::enumerate(problem.getCosts(number)))
      if (excess[node.costs + c] <= most) {
        kept.push_back(c);
        costs.push_back(cost);
      }
    rest.addNode(costs);
    candidates.push_back(&compaction.share(kept));
  }
  for (const Edge &edge : problem.edges) {
    auto [from, to] = edge.nodes;
    edges.push_back(&compaction.addEdge(rest, edge, from, *candidates[from], to,
                                        *candidates[to]));
  }
}

std::vector<unsigned>
Problem::Restriction::expand(llvm::ArrayRef<unsigned> labels) const {
  std::vector<unsigned> result;
  for (auto [kept, label] : llvm::zip_equal(candidates, labels))
    result.push_back((*kept)[label]);
  return result;
}

std::vector<unsigned>
Problem::Restriction::narrow(llvm::ArrayRef<unsigned> labels) const {
  std::vector<unsigned> result;
  for (auto [kept, label] : llvm::zip_equal(candidates, labels))
    result.push_back(llvm::lower_bound(*kept, label) - kept->begin());
  return result;
}
