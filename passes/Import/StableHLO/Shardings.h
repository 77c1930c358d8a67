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
/// Where several stand together, the one further down counts: it says more.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H

#include "GSPMD.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

class ForeignShardings {
public:
  /// Writes the module's meshes as `spmd.mesh`.
  mlir::LogicalResult importMeshes(mlir::ModuleOp module);

  /// The shardings that `attributes` of something at `op` say for values of
  /// `types`; null where they say nothing.
  mlir::FailureOr<llvm::SmallVector<spmd::ShardingAttr>>
  read(mlir::Operation *op, mlir::DictionaryAttr attributes,
       mlir::TypeRange types) const;
  /// The names of the axes that are manual behind `op`: all if it says
  /// {manual}, else those of tiles that are.
  mlir::FailureOr<mlir::ArrayAttr> readManualAxes(mlir::Operation *op) const;
  /// A sharding that `op` has for a value of `type`: one on a mesh without axes
  /// as one on the module's mesh. What is for one device alone all get, with a
  /// warning.
  spmd::ShardingAttr onMesh(mlir::Operation *op, spmd::ShardingAttr sharding,
                            mlir::Type type) const;
  /// The module's mesh; null if it has none.
  spmd::MeshOp getMesh() const { return mesh; }

private:
  mlir::LogicalResult importStringMeshes(mlir::ModuleOp module);
  mlir::LogicalResult importTileMesh(mlir::ModuleOp module);
  /// The mesh's axes for a dimension of tiles; emits at `op` what is wrong.
  mlir::FailureOr<AxisList> readAxes(mlir::Operation *op,
                                     const TileSharding &sharding,
                                     unsigned dim) const;
  mlir::FailureOr<spmd::ShardingAttr>
  toAttr(mlir::Operation *op, const TileSharding &sharding, int64_t rank,
         llvm::ArrayRef<int64_t> openDims) const;

  spmd::MeshOp mesh;
  llvm::SmallVector<mlir::StringAttr> emptyMeshes;
};

/// The target of a custom call; empty for anything else, and for no operation.
llvm::StringRef getCallTarget(mlir::Operation *op);
/// The attribute `name` of an operation's frontend attributes.
mlir::Attribute getFrontendAttribute(mlir::DictionaryAttr attributes,
                                     llvm::StringRef name);
/// What a string with text of a Shardy attribute says; null if nothing.
mlir::Attribute readShardyString(mlir::Attribute string);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_SHARDINGS_H
