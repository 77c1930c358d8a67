// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How the GPUs of a program's ranks exchange data: NCCL between GPUs
/// (NcclLinks), copies and kernels between ranks that share one (VirtualLinks).
///
/// Collectives are put on a stream of their own, on every rank in the order of
/// the step table. The executor records events so that a collective waits until
/// its sources are ready, and so that steps that use its result wait for it.

#ifndef TPRT_CUDA_LINKS_H
#define TPRT_CUDA_LINKS_H

#include "runtime/CUDA/GpuProgram.h"
#include "runtime/Communicators/Communicator.h"

namespace tprt {

class Links {
public:
  virtual ~Links() = default;

  /// Returns memory for the arena that the links access fastest, valid as long
  /// as the links; 0 if any memory is equally good.
  virtual absl::StatusOr<cuda::Pointer> allocateArena(uint64_t bytes) {
    return cuda::Pointer(0);
  }

  /// Returns true if the work that `start` issues may become part of a graph.
  virtual bool canCapture() const = 0;

  struct Call {
    uint32_t index; ///< The collective's row.
    CollectiveCall call;
  };
  /// Puts collectives on the stream, as one launch.
  virtual absl::Status start(absl::Span<const Call> calls,
                             cuda::Stream stream) = 0;

  /// Returns an error if the links have failed in the meantime. Cheap.
  virtual absl::Status check() = 0;
  /// Stops all collectives that are under way on this rank, and destroys
  /// `graphs`, which contain collectives. Waits at most a few seconds. The
  /// links cannot be used afterwards.
  virtual void abort(std::vector<Owned<cuda::GraphExec>> graphs) = 0;
};

/// Connects the ranks of `world` through NCCL. No wait takes longer than the
/// timeout.
absl::StatusOr<std::unique_ptr<Links>> connectNccl(const Device &device,
                                                   const Artifact &artifact,
                                                   World &world,
                                                   absl::Duration timeout);

/// Connects threads whose ranks share one GPU. `program` contains the kernels
/// that reduce.
absl::StatusOr<std::unique_ptr<Links>> connectVirtual(const GpuProgram &program,
                                                      const Artifact &artifact,
                                                      World &world);

/// The data type and the operation that NCCL uses for a reduction. A bool is a
/// byte that is 0 or 1, and its sum is the maximum. For a type that NCCL does
/// not support, `getNcclReduction` returns the error GpuStep.
struct NcclReduction {
  int type;
  int operation;
};
absl::StatusOr<NcclReduction> getNcclReduction(DType dtype,
                                               Reduction reduction);

} // namespace tprt

#endif // TPRT_CUDA_LINKS_H
