// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds where a program for devices diverges from the whole program, by
/// comparing the values that both compute.
///
/// Values need no matching names. In a prime field with random data, numbers
/// identify values: an element that the whole program computes somewhere occurs
/// nowhere else by chance. A value on devices is
///
/// * *known* if every device's buffer is a block of some value of the whole
///   program, or becomes such a block if combined along some axes (a partial
///   sum),
/// * *moved* if at least all its elements, or their sums along some axes, occur
///   in the whole program,
/// * *strange* otherwise.
///
/// A wrong result is traced back through all values that are not known. Correct
/// deviations, such as a temporary layout, end at the next known value. Where
/// the programs diverge, an operation computes a strange value from values that
/// are not strange. In
///
///     %1 = dot(%x, %w)       // known, once summed along "y"
///     %2 = all_reduce(%1)    // along "x": strange
///     %3 = tanh(%2)          // strange, as is its operand
///
/// the all_reduce is reported.

#ifndef TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H
#define TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H

#include "Comparison.h"

namespace tp {

/// Runs both the whole and the local program on `data` in a prime field, and
/// emits a remark that says where result `index` of the local program goes
/// wrong. Returns false, and emits nothing, if no such place is found.
bool explainFirstDivergence(const ProgramPair &programs, unsigned index,
                            const DataSet &data);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_FIRSTDIVERGENCE_H
