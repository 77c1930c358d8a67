// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The code of the kernels, which a backend adds to an artifact besides
/// the tables.
///
/// The builder of an artifact adds each distinct kernel once, and asks for the
/// code at the end:
///
///     auto code =
///         createTargetCode(module, *Target::find("cuda"), {{"sm_90"}});
///     if (failed(code) || failed((*code)->addKernel({rows, "rows0"})) ||
///         failed((*code)->addKernel({sort, "sort1"})) ||
///         failed((*code)->write(module.getLoc(), writer))) ...
///
/// A CPU artifact contains a shared object for this machine's CPU. A CUDA
/// artifact contains the launch of each kernel, and all kernels for each chip:
/// assembled, if there is an assembler, and as PTX for the lowest chip of each
/// major version, which the driver compiles for later chips.

#ifndef TPOPT_CODEGEN_TARGETCODE_H
#define TPOPT_CODEGEN_TARGETCODE_H

#include "lib/Codegen/KernelTable.h"
#include "lib/Target/Target.h"

#include <memory>
#include <string>

namespace tprt {
class ArtifactWriter;
} // namespace tprt

namespace tp::codegen {

/// The user's options for the code.
struct CodeOptions {
  /// The GPUs to compile for, such as sm_90; empty for the usual ones.
  llvm::SmallVector<std::string> chips;
  /// NVIDIA's assembler: a path, "none" for PTX only, or empty to search for
  /// it.
  std::string ptxas;
};

class TargetCode {
public:
  virtual ~TargetCode() = default;
  virtual const Target &getTarget() const = 0;
  /// Returns true if the target executes a step with a kernel.
  virtual bool hasKernel(step::KernelOpInterface op) const = 0;
  /// Adds a kernel, whose step must outlive this object. Kernels are numbered
  /// in the order in which they are added. Emits an error if the step has no
  /// kernel.
  virtual mlir::LogicalResult addKernel(const Kernel &kernel) = 0;
  /// Compiles the kernels and adds their sections. There must be at least one
  /// kernel. Emits errors at `loc` or at a kernel's step.
  virtual mlir::LogicalResult write(mlir::Location loc,
                                    tprt::ArtifactWriter &writer) = 0;
};

/// Creates the compiler for the kernels of a target. Emits an error at `op` for
/// an option that the target does not have, and for a chip that is unknown or
/// too old.
mlir::FailureOr<std::unique_ptr<TargetCode>>
createTargetCode(mlir::Operation *op, const Target &target,
                 const CodeOptions &options);

/// Creates the compiler for this machine's CPU.
std::unique_ptr<TargetCode> createCpuCode(mlir::MLIRContext *context);

/// Creates the compiler for NVIDIA GPUs, where `target` is CUDA. Emits an error
/// at `op` if a chip is unknown, or too old for the 8-bit floats that the
/// target multiplies.
mlir::FailureOr<std::unique_ptr<TargetCode>>
createCudaCode(mlir::Operation *op, const CodeOptions &options,
               const Target &target);

/// Registers the dialects that the kernels of all targets are lowered through,
/// and their translations to LLVM IR. The pass that compiles kernels needs
/// them.
void registerTargetDialects(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_TARGETCODE_H
