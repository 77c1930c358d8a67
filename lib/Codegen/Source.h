// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where a weight is stored, as the artifact has it.

#ifndef TPOPT_LIB_CODEGEN_SOURCE_H
#define TPOPT_LIB_CODEGEN_SOURCE_H

#include "tpopt/Dialect/Step/Step.h"
#include "tpopt/Dialect/TP/TP.h"

#include "runtime/Core/ArtifactWriter.h"

namespace tp::codegen {

/// Sets in `row` where `input` is stored, if it is. Emits, at `op`, what of it
/// the artifact cannot say.
mlir::LogicalResult addSources(tprt::ArtifactWriter &writer,
                               mlir::Operation *op, step::InputAttr input,
                               tprt::InputRow &row);

/// Sets in `row` which part of a tensor `output` is, if it is one; its program
/// has been verified. Emits as addSources does.
mlir::LogicalResult addPart(tprt::ArtifactWriter &writer, mlir::Operation *op,
                            step::OutputAttr output, tprt::OutputRow &row);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SOURCE_H
