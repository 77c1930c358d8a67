// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Groups and positions of devices, for regions that are written for one
/// device.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H

#include "Conversion.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::stablehlo {

/// Devices of a mesh that exchange data: all devices whose positions differ
/// only along `axes`.
struct Group {
  spmd::MeshOp mesh;
  AxisList axes;

  int64_t getSize() const { return tp::getSize(axes); }
};

/// Returns the mesh of the region around the operation, if the mesh is small
/// enough to list its devices.
mlir::FailureOr<spmd::MeshOp> getMesh(Conversion &c);

/// Returns the group of all devices of the mesh.
Group getEverybody(spmd::MeshOp mesh);

/// Returns true if the surrounding regions are manual along all of `axes`.
bool isManual(Conversion &c, llvm::ArrayRef<AxisRef> axes);

/// Looks up the device's position along the group's axes in `table`.
mlir::Value emitLookup(Conversion &c, const Group &group,
                       llvm::ArrayRef<int32_t> table);

/// Turns a `table` indexed by position in the mesh into a table indexed by
/// position along `axes`; nullopt if its entries also depend on other axes.
std::optional<std::vector<int32_t>> condense(const Mesh &mesh,
                                             llvm::ArrayRef<AxisRef> axes,
                                             llvm::ArrayRef<int32_t> table);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
