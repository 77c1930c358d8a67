// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Determines which memory a step reads and writes, for each kind of
/// step. This is the only place that knows it. The verifier checks that these
/// accesses stay inside their buffers, and that they do not touch the memory of
/// collectives under way (InFlight.h).

#ifndef TPRT_CORE_STEPACCESSES_H
#define TPRT_CORE_STEPACCESSES_H

#include "runtime/Core/Artifact.h"

#include "absl/container/inlined_vector.h"

namespace tprt {

enum class AccessKind { Read, Write };

/// The elements at sum i*strides of a buffer, for all indices i below `sizes`;
/// strides are in elements. An access of kind Write may read the elements, too.
struct StepAccess {
  using Numbers = absl::InlinedVector<int64_t, kMaxDims>;

  BufferRow buffer;
  AccessKind kind;
  DType dtype;
  Numbers sizes;
  Numbers strides;
};

using StepAccesses = absl::InlinedVector<StepAccess, 4>;

/// Returns the accesses of a step. The step's row, and the rows to which it
/// refers, must be valid; buffers need not be. A control step reads its
/// predicate; the steps it governs are separate. Both halves of a collective
/// have the same accesses.
StepAccesses getAccesses(const Artifact &artifact, const StepRow &step);

} // namespace tprt

#endif // TPRT_CORE_STEPACCESSES_H
