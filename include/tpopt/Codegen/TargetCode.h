// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a backend puts into an artifact beside the tables: the code of
/// the kernels.
///
/// Whoever builds an artifact names each different kernel once and asks for the
/// code at the end:
///
///     std::unique_ptr<TargetCode> code = createCpuCode();
///     code->addKernel(rows, "rows0");
///     code->addKernel(otherRows, "rows1");
///     if (failed(code->write(module.getLoc(), writer))) ...
///
/// A CPU artifact gets a shared object for this machine's CPU. A CUDA artifact
/// gets how each kernel is launched, and all kernels once for each chip.

#ifndef TPOPT_CODEGEN_TARGETCODE_H
#define TPOPT_CODEGEN_TARGETCODE_H

#include "tpopt/Dialect/Step/Step.h"

#include <memory>
#include <string>

namespace tprt {
class ArtifactWriter;
} // namespace tprt

namespace tp {

class TargetCode {
public:
  virtual ~TargetCode() = default;
  /// What the artifact calls the target: a `k..Target` of its format.
  virtual llvm::StringRef getName() const = 0;
  /// Takes a kernel, which must outlive this. Kernels are numbered in the order
  /// in which they come.
  virtual void addKernel(step::RowsOp rows, llvm::StringRef name) = 0;
  /// Compiles the kernels, at least one, and adds their sections. Emits errors
  /// at `loc` or at a kernel.
  virtual mlir::LogicalResult write(mlir::Location loc,
                                    tprt::ArtifactWriter &writer) = 0;
};

/// For this machine's CPU.
std::unique_ptr<TargetCode> createCpuCode(mlir::MLIRContext *context);

/// For NVIDIA GPUs: `chips`, such as sm_90, of which there is at least one.
std::unique_ptr<TargetCode> createCudaCode(llvm::ArrayRef<std::string> chips);

/// Emits an error at `op` unless there is a target of this name.
mlir::LogicalResult checkTarget(mlir::Operation *op, llvm::StringRef name);

/// For the target of a name that `checkTarget` accepts.
std::unique_ptr<TargetCode> createTargetCode(mlir::MLIRContext *context,
                                             llvm::StringRef target,
                                             llvm::ArrayRef<std::string> chips);

/// The dialects that kernels of all targets pass through, with their
/// translations: for the pass that compiles them to depend on.
void registerTargetDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TPOPT_CODEGEN_TARGETCODE_H
