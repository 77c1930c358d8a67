// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BucketMinimizer.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tp::solver;

BucketMinimizer::BucketMinimizer(unsigned node,
                                 llvm::ArrayRef<double> nodeCosts,
                                 llvm::ArrayRef<Neighbour> neighbours,
                                 llvm::ArrayRef<CostTable *> bucket)
    : node(node), numOptions(nodeCosts.size()), neighbours(neighbours),
      numLoops(neighbours.size()) {
  // Blocks should be long enough for vector instructions to pay off.
  constexpr unsigned kBlockSize = 32;
  while (numLoops > 0 && blockSize < kBlockSize)
    blockSize *= neighbours[--numLoops].numOptions;
  loopOptions.assign(numLoops, 0);
  summands.resize(numLoops + 1);
  sums.resize(numLoops + 1);
  for (double cost : nodeCosts)
    sums[0].insert(sums[0].end(), blockSize, cost);
  for (const CostTable *table : bucket)
    addSummand(*table);
  // A loop that adds no table uses the sum of the loop around it.
  for (unsigned depth = 1; depth <= numLoops; ++depth)
    if (!summands[depth].empty())
      sums[depth].resize(sums[0].size());
}

void BucketMinimizer::addSummand(const CostTable &table) {
  Summand summand;
  summand.values = table.values;
  unsigned depth = 0;
  llvm::SmallVector<const CostTable::Axis *> blockAxes(
      neighbours.size() - numLoops, nullptr);
  for (const CostTable::Axis &axis : table.axes) {
    if (axis.node == node) {
      summand.nodeAxis = axis;
      continue;
    }
    unsigned position = 0;
    while (neighbours[position].node != axis.node)
      ++position;
    if (position >= numLoops) {
      blockAxes[position - numLoops] = &axis;
    } else {
      summand.outerAxes.push_back({axis, position});
      depth = std::max(depth, position + 1);
    }
  }
  if (llvm::any_of(blockAxes, [](const auto *axis) { return axis; })) {
    summand.blockOffsets = computeBlockOffsets(blockAxes);
    summand.isContiguous = true;
    for (auto [i, offset] : llvm::enumerate(summand.blockOffsets))
      summand.isContiguous &= offset == i;
  }
  if (depth == 0)
    add(summand, sums[0], sums[0]);
  else
    summands[depth].push_back(std::move(summand));
}

/// `axes` has an entry for each neighbour in the block, null if the table does
/// not depend on it.
std::vector<uint32_t> BucketMinimizer::computeBlockOffsets(
    llvm::ArrayRef<const CostTable::Axis *> axes) const {
  std::vector<uint32_t> offsets{0};
  for (auto [axis, neighbour] :
       llvm::zip_equal(axes, neighbours.drop_front(numLoops))) {
    std::vector<uint32_t> longer;
    longer.reserve(blockSize);
    for (uint32_t offset : offsets)
      for (unsigned option = 0; option < neighbour.numOptions; ++option)
        longer.push_back(offset + (axis ? axis->getOffset(option) : 0));
    offsets = std::move(longer);
  }
  return offsets;
}

/// Runs the loop that has `depth` loops around it. `before` is the sum of the
/// tables that these loops have added.
void BucketMinimizer::runLoop(unsigned depth, llvm::ArrayRef<double> before) {
  if (depth == numLoops) {
    const double *sum = before.data();
    for (unsigned option = 0; option < numOptions; ++option, sum += blockSize)
      for (unsigned i = 0; i < blockSize; ++i)
        out[i] = std::min(out[i], sum[i]);
    out += blockSize;
    return;
  }
  unsigned &option = loopOptions[depth];
  std::vector<double> &sum = sums[depth + 1];
  for (option = 0; option < neighbours[depth].numOptions; ++option) {
    llvm::ArrayRef<double> soFar = before;
    for (const Summand &summand : summands[depth + 1]) {
      add(summand, soFar, sum);
      soFar = sum;
    }
    runLoop(depth + 1, soFar);
  }
}

/// Sets `sum` to `before` plus a table, for the current options of the loops.
void BucketMinimizer::add(const Summand &summand, llvm::ArrayRef<double> before,
                          llvm::MutableArrayRef<double> sum) const {
  const double *table = summand.values;
  for (const auto &[axis, loop] : summand.outerAxes)
    table += axis.getOffset(loopOptions[loop]);
  const double *from = before.data();
  double *to = sum.data();
  for (unsigned option = 0; option < numOptions; ++option) {
    const double *row = table + summand.nodeAxis.getOffset(option);
    if (summand.blockOffsets.empty())
      for (unsigned i = 0; i < blockSize; ++i)
        to[i] = from[i] + *row;
    else if (summand.isContiguous)
      for (unsigned i = 0; i < blockSize; ++i)
        to[i] = from[i] + row[i];
    else
      for (unsigned i = 0; i < blockSize; ++i)
        to[i] = from[i] + row[summand.blockOffsets[i]];
    from += blockSize;
    to += blockSize;
  }
}
