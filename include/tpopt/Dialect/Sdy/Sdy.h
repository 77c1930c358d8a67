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
/// Operations stay unregistered, as in the other readers
/// (tpopt/Dialect/StableHLO/StableHLO.h). Shardy's notation is also that of the
/// `spmd` dialect, so its attributes become `spmd` attributes: a
/// `#sdy.sharding<..>` is a `#spmd.sharding<..>`, a `#sdy.mesh<..>` a
/// `#spmd.mesh<..>`, a `#sdy.sharding_per_value<[..]>` an array of shardings,
/// and `#sdy<manual_axes{..}>` an array of names.

#ifndef TPOPT_DIALECT_SDY_SDY_H
#define TPOPT_DIALECT_SDY_SDY_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/DialectRegistry.h"

namespace tp::sdy {

/// Registers the reader of `sdy`.
void registerReader(mlir::DialectRegistry &registry);

/// Returns the `spmd` or builtin attribute for the text of a Shardy attribute,
/// `#sdy.<text>`, as in the file comment. Returns null if the text has another
/// form. Older exports have such text in string attributes.
mlir::Attribute readAttribute(mlir::MLIRContext *context, llvm::StringRef text);

/// Converts `attribute` if it belongs to Shardy's own dialect, which a compiler
/// that embeds our passes may have loaded. Returns the attribute that the
/// reader of `sdy` would return for its text. All other attributes are returned
/// unchanged.
mlir::Attribute toBuiltin(mlir::Attribute attribute);

} // namespace tp::sdy

#endif // TPOPT_DIALECT_SDY_SDY_H
