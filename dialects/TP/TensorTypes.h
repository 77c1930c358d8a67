// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The tensor types of a function, checked as passes need them.
///
/// MLIR verifies a type without its module and its use, so nothing has compared
/// a `#spmd.local` encoding with its mesh, or looked at the tensors of other
/// dialects' ops, before a pass does.

#ifndef TPOPT_DIALECTS_TP_TENSORTYPES_H
#define TPOPT_DIALECTS_TP_TENSORTYPES_H

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tp {

/// The encoding of a local type; null for any other type.
spmd::LocalAttr getLocal(mlir::Type type);

/// The distinct tensor types of a function, each with the first op that has it.
using TensorTypes =
    llvm::SmallMapVector<mlir::RankedTensorType, mlir::Operation *, 16>;
TensorTypes collectTensorTypes(mlir::FunctionOpInterface function);

/// Checks that passes can compute with each type, and that a local type is what
/// its encoding makes of the whole tensor on `mesh`. Emits an error at the op
/// that has the type.
mlir::LogicalResult verifyTensorTypes(const TensorTypes &types,
                                      const Mesh &mesh);

/// Checks that no type is local, since `function` is to be cut. Emits an error.
mlir::LogicalResult verifyNotLocal(mlir::FunctionOpInterface function);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_TENSORTYPES_H
