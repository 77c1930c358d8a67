// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An artifact's code on one GPU: the image that fits, and its kernels.

#ifndef TPRT_CUDA_GPUPROGRAM_H
#define TPRT_CUDA_GPUPROGRAM_H

#include "runtime/CUDA/Device.h"
#include "runtime/Core/Artifact.h"

#include <vector>

namespace tprt {

/// The images that a chip (90) runs, the best first: machine code for it, then
/// for an earlier minor version, then PTX, the newest first. A name with a
/// suffix
/// ("sm_90a") is code for that one chip, and comes before the others of its
/// kind.
std::vector<uint32_t> rankImages(const Artifact &artifact, int chip);

/// GpuStep unless every step is one that a GPU executes: no scatter, no sort,
/// copies and fills of contiguous memory, epilogues that cuBLASLt has. The
/// compiler makes kernels of all else; this names what it did not.
absl::Status checkGpuSteps(const Artifact &artifact);

class GpuProgram {
public:
  static absl::StatusOr<std::shared_ptr<const GpuProgram>>
  load(std::shared_ptr<Device> device, const Artifact &artifact);
  ~GpuProgram();

  const Device &getDevice() const { return *device; }
  /// Of the image that was loaded; 0 without one.
  uint64_t getCodeHash() const { return codeHash; }

  /// Launches a kernel; `arguments` point to its parameters.
  absl::Status launch(uint32_t kernel, void **arguments,
                      cuda::Stream stream) const;

private:
  /// Loads the best image that the driver takes; gives its number.
  absl::StatusOr<uint32_t> loadImage();

  GpuProgram(std::shared_ptr<Device> device, const Artifact &artifact)
      : device(std::move(device)), artifact(artifact) {}

  const std::shared_ptr<Device> device;
  const Artifact &artifact;
  Owned<cuda::Module> module;
  uint64_t codeHash = 0;
  std::vector<cuda::Function> functions;
  absl::Span<const LaunchRow> launches; ///< Of the image, one per kernel.
};

} // namespace tprt

#endif // TPRT_CUDA_GPUPROGRAM_H
