// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From step programs to the bytes of a `.tpx`.
///
/// Programs of a module become the entries of one artifact. Inputs of equal
/// name are one storage; equal row programs are one kernel, so a model's layers
/// share theirs. The bytes depend on the module and the CPU's features only.
///
/// An artifact also carries the programs it was made of, as bytecode that the
/// runtime never reads: the whole one, from before sharding, and the one of a
/// device. They wait in attributes of the module until it is written.

#ifndef TPOPT_CODEGEN_ARTIFACT_H
#define TPOPT_CODEGEN_ARTIFACT_H

#include "lib/Codegen/TargetCode.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tprt {
/// The element types of the artifact format, defined in runtime/Core/DType.h.
enum class DType : uint32_t;
} // namespace tprt

namespace tp::codegen {

/// The module as bytecode, without `tp.programs`, `tp.allocated`, `tp.overlap`
/// and places in files: the same program gives the same bytes wherever it is
/// read from, and whether or not a report was asked for.
std::string getProgramBytes(mlir::ModuleOp module);

/// What the runtime calls an element type; none if it has no such elements.
std::optional<tprt::DType> getDType(mlir::Type type);

/// Compiles the row programs with `code` and writes the tables. Buffers must
/// have places (`tp-assign-buffers`). Emits errors where they lie.
mlir::FailureOr<std::string> buildArtifact(mlir::ModuleOp module,
                                           TargetCode &code);

/// An artifact for tp-run's interpreter: of programs without steps, and
/// `wholeProgram` as bytecode, which is what will be run.
mlir::FailureOr<std::string>
buildInterfaceArtifact(mlir::ModuleOp module, llvm::StringRef wholeProgram);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_ARTIFACT_H
