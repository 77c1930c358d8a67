// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An artifact's code on one GPU: the image that suits it, and its
/// kernels.

#ifndef TPRT_CUDA_GPUPROGRAM_H
#define TPRT_CUDA_GPUPROGRAM_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Artifact.h"

#include <vector>

namespace tprt {

/// Returns the images that a chip (for example, 90) can run, the best first.
/// Machine code comes before PTX. Both are sorted by the chip that they were
/// made for, the newest first. Machine code suits the chip that it was made for
/// and later minor versions. An image whose name has a suffix ("sm_90a") runs
/// on exactly that chip, and comes before an image for the same chip without a
/// suffix.
std::vector<uint32_t> rankImages(const Artifact &artifact, int chip);

/// Returns the error GpuStep, which names the step, if there is a step that a
/// GPU cannot execute: a scatter, a sort, a copy or fill of memory that is not
/// contiguous, or a matmul with an epilogue that cuBLASLt does not support.
/// When the compiler compiles for a GPU, it turns such steps into kernels.
absl::Status checkGpuSteps(const Artifact &artifact);

class GpuProgram {
public:
  static absl::StatusOr<std::shared_ptr<const GpuProgram>>
  load(std::shared_ptr<Device> device, const Artifact &artifact);
  ~GpuProgram();

  const Device &getDevice() const { return *device; }
  /// The hash of the loaded image; 0 if there is none.
  uint64_t getCodeHash() const { return codeHash; }

  /// Launches a kernel; `arguments` point to its parameters.
  absl::Status launch(uint32_t kernel, void **arguments,
                      cuda::Stream stream) const;

private:
  /// Loads the best image that the driver accepts, and returns its number.
  absl::StatusOr<uint32_t> loadImage();

  GpuProgram(std::shared_ptr<Device> device, const Artifact &artifact)
      : device(std::move(device)), artifact(artifact) {}

  const std::shared_ptr<Device> device;
  const Artifact &artifact;
  Owned<cuda::Module> module;
  uint64_t codeHash = 0;
  std::vector<cuda::Function> functions;
  absl::Span<const LaunchRow> launches; ///< One per kernel of the image.
};

} // namespace tprt

#endif // TPRT_CUDA_GPUPROGRAM_H
