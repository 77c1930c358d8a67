// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Arguments and results: their shardings, names, and what may be
/// overwritten.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H

#include "Shardings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::stablehlo {

/// Replaces the foreign attributes of a function's arguments and results.
/// Arguments of entries are called what the user's program calls them, which
/// JAX writes as `loc("params['h'][0].w")`, results by `jax.result_info`.
mlir::LogicalResult importSignature(mlir::func::FuncOp function,
                                    const ForeignShardings &shardings);

/// Makes a constraint on what an entry returns, and on nothing else, the
/// sharding of the result. Shardy writes one for every result that has one
/// already (`xla.sdy.FuncResultSharding`); a plan must not depend on that.
void moveResultConstraints(mlir::func::FuncOp function);

/// A path of Python in the form that checkpoints and plans have:
/// `params.h.0.w`.
std::string toDotted(llvm::StringRef path);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_SIGNATURE_H
