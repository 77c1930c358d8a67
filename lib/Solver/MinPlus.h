// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The product of a vector and a matrix in the min-plus semiring: sums take the
// place of products, and minima the place of sums.
//
//                       | 4  6 |
//     (0, 2)  times     | 3  0 |   is   (min(0+4, 2+3), min(0+6, 2+0)) = (4, 2)
//
// For the costs of a node and the matrix of an edge, the product gives the cost
// of each index at the other end if this node takes its best option for that
// index. Messages, reductions and tables are computed from such products.

#ifndef TPOPT_LIB_SOLVER_MINPLUS_H
#define TPOPT_LIB_SOLVER_MINPLUS_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>

namespace tp::solver {

/// Lowers each entry of `result` to the entry of the min-plus product of
/// `vector` and a matrix if that is less. The matrix begins at `matrix`, and
/// its rows have the length of `result`.
inline void lowerToProduct(llvm::ArrayRef<double> vector, const double *matrix,
                           llvm::MutableArrayRef<double> result) {
  const size_t size = result.size();
  double *out = result.data();
  // Several rows at a time, so that `result` is read and written less often.
  constexpr size_t kRows = 4;
  size_t i = 0;
  for (; i + kRows <= vector.size(); i += kRows, matrix += kRows * size)
    for (size_t column = 0; column < size; ++column) {
      double sums[kRows];
      for (size_t k = 0; k < kRows; ++k)
        sums[k] = vector[i + k] + matrix[k * size + column];
      out[column] = std::min(out[column], std::min(std::min(sums[0], sums[1]),
                                                   std::min(sums[2], sums[3])));
    }
  for (; i < vector.size(); ++i, matrix += size)
    for (size_t column = 0; column < size; ++column)
      out[column] = std::min(out[column], vector[i] + matrix[column]);
}

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_MINPLUS_H
