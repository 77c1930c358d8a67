// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Describes an artifact for people.

#ifndef TPRUN_INFO_H
#define TPRUN_INFO_H

#include "absl/status/statusor.h"

#include <string>

namespace tprun {

/// Describes the artifact in a file: mesh, chips and versions, and for each
/// entry its inputs with types and shardings, its outputs, its steps and what a
/// device holds:
///
///     mlp.tpx: 42.4 KiB for cpu
///       format  7, written with MLIR 22.1.8
///       mesh    model=4, 4 devices
///
///     entry mlp
///       input   arg0  f32[8,512]     whole
///       input   arg1  f32[512,2048]  [{}, {"model"}]  f32[512,512] each
///
/// Inputs that differ only in a number in their names, such as those of equal
/// layers, share a line.
absl::StatusOr<std::string> describeArtifact(const std::string &path);

} // namespace tprun

#endif // TPRUN_INFO_H
