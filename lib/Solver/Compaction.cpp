// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compaction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::solver;

const CostMatrix &Problem::Compaction::getMatrix(const CostMatrix &whole,
                                                 const Lines &rows,
                                                 const Lines &columns) {
  auto [it, isNew] = matrices.try_emplace({&whole, rows, columns}, rows.size(),
                                          columns.size());
  CostMatrix &matrix = it->second;
  if (isNew)
    for (auto [i, row] : llvm::enumerate(rows))
      for (auto [j, column] : llvm::enumerate(columns))
        matrix.at(i, j) = whole.at(row, column);
  return matrix;
}

Problem::Compaction::CompactEdge
Problem::Compaction::copyEdge(const Edge &edge, const Options &fromOptions,
                              const Options &toOptions) {
  CompactEdge copy;
  for (unsigned end : {0, 1}) {
    Numbering numbering(edge.getNumIndices(end));
    std::vector<uint16_t> indices;
    for (unsigned option : end == 0 ? fromOptions : toOptions)
      indices.push_back(numbering.get(edge.indices[end][option]));
    copy.lines[end] = std::move(numbering.values);
    copy.indices[end] = indexLists.get(indices);
  }
  copy.matrix = &getMatrix(*edge.matrix, copy.lines[0], copy.lines[1]);
  return copy;
}

const Problem::Compaction::CompactEdge &
Problem::Compaction::addEdge(Problem &problem, const Edge &edge, unsigned from,
                             const Options &fromOptions, unsigned to,
                             const Options &toOptions) {
  auto [it, isNew] =
      copies.try_emplace({edge.matrix, edge.indices[0].data(),
                          edge.indices[1].data(), &fromOptions, &toOptions});
  CompactEdge &copy = it->second;
  if (isNew)
    copy = copyEdge(edge, fromOptions, toOptions);
  problem.addEdge(from, copy.indices[0], to, copy.indices[1], *copy.matrix);
  return copy;
}
