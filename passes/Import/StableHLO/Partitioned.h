// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Programs that have been partitioned already by another compiler.
///
/// There, whole functions are written for one device: tensors have the size of
/// the device's part, and devices exchange the data that they need in groups,
///
///     module attributes {mhlo.num_partitions = 4 : i32} {
///       func.func @main(%x: tensor<2x8xf32> {mhlo.sharding =
///           "{devices=[4,1]<=[4]}"}) -> tensor<8x8xf32> {
///         %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
///             replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, ..}>
///         return %0 : tensor<8x8xf32>
///
/// Such a function becomes one manual region over all axes: it takes the whole
/// tensors that its arguments are parts of, here `tensor<8x8xf32>`, and returns
/// the whole results. So everything that works for a region works for it. The
/// shardings of arguments and results are read from
///
/// 1. the argument's or result's `sdy.sharding`, `xla.sdy.sharding` or
///    `mhlo.sharding`,
/// 2. the module's `mhlo.spmd_parameters_shardings` and
///    `mhlo.spmd_output_sharding`, where XLA leaves them,
///
/// and without any of these, every device has a copy. All parts have one size:
/// padding that a partitioner has put into them belongs to the whole tensor.
///
/// A program is taken to be partitioned if devices exchange data in it, or if
/// it has the module's attributes of 2., but has no region for one device.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H

#include "Shardings.h"

namespace tp::stablehlo {

/// Drops exchanges in which every device keeps what it has. Along an axis of
/// one device, JAX leaves out the region for one device, but not the exchanges
/// in it.
void dropIdleExchanges(mlir::ModuleOp module);

/// Returns true if functions are written for one device.
bool isPartitioned(mlir::ModuleOp module);

/// Returns the number of devices that a partitioned program is for: the number
/// that it gives, or else the number that its groups name.
int64_t countDevices(mlir::ModuleOp module);

/// Rewrites the entries of a partitioned program on whole tensors, with one
/// `sdy.manual_computation` in each.
mlir::LogicalResult importPartitioned(mlir::ModuleOp module,
                                      const ForeignShardings &shardings);

/// Drops the meshes that were only referred to by groups.
void dropOtherMeshes(mlir::ModuleOp module, const ForeignShardings &shardings);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
