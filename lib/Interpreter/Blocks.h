// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Helpers for scattering, gathering and exchanging tensors.

#ifndef TPOPT_LIB_INTERPRETER_BLOCKS_H
#define TPOPT_LIB_INTERPRETER_BLOCKS_H

#include "lib/Interpreter/Distribution.h"

namespace tp::interp {

/// Copies the elements that two blocks of one tensor have in common from one
/// buffer to the other. Padding in the target does not change.
void copyOverlap(const Element *from, llvm::ArrayRef<int64_t> fromShape,
                 const BlockExtent &source, Element *to,
                 llvm::ArrayRef<int64_t> toShape, const BlockExtent &target);

} // namespace tp::interp

#endif // TPOPT_LIB_INTERPRETER_BLOCKS_H
