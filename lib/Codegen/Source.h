// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Records in the artifact where a weight is stored.

#ifndef TPOPT_LIB_CODEGEN_SOURCE_H
#define TPOPT_LIB_CODEGEN_SOURCE_H

#include "tpopt/Dialect/Step/Step.h"
#include "tpopt/Dialect/TP/TP.h"

#include "runtime/Core/ArtifactWriter.h"

namespace tp::codegen {

/// Records in `row` where `input` is stored, if it is stored in a file. Emits
/// an error at `op` if the artifact format cannot express it.
mlir::LogicalResult addSources(tprt::ArtifactWriter &writer,
                               mlir::Operation *op, step::InputAttr input,
                               tprt::InputRow &row);

/// If `output` is a part of a tensor, records in `row` which part it is. The
/// program must have been verified. Emits errors in the same way as addSources.
mlir::LogicalResult addPart(tprt::ArtifactWriter &writer, mlir::Operation *op,
                            step::OutputAttr output, tprt::OutputRow &row);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SOURCE_H
