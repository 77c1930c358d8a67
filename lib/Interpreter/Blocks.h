// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What scattering, gathering and exchanging have in common.

#ifndef TPOPT_LIB_INTERPRETER_BLOCKS_H
#define TPOPT_LIB_INTERPRETER_BLOCKS_H

#include "lib/Interpreter/Distribution.h"

namespace tp::interp {

/// Copies what two blocks of one tensor have in common, from one buffer to the
/// other. Padding on either side stays.
void copyOverlap(const Element *from, llvm::ArrayRef<int64_t> fromShape,
                 const BlockExtent &source, Element *to,
                 llvm::ArrayRef<int64_t> toShape, const BlockExtent &target);

} // namespace tp::interp

#endif // TPOPT_LIB_INTERPRETER_BLOCKS_H
