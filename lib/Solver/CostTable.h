// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A table of costs over the options of some nodes, for bucket elimination.
//
// The matrix of an edge is a table of two axes. Bucket elimination computes
// tables of any number of axes. In both, the position of an entry is the sum of
// one offset per axis:
//
//     axis      offset of its option         a 2x3 matrix: strides 3 and 1
//     a         row(a) * 3                   | 0  1  2 |
//     b         column(b) * 1                | 3  4  5 |   (1, 2): 1*3 + 2*1

#ifndef TPOPT_LIB_SOLVER_COSTTABLE_H
#define TPOPT_LIB_SOLVER_COSTTABLE_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tp::solver {

struct CostTable {
  struct Axis {
    unsigned node;
    /// For each option of the node, its index on this axis. If null, every
    /// option has its own number as index.
    const uint16_t *indices;
    size_t stride;
    size_t getOffset(unsigned option) const {
      return (indices ? indices[option] : option) * stride;
    }
  };

  const double *values;
  llvm::SmallVector<Axis, 4> axes; ///< One per node.
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_COSTTABLE_H
