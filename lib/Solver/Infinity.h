// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The cost of a forbidden option or pair.

#ifndef TPOPT_LIB_SOLVER_INFINITY_H
#define TPOPT_LIB_SOLVER_INFINITY_H

#include <limits>

namespace tp::solver {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_INFINITY_H
