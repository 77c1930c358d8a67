// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The devices of regions written for one of them, and their places.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H

#include "Conversion.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::stablehlo {

/// The devices of a mesh that exchange something: all that differ in `axes`.
struct Group {
  spmd::MeshOp mesh;
  AxisList axes;

  int64_t getSize() const { return tp::getSize(axes); }
};

/// The mesh of the region around the operation, if devices can be listed.
mlir::FailureOr<spmd::MeshOp> getMesh(Conversion &c);

/// All devices of the mesh.
Group getEverybody(spmd::MeshOp mesh);

/// Whether the regions around speak for each place along `axes`.
bool isManual(Conversion &c, llvm::ArrayRef<AxisRef> axes);

/// What `table` has for each place along `axes`.
mlir::Value emitLookup(Conversion &c, const Group &group,
                       llvm::ArrayRef<int32_t> table);

/// `table`, by place in the mesh, by place along `axes`; none if it differs
/// along others.
std::optional<std::vector<int32_t>> condense(const Mesh &mesh,
                                             llvm::ArrayRef<AxisRef> axes,
                                             llvm::ArrayRef<int32_t> table);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_EXCHANGES_H
