// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Meshes and shardings of a foreign module, in any encoding.
///
/// | written | by |
/// | --- | --- |
/// | `mhlo.sharding = "{devices=[4,1]<=[4]}"` | GSPMD, see GSPMD.h |
/// | `xla.sdy.sharding = "#sdy.sharding<..>"` in `mhlo.frontend_attributes` | Shardy, as strings |
/// | `sdy.sharding = #sdy.sharding<..>` | Shardy |
///
/// If a value has several of these, the one further down in this table is used,
/// because it contains more information.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H

#include "GSPMD.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

class ForeignShardings {
public:
  /// Rewrites the module's meshes as `spmd.mesh`.
  mlir::LogicalResult importMeshes(mlir::ModuleOp module);

  /// Returns the shardings that `attributes`, found at `op`, give to values of
  /// `types`; null for values without a sharding.
  mlir::FailureOr<llvm::SmallVector<spmd::ShardingAttr>>
  read(mlir::Operation *op, mlir::DictionaryAttr attributes,
       mlir::TypeRange types) const;
  /// Returns the names of the axes that are manual after `op`: all axes if its
  /// sharding is {manual}, otherwise the axes of its manual tiles.
  mlir::FailureOr<mlir::ArrayAttr> readManualAxes(mlir::Operation *op) const;
  /// Returns `sharding`, which `op` gives to a value of `type`. But if the mesh
  /// of `sharding` has no axes, returns the same sharding on the module's mesh;
  /// null if the module has no mesh. A value that should be on a single device
  /// is replicated, with a warning.
  spmd::ShardingAttr onMesh(mlir::Operation *op, spmd::ShardingAttr sharding,
                            mlir::Type type) const;
  /// The module's mesh; null if it has none.
  spmd::MeshOp getMesh() const { return mesh; }

private:
  mlir::LogicalResult importStringMeshes(mlir::ModuleOp module);
  mlir::LogicalResult importTileMesh(mlir::ModuleOp module);
  /// Returns the mesh's axes for a dimension of tiles; emits errors at `op`.
  mlir::FailureOr<AxisList> readAxes(mlir::Operation *op,
                                     const TileSharding &sharding,
                                     unsigned dim) const;
  mlir::FailureOr<spmd::ShardingAttr>
  toAttr(mlir::Operation *op, const TileSharding &sharding, int64_t rank,
         llvm::ArrayRef<int64_t> openDims) const;

  spmd::MeshOp mesh;
  llvm::SmallVector<mlir::StringAttr> emptyMeshes;
};

/// Returns the target of a custom call; empty for other operations and for
/// null.
llvm::StringRef getCallTarget(mlir::Operation *op);
/// Returns the attribute `name` of an operation's frontend attributes.
mlir::Attribute getFrontendAttribute(mlir::DictionaryAttr attributes,
                                     llvm::StringRef name);
/// Parses a string that contains a Shardy attribute; null if it does not.
mlir::Attribute readShardyString(mlir::Attribute string);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H
