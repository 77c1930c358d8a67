// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Values that depend only on the position of a device.
///
/// `spmd.axis_index` differs along its axes. A value computed from it may
/// differ along fewer axes: JAX writes the position along "x" as the number of
/// the device, divided and taken modulo. So integers that depend only on the
/// position are computed for every device.

#ifndef TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H
#define TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H

#include "lib/Interpreter/Distribution.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace tp {

class PerDeviceValues {
public:
  /// Computes all known values of `function`. On meshes of many devices no
  /// value is known.
  PerDeviceValues(mlir::func::FuncOp function, const Mesh &mesh);

  /// Returns true if `value` depends only on the device's position.
  bool isKnown(mlir::Value value) const { return known.count(value); }
  /// Returns true if `value` is known, and is the same on devices that differ
  /// only along `axes`.
  bool isSameAlong(mlir::Value value, llvm::ArrayRef<AxisRef> axes) const;

private:
  void visit(mlir::Operation *op);

  const Mesh &mesh;
  interp::DoubleEvaluator evaluator;
  /// One value for each device, or a single value for all devices.
  llvm::DenseMap<mlir::Value, interp::DeviceValues> known;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_PERDEVICEVALUES_H
