// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks the steps of an entry whose inputs, outputs and arena are
/// valid: that their rows are complete, that what they read and write stays
/// inside its buffer on every trip of every loop, that nothing writes to
/// constants, and that loops nest.

#ifndef TPRT_CORE_STEPVERIFIER_H
#define TPRT_CORE_STEPVERIFIER_H

#include "runtime/Core/Artifact.h"

#include "absl/status/status.h"

namespace tprt {

absl::Status verifySteps(const Artifact &artifact, const EntryRow &entry);

} // namespace tprt

#endif // TPRT_CORE_STEPVERIFIER_H
