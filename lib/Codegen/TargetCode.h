// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a backend puts into an artifact beside the tables: the code of
/// the kernels.
///
/// Whoever builds an artifact names each different kernel once and asks for the
/// code at the end:
///
///     auto code = createTargetCode(module, *Target::find("cuda"),
///     {{"sm_90"}}); if (failed(code) || failed((*code)->addKernel({rows,
///     "rows0"})) ||
///         failed((*code)->addKernel({sort, "sort1"})) ||
///         failed((*code)->write(module.getLoc(), writer))) ...
///
/// A CPU artifact gets a shared object for this machine's CPU. A CUDA artifact
/// gets how each kernel is launched, and all kernels for each chip: assembled,
/// if there is an assembler, and for the lowest chip of each major version as
/// PTX, which the driver compiles for chips that came later.

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

/// What users say about the code.
struct CodeOptions {
  /// The GPUs to compile for, such as sm_90; empty for the usual ones.
  llvm::SmallVector<std::string> chips;
  /// NVIDIA's assembler: a path, "none" for PTX alone, or empty to look for it.
  std::string ptxas;
};

class TargetCode {
public:
  virtual ~TargetCode() = default;
  virtual const Target &getTarget() const = 0;
  /// Whether the target executes a step by a kernel.
  virtual bool hasKernel(step::KernelOpInterface op) const = 0;
  /// Takes a kernel, whose step must outlive this. Kernels are numbered in the
  /// order in which they come. Emits an error at a step that has none.
  virtual mlir::LogicalResult addKernel(const Kernel &kernel) = 0;
  /// Compiles the kernels, at least one, and adds their sections. Emits errors
  /// at `loc` or at a kernel.
  virtual mlir::LogicalResult write(mlir::Location loc,
                                    tprt::ArtifactWriter &writer) = 0;
};

/// What compiles the kernels of a target. Emits an error at `op` for an option
/// that the target does not have, and for a chip that is none or too old.
mlir::FailureOr<std::unique_ptr<TargetCode>>
createTargetCode(mlir::Operation *op, const Target &target,
                 const CodeOptions &options);

/// For this machine's CPU.
std::unique_ptr<TargetCode> createCpuCode(mlir::MLIRContext *context);

/// For NVIDIA GPUs. `target` is theirs. Emits an error at `op` if a chip is
/// none, or too old for the 8-bit floats that the target multiplies.
mlir::FailureOr<std::unique_ptr<TargetCode>>
createCudaCode(mlir::Operation *op, const CodeOptions &options,
               const Target &target);

/// The dialects that kernels of all targets pass through, with their
/// translations: for the pass that compiles them to depend on.
void registerTargetDialects(mlir::DialectRegistry &registry);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_TARGETCODE_H
