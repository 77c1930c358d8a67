// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The storage of a rank in the memory of its GPU.

#ifndef TPRT_CUDA_DEVICEMEMORY_H
#define TPRT_CUDA_DEVICEMEMORY_H

#include "runtime/CUDA/BufferPlaces.h"
#include "runtime/CUDA/Device.h"
#include "runtime/Core/Bundles.h"

#include <vector>

namespace tprt {

/// Inputs, outputs, the arena of all entries and the constants. What goes in
/// and out passes through pinned memory, of two pieces: one is copied while the
/// other is filled.
class DeviceMemory final : public BufferPlaces {
public:
  /// The arena is given where the links have memory of their own for it, else
  /// it is 0.
  static absl::StatusOr<DeviceMemory> create(const Device &device,
                                             const Artifact &artifact,
                                             int64_t rank, cuda::Pointer arena);

  absl::Status write(uint32_t input,
                     absl::FunctionRef<absl::Status(char *block)> fill);
  /// The same, by work of the GPU: `make` writes the rank's block, which is
  /// zero before, and waits until it has.
  absl::Status make(uint32_t input,
                    absl::FunctionRef<absl::Status(cuda::Pointer block)> make);
  absl::Status clear(uint32_t input);
  absl::Status read(uint32_t output,
                    absl::FunctionRef<absl::Status(const char *block)> use);
  absl::Status
  readInput(uint32_t input,
            absl::FunctionRef<absl::Status(const char *block)> use);

  cuda::Pointer resolve(const BufferRow &buffer,
                        absl::Span<const int64_t> counters) const override;

private:
  DeviceMemory(const Device &device, const Artifact &artifact, int64_t rank)
      : device(&device), artifact(&artifact), rank(rank) {}
  absl::Status upload(const char *from, cuda::Pointer to, uint64_t bytes);
  absl::Status show(cuda::Pointer from, uint64_t bytes,
                    absl::FunctionRef<absl::Status(const char *block)> use);
  absl::Status download(cuda::Pointer from, char *to, uint64_t bytes);
  /// Copies the block of an input that is in a bundle there, or back.
  absl::Status copyRows(const BundlePlace &place, cuda::Pointer block,
                        bool isBack);

  const Device *device;
  const Artifact *artifact;
  int64_t rank;
  std::vector<BundlePlace> places;          ///< Of inputs.
  std::vector<Owned<cuda::Pointer>> inputs; ///< None of those in bundles.
  std::vector<Owned<cuda::Pointer>> bundles;
  std::vector<Owned<cuda::Pointer>> own; ///< Of outputs without an alias.
  std::vector<cuda::Pointer> outputs;
  Owned<cuda::Pointer> ownArena, constants;
  cuda::Pointer arena = 0;
  Owned<cuda::Stream> stream; ///< Of the copies.
  Owned<void *> staging[2];
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICEMEMORY_H
