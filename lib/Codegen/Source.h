// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where a weight is stored, as the artifact has it.

#ifndef TPOPT_LIB_CODEGEN_SOURCE_H
#define TPOPT_LIB_CODEGEN_SOURCE_H

#include "tpopt/Dialect/TP/TP.h"

#include "runtime/Core/ArtifactWriter.h"

namespace tp::codegen {

/// Adds the row for `source`; emits, at `op`, why there can be none.
mlir::FailureOr<uint32_t> addSource(tprt::ArtifactWriter &writer,
                                    mlir::Operation *op, SourceAttr source);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SOURCE_H
