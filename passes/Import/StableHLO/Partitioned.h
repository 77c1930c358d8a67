// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Programs that somebody else has partitioned already.
///
/// There, whole functions are written for one device: tensors have the sizes of
/// its part, and devices exchange what they need in groups,
///
///     module attributes {mhlo.num_partitions = 4 : i32} {
///       func.func @main(%x: tensor<2x8xf32> {mhlo.sharding =
///           "{devices=[4,1]<=[4]}"}) -> tensor<8x8xf32> {
///         %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
///             replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, ..}>
///         return %0 : tensor<8x8xf32>
///
/// Such a function is one manual region over all axes: of the whole tensors
/// that its arguments are parts of, here `tensor<8x8xf32>`, it makes the whole
/// results. So all that can be done with a region can be done with it. The
/// shardings of arguments and results are read from
///
/// 1. the argument's or result's `sdy.sharding`, `xla.sdy.sharding` or
///    `mhlo.sharding`,
/// 2. the module's `mhlo.spmd_parameters_shardings` and
///    `mhlo.spmd_output_sharding`, where XLA leaves them,
///
/// and where nothing is said, every device has a copy. Parts are of one size:
/// padding that a partitioner has put into them belongs to the whole tensor.
///
/// A program is taken to be partitioned if devices exchange something in it, or
/// if it has the module's attributes of 2., but has no region for one device.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H

#include "Shardings.h"

namespace tp::stablehlo {

/// Drops exchanges in which every device keeps what it has. Along an axis of
/// one device JAX leaves out the region for it, and not what is exchanged
/// there.
void dropIdleExchanges(mlir::ModuleOp module);

/// Whether functions are written for one device.
bool isPartitioned(mlir::ModuleOp module);

/// How many devices a partitioned program is for: as many as it says, or as its
/// groups name.
int64_t countDevices(mlir::ModuleOp module);

/// Writes the entries of a partitioned program on whole tensors, around one
/// `sdy.manual_computation` each.
mlir::LogicalResult importPartitioned(mlir::ModuleOp module,
                                      const ForeignShardings &shardings);

/// Drops the meshes that were only there for groups to name.
void dropOtherMeshes(mlir::ModuleOp module, const ForeignShardings &shardings);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
