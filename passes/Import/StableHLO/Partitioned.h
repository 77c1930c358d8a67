// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Programs that have been partitioned already by another compiler.
///
/// In these programs, whole functions are written for one device: tensors have
/// the size of the device's part, and devices exchange the data that they need
/// in groups,
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
/// the whole results. So the function is handled like any other region. The
/// shardings of arguments and results are read from
///
/// 1. the argument's or result's `sdy.sharding`, `xla.sdy.sharding` or
///    `mhlo.sharding`,
/// 2. the module's `mhlo.spmd_parameters_shardings` and
///    `mhlo.spmd_output_sharding`, where XLA leaves them.
///
/// If none of these is present, every device has a copy. All parts have the
/// same size: padding that a partitioner has added to the parts belongs to the
/// whole tensor.
///
/// A program is considered partitioned if it has no region for one device, but
/// devices exchange data in it or it has the module attributes of 2.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H

#include "Shardings.h"

namespace tp::stablehlo {

/// Drops exchanges in which every device keeps its data. For an axis of size 1,
/// JAX omits the region for one device, but not the exchanges in it.
void dropIdleExchanges(mlir::ModuleOp module);

/// Returns true if the module's functions are written for one device.
bool isPartitioned(mlir::ModuleOp module);

/// Returns the number of devices that a partitioned program runs on: the number
/// in its attributes, or otherwise the number of devices in its groups and
/// meshes.
int64_t countDevices(mlir::ModuleOp module);

/// Makes the entries of a partitioned program take and return whole tensors.
/// The former body of an entry becomes one `sdy.manual_computation`.
mlir::LogicalResult importPartitioned(mlir::ModuleOp module,
                                      const ForeignShardings &shardings);

/// Drops the meshes that were only referred to by groups.
void dropOtherMeshes(mlir::ModuleOp module, const ForeignShardings &shardings);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_PARTITIONED_H
