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

/// The names of the sharding attributes of functions and of ops.
inline constexpr llvm::StringLiteral
    kShardingAttr = SPMDDialect::ShardingAttrHelper::getNameStr(),
    kShardingsAttr = SPMDDialect::ShardingsAttrHelper::getNameStr();

/// Finds the mesh that a sharding names, searching outwards from `from`. Null
/// if there is none.
MeshOp lookupMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr name);

/// Checks that `sharding` fits a tensor of type `type` at `op`. If not, the
/// message of `emitError` says what does not fit.
mlir::LogicalResult
verifySharding(mlir::Operation *op, ShardingAttr sharding, mlir::Type type,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Like verifySharding above, for a tensor of rank `rank` whose type is not
/// known.
mlir::LogicalResult
verifySharding(mlir::Operation *op, ShardingAttr sharding, unsigned rank,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The sharding attribute of `value`. The attribute is on the op that defines
/// the value, or on the function argument. For an argument of the body of a
/// loop or manual region, it is on the loop or the region op. Null if the value
/// has no sharding.
ShardingAttr getSharding(mlir::Value value);

/// Sets the sharding of `value`, in the attribute that getSharding() reads.
void setSharding(mlir::Value value, ShardingAttr sharding);

/// Sets the shardings of a function's arguments and results. Null entries, and
/// values beyond the end of a list, keep their shardings. Sets all at once,
/// because a signature's attributes are a single list: setting them one by one
/// is quadratic.
void setSignature(mlir::FunctionOpInterface function,
                  llvm::ArrayRef<ShardingAttr> arguments,
                  llvm::ArrayRef<ShardingAttr> results);

/// Checks that `mesh` exists and has each of `axes`, and that no axis is
/// repeated. If not, the message of `emitError` says what is wrong.
mlir::LogicalResult
verifyAxes(mlir::Operation *op, mlir::FlatSymbolRefAttr mesh,
           llvm::ArrayRef<AxisRefAttr> axes,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The axes of a list as axes of `mesh`. Unknown names are dropped, so verify
/// the list first.
AxisList resolveAxes(llvm::ArrayRef<AxisRefAttr> axes, const Mesh &mesh);
AxisListAttr toAttr(mlir::MLIRContext *context, const Mesh &mesh,
                    llvm::ArrayRef<AxisRef> axes);

/// The part of `global` that a device holds under `sharding`: the sizes of the
/// block, and an encoding that records the whole tensor.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                    ShardingAttr sharding, const Mesh &mesh);

/// The type of the tensor that a local type is a part of. A global type is
/// returned unchanged.
mlir::RankedTensorType getGlobalType(mlir::RankedTensorType type);

/// The type of the whole tensor that belongs to operand number `part` of a
/// collective. The operand is one device's part of this tensor. In
/// `spmd.manual`, types have no encoding, so the type of the whole tensor
/// follows from the operand's type and the `in` sharding.
mlir::RankedTensorType getGlobalType(CollectiveOpInterface op,
                                     unsigned part = 0);

/// The mesh that the shardings of a manual region name.
mlir::FlatSymbolRefAttr getMeshName(ManualOp op);
/// The axes of the region's mesh that are not manual in the region. Along these
/// axes, the body is partitioned like code outside of manual regions.
AxisList getFreeAxes(ManualOp op, const Mesh &mesh);
/// The part of `sharding` along the free axes. Inside the region, this is the
/// sharding of the value, whose type is already split along the manual axes.
ShardingAttr getFreePart(ManualOp op, ShardingAttr sharding);
/// Returns `sharding` with its free axes (see getFreeAxes) replaced by those of
/// `free`.
ShardingAttr withFreePart(ManualOp op, ShardingAttr sharding,
                          ShardingAttr free);
/// Whether `op` is in a manual region and communicates along the region's
/// manual axes. Collectives along the free axes were inserted by the compiler.
bool isAlongManualAxes(CollectiveOpInterface op);

/// Functions for collective ops, which are the steps of reshard plans.
/// getKind() returns the kind of part number `part` of an op. getStep() returns
/// the step that an op applies to that operand; the reference is valid until
/// the context is destroyed. createCollective() creates the op that applies
/// `step` to `input`, whose sharding is `from`. The op's result has the type of
/// `input` unless `type` is given.
CollectiveKind getKind(CollectiveOpInterface op, unsigned part = 0);
const ReshardStep &getStep(CollectiveOpInterface op, unsigned part = 0);
/// The axes of a step, in the order in which the collective numbers the devices
/// of a group.
AxisList getGroupAxes(const ReshardStep &step);
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value input, const Mesh &mesh,
                             const TensorSharding &from,
                             const ReshardStep &step, mlir::Type type = {});

} // namespace tp::spmd

#endif // TPOPT_DIALECT_SPMD_SPMD_H
