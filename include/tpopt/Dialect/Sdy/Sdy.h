// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reading the text of Shardy's dialect without Shardy.
///
/// JAX writes shardings in the dialect `sdy`
/// (https://openxla.org/shardy/sharding_representation):
///
///     sdy.mesh @mesh = <["data"=2, "model"=4]>
///     %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}]> : tensor<8xf32>
///
/// Operations stay unregistered, as those of the other readers
/// (tpopt/Dialect/StableHLO/StableHLO.h). Their notation is that of the `spmd`
/// dialect, so that attributes become attributes of that one: a
/// `#sdy.sharding<..>` is a `#spmd.sharding<..>`, a `#sdy.mesh<..>` a
/// `#spmd.mesh<..>`, a `#sdy.sharding_per_value<[..]>` an array of shardings,
/// and `#sdy<manual_axes{..}>` an array of names.

#ifndef TPOPT_DIALECT_SDY_SDY_H
#define TPOPT_DIALECT_SDY_SDY_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/DialectRegistry.h"

namespace tp::sdy {

/// Makes a context read `sdy`.
void registerReader(mlir::DialectRegistry &registry);

/// What `#sdy.<text>` says, as above; null if it has another form. Shardings of
/// older exports are such text in strings.
mlir::Attribute readAttribute(mlir::MLIRContext *context, llvm::StringRef text);

/// `attribute` as the reader would have read it, if it comes from a compiler
/// that has the real dialect; else as it is.
mlir::Attribute toBuiltin(mlir::Attribute attribute);

} // namespace tp::sdy

#endif // TPOPT_DIALECT_SDY_SDY_H
