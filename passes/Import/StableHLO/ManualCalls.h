// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Builds manual regions from the calls by which older exporters marked
/// code that is written for one device (JAX's shard_map).
///
/// Before Shardy had `sdy.manual_computation`, exporters put calls before and
/// after such code. GSPMD has one call for each value,
///
///     %1 = custom_call @Sharding(%0) {mhlo.sharding = "{devices=[4,1]<=[4]}"}
///     %2 = custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"}
///     ..                                           // what one device does
///     %8 = custom_call @Sharding(%7) {mhlo.sharding = "{manual}"}
///     %9 = custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{..}"}
///
/// and Shardy in strings makes the code a function, and has one call for all
/// values: @xla.sdy.GlobalToLocalShape before the call of this function, and
/// @xla.sdy.LocalToGlobalShape after it.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_MANUALCALLS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_MANUALCALLS_H

#include "Shardings.h"

namespace tp::stablehlo {

/// Replaces the calls around code for one device, and this code, by
/// `sdy.manual_computation`.
mlir::LogicalResult importManualCalls(mlir::ModuleOp module,
                                      const ForeignShardings &shardings);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_MANUALCALLS_H
