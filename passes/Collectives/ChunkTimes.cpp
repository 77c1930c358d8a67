// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChunkTimes.h"

#include <algorithm>

double tp::getGatherTime(const ChunkProblem &problem, int64_t pieces) {
  double piece = problem.start + problem.transfer / double(pieces);
  double link = -problem.slack, compute = problem.product;
  for (int64_t i = 0; i < (problem.places - 1) * pieces; ++i) {
    link += piece;
    compute = std::max(compute, link) + problem.product / double(pieces);
  }
  return compute;
}

double tp::getScatterTime(const ChunkProblem &problem, int64_t pieces) {
  double piece = problem.start + problem.transfer / double(pieces);
  double link = 0, compute = 0;
  for (int64_t i = 0; i < (problem.places - 1) * pieces; ++i) {
    compute += problem.product / double(pieces);
    link = std::max(link, compute) + piece;
  }
  compute += problem.product;
  return std::max(compute, link - problem.slack) + problem.sum;
}
