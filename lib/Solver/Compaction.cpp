// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compaction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::pbqp;

const CostMatrix &Problem::Compaction::getMatrix(const CostMatrix &whole,
                                                 const States &rows,
                                                 const States &columns) {
  auto [it, isNew] = matrices.try_emplace({&whole, rows, columns}, rows.size(),
                                          columns.size());
  CostMatrix &matrix = it->second;
  if (isNew)
    for (auto [i, row] : llvm::enumerate(rows))
      for (auto [j, column] : llvm::enumerate(columns))
        matrix.at(i, j) = whole.at(row, column);
  return matrix;
}

Problem::Compaction::Rest
Problem::Compaction::makeRest(const Edge &edge, const Candidates &leftOfFrom,
                              const Candidates &leftOfTo) {
  Rest rest;
  for (unsigned end : {0, 1}) {
    Numbering numbering(edge.getNumPorts(end));
    std::vector<uint16_t> those;
    for (unsigned candidate : end == 0 ? leftOfFrom : leftOfTo)
      those.push_back(numbering.get(edge.ports[end][candidate]));
    rest.states[end] = std::move(numbering.values);
    rest.ports[end] = ports.get(those);
  }
  rest.matrix = &getMatrix(*edge.matrix, rest.states[0], rest.states[1]);
  return rest;
}

const Problem::Compaction::Rest &
Problem::Compaction::addEdge(Problem &problem, const Edge &edge, unsigned from,
                             const Candidates &leftOfFrom, unsigned to,
                             const Candidates &leftOfTo) {
  auto [it, isNew] =
      rests.try_emplace({edge.matrix, edge.ports[0].data(),
                         edge.ports[1].data(), &leftOfFrom, &leftOfTo});
  Rest &rest = it->second;
  if (isNew)
    rest = makeRest(edge, leftOfFrom, leftOfTo);
  problem.addEdge(from, rest.ports[0], to, rest.ports[1], *rest.matrix);
  return rest;
}
