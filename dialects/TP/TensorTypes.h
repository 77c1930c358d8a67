// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks of the tensor types of a function, on which passes rely.
///
/// MLIR verifies a type without its module and its uses. So before passes run,
/// nothing has compared a `#spmd.local` encoding with its mesh, or checked the
/// tensors of other dialects' ops.

#ifndef TPOPT_DIALECTS_TP_TENSORTYPES_H
#define TPOPT_DIALECTS_TP_TENSORTYPES_H

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tp {

/// The encoding of a local type; null for any other type.
spmd::LocalAttr getLocal(mlir::Type type);

/// The distinct tensor types of a function, each with the first op that uses
/// it.
using TensorTypes =
    llvm::SmallMapVector<mlir::RankedTensorType, mlir::Operation *, 16>;
TensorTypes collectTensorTypes(mlir::FunctionOpInterface function);

/// Checks that passes support each type. Checks each local type against its
/// encoding, which names a whole tensor and a sharding: the type must be that
/// of a device's part on `mesh`. Emits an error at the op that has the type.
mlir::LogicalResult verifyTensorTypes(const TensorTypes &types,
                                      const Mesh &mesh);

/// Emits an error if a type is local: `function` must not have been partitioned
/// yet.
mlir::LogicalResult verifyNotLocal(mlir::FunctionOpInterface function);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_TENSORTYPES_H
