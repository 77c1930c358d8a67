// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The distinct kernels of a module.
///
/// The layers of a model compute the same things on different buffers. Two
/// steps share a kernel if they differ only in the buffers they work on, in the
/// names of values and in locations. A step that reads and writes the same
/// buffer, such as one that writes a part of a cache, shares no kernel with a
/// step that reads and writes different buffers:
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

/// Returns true if `op` both reads and writes the buffer of its operand `i`,
/// through one operand or two.
bool isReadAndWritten(step::KernelOpInterface op, unsigned i);

struct Kernel {
  step::KernelOpInterface op;
  std::string name; ///< The op's name and the kernel's number.
};

class KernelTable {
public:
  /// Adds the kernel of `op`, if it is new, and returns its number.
  unsigned add(step::KernelOpInterface op);
  /// Adds the steps of a module that are kernels on a GPU, in program order. A
  /// `step.together` op is one kernel.
  void addForGpu(mlir::Operation *module);
  /// All kernels, each with the first step that uses it.
  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }

private:
  llvm::SmallVector<Kernel> kernels;
  /// Kernel numbers by hash; most hashes have only one.
  llvm::DenseMap<size_t, llvm::SmallVector<unsigned, 1>> byHash;
};

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_KERNELTABLE_H
