// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChunkTimes.h"

#include <algorithm>

double tp::getGatherTime(const ChunkProblem &problem) {
  double transfer = problem.start + problem.transfer / double(problem.pieces);
  double link = -problem.slack, compute = problem.product;
  for (int64_t i = 0; i < (problem.places - 1) * problem.pieces; ++i) {
    link += transfer;
    compute = std::max(compute, link) + problem.piece;
  }
  return compute;
}

double tp::getScatterTime(const ChunkProblem &problem) {
  double transfer = problem.start + problem.transfer / double(problem.pieces);
  double link = 0, compute = 0;
  for (int64_t i = 0; i < (problem.places - 1) * problem.pieces; ++i) {
    compute += problem.piece;
    link = std::max(link, compute) + transfer;
  }
  compute += problem.product;
  return std::max(compute, link - problem.slack) + problem.sum;
}
