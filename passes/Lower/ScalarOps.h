// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Element-wise ops on one element, in arith and math.

#ifndef TPOPT_PASSES_LOWER_SCALAROPS_H
#define TPOPT_PASSES_LOWER_SCALAROPS_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// The type that elements of a tensor are computed in: at least f32, and
/// integers without a sign.
mlir::Type getComputeType(mlir::Type element);

/// An element as loaded, in its compute type; and back, as it is stored.
mlir::Value widenScalar(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type element);
mlir::Value narrowScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// The same of the 8-bit floats, in f32; an f64 can be narrowed, too.
bool isFloat8(mlir::Type type);
mlir::Value widenFloat8(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);
mlir::Value narrowFloat8(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// A number in the compute type of `element`.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         double value, mlir::Type element);
/// An attribute of `element` in its compute type.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Attribute value, mlir::Type element);

/// Whether `op` is element-wise and has a scalar form.
bool isScalarOp(mlir::Operation *op);

/// `op` on one element of each operand, all in compute types. Null if there is
/// no such op on these types.
mlir::Value createScalarOp(mlir::OpBuilder &builder, mlir::Operation *op,
                           mlir::ValueRange operands);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_SCALAROPS_H
