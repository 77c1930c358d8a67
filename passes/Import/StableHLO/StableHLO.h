// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Converts StableHLO programs to `tp` and `spmd`.
///
/// JAX's export of `lambda x, w: jnp.tanh(x @ w)` with a sharding,
///
///     sdy.mesh @mesh = <["model"=4]>
///     func.func public @main(%arg0: tensor<8x16xf32> loc("x"),
///         %arg1: tensor<16x32xf32>
///           {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("w"))
///         -> (tensor<8x32xf32> {jax.result_info = "result"}) {
///       %0 = stablehlo.dot_general %arg0, %arg1,
///           contracting_dims = [1] x [0] : (..) -> tensor<8x32xf32>
///       %1 = stablehlo.tanh %0 : tensor<8x32xf32>
///       return %1 : tensor<8x32xf32>
///     }
///
/// becomes
///
///     spmd.mesh @mesh <["model"=4]>
///     func.func public @main(%arg0: tensor<8x16xf32> {tp.name = "x"},
///         %arg1: tensor<16x32xf32> {tp.name = "w",
///             spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
///         -> (tensor<8x32xf32> {tp.name = "result"}) {
///       %0 = tp.einsum "ab,bc->ac" %arg0, %arg1 : (..) -> tensor<8x32xf32>
///       %1 = tp.tanh %0 : tensor<8x32xf32>
///       return %1 : tensor<8x32xf32>
///     }
///
/// Operations are recognised by name and generic attributes, so that it does
/// not matter whether the readers (tpopt/Dialect/StableHLO/StableHLO.h) or the
/// real dialects have loaded them. The converted ops have exactly the meaning
/// of the original operation, see https://openxla.org/stablehlo/spec.
///
/// Errors are TP0209 and TP053x diagnostics at the operation; the module is
/// then only partly converted and must not be used.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_STABLEHLO_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_STABLEHLO_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

class Emitter;

/// Returns true if there is anything to import: an operation of stablehlo, chlo
/// or sdy.
bool hasStableHLO(mlir::ModuleOp module);

/// Converts all of `module` in place.
mlir::LogicalResult importStableHLO(mlir::ModuleOp module);

/// Creates the complementary error function of floats with at least 32 bits,
/// for which the dialect has no op.
mlir::Value emitErfc(Emitter &emit, mlir::Value x);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_STABLEHLO_H
