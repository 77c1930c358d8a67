// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A vector times a matrix, with sums for products and the least for the sum:
// what messages and answers of nodes are made of.

#ifndef TPOPT_LIB_SOLVER_PRODUCT_H
#define TPOPT_LIB_SOLVER_PRODUCT_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>

namespace tp::pbqp {

/// Lowers each of `least` to what the best row costs there: `costs[i]` and the
/// entry of row i. The rows lie one behind the other at `rows`.
inline void takeLeast(llvm::ArrayRef<double> costs, const double *rows,
                      llvm::MutableArrayRef<double> least) {
  const size_t size = least.size();
  double *out = least.data();
  // Some rows at a time, so that `least` is read and written less often.
  constexpr size_t kRows = 4;
  size_t i = 0;
  for (; i + kRows <= costs.size(); i += kRows, rows += kRows * size)
    for (size_t to = 0; to < size; ++to) {
      double sums[kRows];
      for (size_t k = 0; k < kRows; ++k)
        sums[k] = costs[i + k] + rows[k * size + to];
      out[to] = std::min(out[to], std::min(std::min(sums[0], sums[1]),
                                           std::min(sums[2], sums[3])));
    }
  for (; i < costs.size(); ++i, rows += size)
    for (size_t to = 0; to < size; ++to)
      out[to] = std::min(out[to], costs[i] + rows[to]);
}

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_PRODUCT_H
