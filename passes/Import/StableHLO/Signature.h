// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Arguments and results: their shardings, their names, and which
/// arguments may be overwritten.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H

#include "Shardings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::stablehlo {

/// Replaces the foreign attributes of a function's arguments and results.
/// Arguments of entries get the names that the user's program has for them,
/// which JAX writes as `loc("params['h'][0].w")`; results get theirs from
/// `jax.result_info`.
mlir::LogicalResult importSignature(mlir::func::FuncOp function,
                                    const ForeignShardings &shardings);

/// If a constraint's result is used only as the result of an entry, makes the
/// constraint the sharding of that result. Shardy writes such constraints
/// (`xla.sdy.FuncResultSharding`) for results that already have a sharding.
/// Plans must not depend on whether these constraints are present.
void moveResultConstraints(mlir::func::FuncOp function);

/// Returns a Python path in the form that checkpoints and plans use:
/// `params.h.0.w`.
std::string toDotted(llvm::StringRef path);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H
