// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tuples of tensors, which occur in programs that were converted from
/// HLO.
///
///     %0 = stablehlo.custom_call @f(%a) : (tensor<4xf32>)
///         -> tuple<tensor<4xf32>, tensor<2xf32>>
///     %1 = stablehlo.get_tuple_element %0[1]
///         : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tensor<2xf32>
///
/// An HLO operation has a single result; several results form a tuple.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Replaces tuple results by one result for each element. A tuple that is used
/// for more than its elements stays, and is refused when it is imported.
void unpackTuples(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H
