// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The inner loop of bucket elimination: adds up the tables of a bucket and
// minimizes over the bucket's node.
//
// The result has an entry for each combination of options of the neighbours.
// Loops over the neighbours are nested. Each table is added as soon as all its
// neighbours have options, and not again for each option of the inner
// neighbours. Let node x have the neighbours a, b and c, and the tables T(x,
// a), T(x, b) and U(x, b, c):
//
//     for each a:               sum1(x) = cost(x) + T(x, a)
//       for each b:             sum2(x) = sum1(x) + T(x, b)
//         for each c:           sum3(x) = sum2(x) + U(x, b, c)
//                               result(a, b, c) = min over x of sum3(x)
//
// The innermost loops are merged: the combinations of the last neighbours form
// a block, long enough for vector instructions. All sums above have an entry
// for each x and each position in the block.

#ifndef TPOPT_LIB_SOLVER_BUCKETMINIMIZER_H
#define TPOPT_LIB_SOLVER_BUCKETMINIMIZER_H

#include "CostTable.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace tp::solver {

class BucketMinimizer {
public:
  struct Neighbour {
    unsigned node, numOptions;
  };
  /// `neighbours` are in the order of the loops, outermost first.
  BucketMinimizer(unsigned node, llvm::ArrayRef<double> nodeCosts,
                  llvm::ArrayRef<Neighbour> neighbours,
                  llvm::ArrayRef<CostTable *> bucket);

  /// Lowers each entry of `result` to the computed minimum if that is less. The
  /// neighbour of the outermost loop has the largest stride in `result`.
  void lower(std::vector<double> &result) {
    out = result.data();
    runLoop(/*depth=*/0, sums[0]);
  }

private:
  /// A table to add.
  struct Summand {
    const double *values;
    CostTable::Axis nodeAxis;
    /// For each combination of options in the block, the offset of its entry in
    /// the table. Empty if the table depends on no node of the block.
    std::vector<uint32_t> blockOffsets;
    /// Whether the offsets are 0, 1, 2 and so on.
    bool isContiguous = false;
    /// The axes of the table that belong to neighbours outside the block, each
    /// with the number of the loop over this neighbour.
    llvm::SmallVector<std::pair<CostTable::Axis, unsigned>, 4> outerAxes;
  };

  void addSummand(const CostTable &table);
  std::vector<uint32_t>
  computeBlockOffsets(llvm::ArrayRef<const CostTable::Axis *> axes) const;
  void runLoop(unsigned depth, llvm::ArrayRef<double> before);
  void add(const Summand &summand, llvm::ArrayRef<double> before,
           llvm::MutableArrayRef<double> sum) const;

  unsigned node, numOptions;
  llvm::ArrayRef<Neighbour> neighbours;
  unsigned numLoops; ///< The other neighbours are in the block.
  unsigned blockSize = 1;
  /// The current option of each loop.
  llvm::SmallVector<unsigned> loopOptions;
  // Indexed by depth, the number of enclosing loops. `summands` holds the
  // tables that are added at this depth. `sums` holds the sum of all tables
  // down to this depth, by option of the node and position in the block.
  std::vector<std::vector<Summand>> summands;
  std::vector<std::vector<double>> sums;
  double *out = nullptr; ///< Where the next block of the result goes.
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_BUCKETMINIMIZER_H
