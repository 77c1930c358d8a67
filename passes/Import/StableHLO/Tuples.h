// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Tuples of tensors, which programs that were HLO before have.
///
///     %0 = stablehlo.custom_call @f(%a) : (tensor<4xf32>)
///         -> tuple<tensor<4xf32>, tensor<2xf32>>
///     %1 = stablehlo.get_tuple_element %0[1]
///         : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tensor<2xf32>
///
/// HLO has operations of one result; those of more became tuples there.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Gives operations that return a tuple as many results instead. A tuple of
/// which more is wanted than its elements stays, and is refused where it is
/// imported.
void unpackTuples(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_TUPLES_H
