// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LabelingCompaction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;

std::pair<Labeling::Compaction::States, llvm::ArrayRef<uint16_t>>
Labeling::Compaction::number(llvm::ArrayRef<uint16_t> old, unsigned numOld,
                             llvm::ArrayRef<unsigned> left) {
  Numbering numbering(numOld);
  std::vector<uint16_t> those;
  those.reserve(left.size());
  for (unsigned candidate : left)
    those.push_back(numbering.get(old[candidate]));
  const auto &shared = *ports.insert(std::move(those)).first;
  return {std::move(numbering.values), shared};
}

const CostMatrix &Labeling::Compaction::getMatrix(const CostMatrix &whole,
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

std::pair<Labeling::Compaction::States, Labeling::Compaction::States>
Labeling::Compaction::addEdge(Labeling &problem, const Edge &edge,
                              unsigned from,
                              llvm::ArrayRef<unsigned> leftOfFrom, unsigned to,
                              llvm::ArrayRef<unsigned> leftOfTo) {
  auto [rows, fromPorts] = number(edge.ports[0], edge.matrix->rows, leftOfFrom);
  auto [columns, toPorts] =
      number(edge.ports[1], edge.matrix->columns, leftOfTo);
  problem.addEdge(from, fromPorts, to, toPorts,
                  getMatrix(*edge.matrix, rows, columns));
  return {std::move(rows), std::move(columns)};
}
