// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The devices of regions that are written for one device, and their
/// positions.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H

#include "Conversion.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::stablehlo {

/// Devices of a mesh that exchange data: all that differ only in `axes`.
struct Group {
  spmd::MeshOp mesh;
  AxisList axes;

  int64_t getSize() const { return tp::getSize(axes); }
};

/// Returns the mesh of the region around the operation, if it is small enough
/// to list its devices.
mlir::FailureOr<spmd::MeshOp> getMesh(Conversion &c);

/// Returns the group of all devices of the mesh.
Group getEverybody(spmd::MeshOp mesh);

/// Returns true if the surrounding regions are manual along all of `axes`.
bool isManual(Conversion &c, llvm::ArrayRef<AxisRef> axes);

/// Looks up the device's position along the group's axes in `table`.
mlir::Value emitLookup(Conversion &c, const Group &group,
                       llvm::ArrayRef<int32_t> table);

/// Turns a `table` by position in the mesh into one by position along `axes`;
/// nullopt if it also depends on other axes.
std::optional<std::vector<int32_t>> condense(const Mesh &mesh,
                                             llvm::ArrayRef<AxisRef> axes,
                                             llvm::ArrayRef<int32_t> table);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
