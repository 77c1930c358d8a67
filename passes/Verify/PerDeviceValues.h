// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What follows from the place of a device alone.
///
/// `spmd.axis_index` differs along its axes. What is computed from it may
/// differ along fewer: JAX writes the place along "x" as the number of the
/// device, divided and taken modulo. So such integers are computed, once per
/// device.

#ifndef TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H
#define TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H

#include "lib/Interpreter/Distribution.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace tp {

class PerDeviceValues {
public:
  /// Computes all that is known in `function`. On meshes of many devices
  /// nothing is.
  PerDeviceValues(mlir::func::FuncOp function, const Mesh &mesh);

  /// Whether `value` follows from the place alone.
  bool isKnown(mlir::Value value) const { return known.count(value); }
  /// Whether devices that differ in `axes` alone have the same known `value`.
  bool isSameAlong(mlir::Value value, llvm::ArrayRef<AxisRef> axes) const;

private:
  void visit(mlir::Operation *op);

  const Mesh &mesh;
  interp::DoubleEvaluator evaluator;
  /// One value for each device, or a single one for all.
  llvm::DenseMap<mlir::Value, interp::DeviceValues> known;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H
