// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The distinct kernels of a module.
///
/// A model's layers compute the same things on other buffers. Two steps are one
/// kernel if they differ in the buffers they work on, in the names of values
/// and in locations only. One that writes where it reads, as a cache is written
/// in part, is not one with another that does not:
///
///     KernelTable table;
///     table.add(normOfLayer0);   // 0, "rows0"
///     table.add(siluOfLayer0);   // 1, "rows1"
///     table.add(normOfLayer1);   // 0
///     table.add(topK);           // 2, "sort2"
///
/// Kernels are numbered in the order in which they are first added, so equal
/// modules give equal tables. Steps must outlive the table.

#ifndef TPOPT_CODEGEN_KERNELTABLE_H
#define TPOPT_CODEGEN_KERNELTABLE_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::codegen {

/// Whether `op` writes the buffer of its operand `i`, and reads it, by one or
/// two operands.
bool isReadAndWritten(step::KernelOpInterface op, unsigned i);

struct Kernel {
  step::KernelOpInterface op;
  std::string name; ///< What the op is called, and the kernel's number.
};

class KernelTable {
public:
  /// The number of the kernel that `op` is.
  unsigned add(step::KernelOpInterface op);
  /// Adds the steps of a module that are kernels on a GPU, in program order. A
  /// step.together is one kernel.
  void addForGpu(mlir::Operation *module);
  /// Each kernel, with the first step that is one.
  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }

private:
  llvm::SmallVector<Kernel> kernels;
  /// Numbers of kernels by hash; few hashes have more than one.
  llvm::DenseMap<size_t, llvm::SmallVector<unsigned, 1>> byHash;
};

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_KERNELTABLE_H
