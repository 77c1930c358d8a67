// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reads programs that are given as text or MLIR bytecode.
///
///     OwningOpRef<ModuleOp> whole = readProgram("whole.mlir", context);
///     if (!whole)
///       return failure(); // the reason has been emitted
///
/// Besides the parser's errors, these are emitted: the errors of
/// Support/TextLimits.h, for text on which the parser would crash;
/// PortableArtifact, for a serialized StableHLO program; and ArtifactGiven,
/// WeightsGiven or BinaryGiven, for a file that is not a program.

#ifndef TPOPT_IMPORT_READPROGRAM_H
#define TPOPT_IMPORT_READPROGRAM_H

#include "lib/Support/TextLimits.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tp {

/// Returns the reason why the parser must not be given `bytes`; nullopt if
/// there is no such reason.
std::optional<TextExcess> findUnreadable(llvm::StringRef bytes);

/// Opens a program's file, or stdin for "-". Named pipes and devices are
/// refused, because reading them could block forever. A file that is already
/// open, such as /dev/fd/3 or /dev/stdin, is read whatever its kind.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openProgramFile(llvm::StringRef path);

/// Parses a program. Errors give `name` as its file. Values keep the names that
/// they have in the text.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::StringRef text,
                                               llvm::StringRef name,
                                               mlir::MLIRContext *context);

/// Reads a file.
mlir::OwningOpRef<mlir::ModuleOp> readProgram(llvm::StringRef path,
                                              mlir::MLIRContext *context);

} // namespace tp

#endif // TPOPT_IMPORT_READPROGRAM_H
