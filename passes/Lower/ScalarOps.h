// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Element-wise ops applied to one element, in the arith and math
/// dialects.

#ifndef TPOPT_PASSES_LOWER_SCALAROPS_H
#define TPOPT_PASSES_LOWER_SCALAROPS_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// The type in which elements of a tensor are computed: at least f32 for
/// floats, and signless for integers.
mlir::Type getComputeType(mlir::Type element);

/// Convert an element from the type in which it is stored to its compute type,
/// and back.
mlir::Value widenScalar(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type element);
mlir::Value narrowScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// Convert 8-bit floats, whose compute type is f32. narrowFloat8 also converts
/// from f64.
bool isFloat8(mlir::Type type);
mlir::Value widenFloat8(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);
mlir::Value narrowFloat8(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// A number in the compute type of `element`.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         double value, mlir::Type element);
/// The constant `value`, of type `element`, in the compute type of `element`.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Attribute value, mlir::Type element);

/// Returns true if `op` is element-wise and has a scalar form.
bool isScalarOp(mlir::Operation *op);

/// Creates `op` on one element of each operand, all in compute types. Returns
/// null if there is no such op on these types.
mlir::Value createScalarOp(mlir::OpBuilder &builder, mlir::Operation *op,
                           mlir::ValueRange operands);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SCALAROPS_H
