// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The distinct row programs of a module.
///
/// A model's layers compute the same things on other buffers. Two row programs
/// are one kernel if they have one domain, operands of equal types, and bodies
/// that differ in the names of values and in locations only:
///
///     KernelTable table;
///     table.add(normOfLayer0);   // 0
///     table.add(siluOfLayer0);   // 1
///     table.add(normOfLayer1);   // 0
///
/// Kernels are numbered in the order in which they are first added, so equal
/// modules give equal tables. Row programs must outlive the table.

#ifndef TPOPT_CODEGEN_KERNELTABLE_H
#define TPOPT_CODEGEN_KERNELTABLE_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp {

class KernelTable {
public:
  /// The number of the kernel that computes `rows`.
  unsigned add(step::RowsOp rows);
  /// The first row program of each kernel.
  llvm::ArrayRef<step::RowsOp> getKernels() const { return kernels; }

private:
  llvm::SmallVector<step::RowsOp> kernels;
  /// Numbers of kernels by hash; few hashes have more than one.
  llvm::DenseMap<size_t, llvm::SmallVector<unsigned, 1>> byHash;
};

} // namespace tp

#endif // TPOPT_CODEGEN_KERNELTABLE_H
