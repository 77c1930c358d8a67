// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which memory a step reads and writes: the one place that knows it for
/// each kind of step. The verifier asks whether it stays inside its buffers,
/// and whether it leaves alone what a collective under way needs (InFlight.h).

#ifndef TPRT_CORE_STEPACCESSES_H
#define TPRT_CORE_STEPACCESSES_H

#include "runtime/Core/Artifact.h"

#include "absl/container/inlined_vector.h"

namespace tprt {

enum class AccessKind { Read, Write };

/// The elements at sum i*strides of a buffer, for all indices i below `sizes`;
/// strides in elements. A write may read as well.
struct StepAccess {
  using Numbers = absl::InlinedVector<int64_t, kMaxDims>;

  BufferRow buffer;
  AccessKind kind;
  DType dtype;
  Numbers sizes;
  Numbers strides;
};

using StepAccesses = absl::InlinedVector<StepAccess, 4>;

/// Of a step whose row there is, with the rows that it refers to but for
/// buffers. A control step reads its predicate; what it governs are steps of
/// their own. Both halves of a collective have the same.
StepAccesses getAccesses(const Artifact &artifact, const StepRow &step);

} // namespace tprt

#endif // TPRT_CORE_STEPACCESSES_H
