// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Builds the report of a module.
///
/// `tp-plan-collectives` must have run on the module, and `tp-localize` may
/// have run. If the module has not been planned, an error says what to run.
/// Times need a machine, or links on the mesh.
///
/// Ops whose location has a name that contains `layers.N` form a layer:
/// `model.layers.3.mlp.gate` is in layer `layers.3`.

#ifndef TPOPT_REPORT_BUILDREPORT_H
#define TPOPT_REPORT_BUILDREPORT_H

#include "lib/Cost/ProgramCost.h"
#include "lib/Report/Report.h"

namespace tp {

/// Builds the report of a module; emits errors.
mlir::FailureOr<Report>
buildReport(mlir::ModuleOp module, const std::optional<cost::Machine> &machine);

/// Advice on how to change the program so that `launch` is not needed, or sends
/// less; empty if nothing would help.
std::string getAdvice(const cost::CollectiveCost &launch, ShardingTable &table);

/// `file:line:col`, or empty if `loc` has none.
std::string getPlace(mlir::Location loc);

/// `layers.N`, or empty if `loc` names no layer. The string is valid as long as
/// the context.
llvm::StringRef getLayer(mlir::Location loc);

/// `f32[512,2048]`, with the sizes in `shape`.
std::string formatTensor(mlir::Type element, llvm::ArrayRef<int64_t> shape);

} // namespace tp

#endif // TPOPT_REPORT_BUILDREPORT_H
