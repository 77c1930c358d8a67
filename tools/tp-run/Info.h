// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What an artifact is, for people.

#ifndef TPRUN_INFO_H
#define TPRUN_INFO_H

#include "absl/status/statusor.h"

#include <string>

namespace tprun {

/// Mesh, chips and versions of the artifact in a file, and of each entry its
/// inputs with types and shardings, its outputs, its steps and what a device
/// holds:
///
///     mlp.tpx: 42.4 KiB for cpu
///       format  6, written with MLIR 22.1.8
///       mesh    model=4, 4 devices
///
///     entry mlp
///       input   arg0  f32[8,512]     whole
///       input   arg1  f32[512,2048]  [{}, {"model"}]  f32[512,512] each
///
/// Inputs that differ in a number of their names alone, such as those of equal
/// layers, are one line.
absl::StatusOr<std::string> describeArtifact(const std::string &path);

} // namespace tprun

#endif // TPRUN_INFO_H
