// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How the GPUs of a program's ranks exchange data: NCCL between GPUs
/// (NcclLinks), copies and kernels between ranks that share one (VirtualLinks).
///
/// Collectives are put on a stream of their own, in the order of the step table
/// on every rank. The executor says before, by events, that their sources are
/// ready, and after, that what uses their results waits.

#ifndef TPRT_CUDA_LINKS_H
#define TPRT_CUDA_LINKS_H

#include "runtime/CUDA/GpuProgram.h"
#include "runtime/Communicators/Communicator.h"

namespace tprt {

class Links {
public:
  virtual ~Links() = default;

  /// Memory for the arena that the links reach best, which lives as long as
  /// they do; 0 if any will do.
  virtual absl::StatusOr<cuda::Pointer> allocateArena(uint64_t bytes) {
    return cuda::Pointer(0);
  }

  /// Whether what `start` does may become part of a graph.
  virtual bool canCapture() const = 0;

  struct Call {
    uint32_t index; ///< Of the collective's row.
    CollectiveCall call;
  };
  /// Puts collectives on the stream, all at once.
  virtual absl::Status start(absl::Span<const Call> calls,
                             cuda::Stream stream) = 0;

  /// An error that the links have met since. Cheap.
  virtual absl::Status check() = 0;
  /// Ends what is under way on this rank, and the graphs that hold some of it.
  /// Waits for some seconds at most. The links are of no use any more.
  virtual void abort(std::vector<Owned<cuda::GraphExec>> graphs) = 0;
};

/// Of `world`, with NCCL. No wait takes longer than the timeout.
absl::StatusOr<std::unique_ptr<Links>> connectNccl(const Device &device,
                                                   const Artifact &artifact,
                                                   World &world,
                                                   absl::Duration timeout);

/// Between threads whose ranks are on one GPU. The program has the kernels that
/// reduce.
absl::StatusOr<std::unique_ptr<Links>> connectVirtual(const GpuProgram &program,
                                                      const Artifact &artifact,
                                                      World &world);

/// How NCCL is told of a reduction: GpuStep for types it does not have. A bool
/// is a byte that is 0 or 1, whose sum is the maximum.
struct NcclReduction {
  int type;
  int operation;
};
absl::StatusOr<NcclReduction> getNcclReduction(DType dtype,
                                               Reduction reduction);

} // namespace tprt

#endif // TPRT_CUDA_LINKS_H
