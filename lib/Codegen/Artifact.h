// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Translates step programs to the bytes of a `.tpx` file.
///
/// The programs of a module become the entries of one artifact. Inputs with the
/// same name share one storage; equal row programs become one kernel, so the
/// layers of a model share kernels. The bytes depend only on the module and the
/// CPU's features.
///
/// An artifact also carries the programs it was compiled from, as bytecode that
/// the runtime never reads: the whole program before sharding, and the program
/// of one device. They are kept in attributes of the module until the artifact
/// is written.

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
/// and file locations: the same program gives the same bytes wherever it is
/// read from, and whether or not a report was requested.
std::string getProgramBytes(mlir::ModuleOp module);

/// The runtime's enumerator for an element type; none if the runtime does not
/// support it.
std::optional<tprt::DType> getDType(mlir::Type type);

/// Compiles the row programs with `code` and writes the tables. Buffers must
/// have been assigned offsets (`tp-assign-buffers`). Emits errors at the ops
/// that cause them.
mlir::FailureOr<std::string> buildArtifact(mlir::ModuleOp module,
                                           TargetCode &code);

/// Builds an artifact for the interpreter of tp-run. The programs of the
/// artifact have no steps: the interpreter executes `wholeProgram`, which the
/// artifact contains as bytecode.
mlir::FailureOr<std::string>
buildInterfaceArtifact(mlir::ModuleOp module, llvm::StringRef wholeProgram);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_ARTIFACT_H
