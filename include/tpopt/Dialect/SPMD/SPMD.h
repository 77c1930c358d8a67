// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The `spmd` dialect: meshes, shardings, collectives.

#ifndef TPOPT_DIALECT_SPMD_SPMD_H
#define TPOPT_DIALECT_SPMD_SPMD_H

#include "tpopt/Dialect/SPMD/RegionFlow.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"
#include "tpopt/Sharding/Reshard.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <variant>

#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/SPMD/SPMDAttrs.h.inc"

#include "tpopt/Dialect/SPMD/SPMDDialect.h.inc"
#include "tpopt/Dialect/SPMD/SPMDInterfaces.h.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/SPMD/SPMDOps.h.inc"

namespace tp::spmd {

/// Where shardings stand on functions and on ops.
inline constexpr llvm::StringLiteral
    kShardingAttr = SPMDDialect::ShardingAttrHelper::getNameStr(),
    kShardingsAttr = SPMDDialect::ShardingsAttrHelper::getNameStr();

/// Finds the mesh a sharding names, starting at `from`. Null if there is none.
MeshOp lookupMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr name);

/// Checks that `sharding` fits a tensor of type `type` seen from `op`, and says
/// at `emitError` what does not.
mlir::LogicalResult
verifySharding(mlir::Operation *op, ShardingAttr sharding, mlir::Type type,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The same for a tensor of `rank` whose type is not at hand.
mlir::LogicalResult
verifySharding(mlir::Operation *op, ShardingAttr sharding, unsigned rank,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The sharding attribute of a value, wherever it stands: on the op, on the
/// function argument, or on the loop or manual region for an argument of its
/// body. Null if the value has none.
ShardingAttr getSharding(mlir::Value value);

/// Sets the sharding of a value where getSharding() finds it.
void setSharding(mlir::Value value, ShardingAttr sharding);

/// Sets the shardings of a function's arguments and results; null entries, and
/// those behind the end of a list, stay as they are. All at once, because a
/// signature's attributes are one list: one by one is quadratic.
void setSignature(mlir::FunctionOpInterface function,
                  llvm::ArrayRef<ShardingAttr> arguments,
                  llvm::ArrayRef<ShardingAttr> results);

/// Checks that `mesh` exists and has each of `axes`, once, and says at
/// `emitError` what is wrong.
mlir::LogicalResult
verifyAxes(mlir::Operation *op, mlir::FlatSymbolRefAttr mesh,
           llvm::ArrayRef<AxisRefAttr> axes,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The axes of a list in terms of `mesh`; unknown names are left out, so verify
/// first.
AxisList resolveAxes(llvm::ArrayRef<AxisRefAttr> axes, const Mesh &mesh);
AxisListAttr toAttr(mlir::MLIRContext *context, const Mesh &mesh,
                    llvm::ArrayRef<AxisRef> axes);

/// What a device holds of `global` in `sharding`: the block's sizes and the
/// encoding that says of what it is a block.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                    ShardingAttr sharding, const Mesh &mesh);

/// The tensor that a local type is a part of; a global type is its own.
mlir::RankedTensorType getGlobalType(mlir::RankedTensorType type);

/// The global tensor of which a collective moves part `part`. In `spmd.manual`
/// types are cut without saying so, and `in` tells by how much.
mlir::RankedTensorType getGlobalType(CollectiveOpInterface op,
                                     unsigned part = 0);

/// The mesh that the shardings of a manual region name.
mlir::FlatSymbolRefAttr getMeshName(ManualOp op);
/// The axes of its mesh that have no manual part: along these the body is
/// partitioned as any other code.
AxisList getFreeAxes(ManualOp op, const Mesh &mesh);
/// What the free axes make of `sharding`: how the value lies inside, where the
/// manual axes have cut it.
ShardingAttr getFreePart(ManualOp op, ShardingAttr sharding);
/// `sharding` with `free` in place of that part.
ShardingAttr withFreePart(ManualOp op, ShardingAttr sharding,
                          ShardingAttr free);
/// Whether `op` stands in a manual region and sends along its axes. Along the
/// free ones it is one of the compiler's.
bool isAlongManualAxes(CollectiveOpInterface op);

/// Collectives are steps of reshard plans, as ops: which kind, the step of a
/// part (it lives as long as the context), and the op for a step that follows
/// `from`, which gives the input's type if `type` does not say otherwise.
CollectiveKind getKind(CollectiveOpInterface op);
const ReshardStep &getStep(CollectiveOpInterface op, unsigned part = 0);
/// The axes of a step in the order in which its launch numbers devices.
AxisList getGroupAxes(const ReshardStep &step);
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value input, const Mesh &mesh,
                             const TensorSharding &from,
                             const ReshardStep &step, mlir::Type type = {});

} // namespace tp::spmd

#endif // TPOPT_DIALECT_SPMD_SPMD_H
