// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where a program for devices parts from the whole one, found by what
/// both compute.
///
/// Nothing need be named alike. In a prime field with random data, numbers are
/// as good as names: an element that the whole program computes somewhere turns
/// up nowhere else by chance. A value on devices is
///
/// * *known* if every device's buffer is a block of some value of the whole
///   program, or becomes one if it is combined along some axes: a partial sum,
/// * *moved* if at least all its elements, or their sums, occur there,
/// * *strange* otherwise.
///
/// A wrong result is followed back through all that is not known. Right
/// detours, such as numbers laid out in a way of their own, are left behind on
/// the next known value; where the programs part, an operation makes something
/// strange of values that are not. Take
///
///     %1 = dot(%x, %w)       // known, once summed along "y"
///     %2 = all_reduce(%1)    // along "x": strange
///     %3 = tanh(%2)          // strange, as is what it takes
///
/// of which the all_reduce is told.

#ifndef TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H
#define TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H

#include "Comparison.h"

namespace tp {

/// Runs both programs on `data` in a prime field, and says in a remark where
/// result `index` of the local one goes wrong. False, with nothing said, if
/// that does not show.
bool explainFirstDivergence(const ProgramPair &programs, unsigned index,
                            const DataSet &data);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H
