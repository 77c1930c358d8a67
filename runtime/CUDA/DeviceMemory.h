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

/// Inputs, outputs, the arena of all entries and the constants. Data is
/// transferred through two pieces of pinned memory: one is copied while the
/// other is filled.
class DeviceMemory final : public BufferPlaces {
public:
  /// `arena` is memory that the links provide for the arena, or 0 if they
  /// provide none.
  static absl::StatusOr<DeviceMemory> create(const Device &device,
                                             const Artifact &artifact,
                                             int64_t rank, cuda::Pointer arena);

  absl::Status write(uint32_t input,
                     absl::FunctionRef<absl::Status(char *block)> fill);
  /// Gives an input a value that the GPU computes: `make` writes the rank's
  /// block, which is zeroed first, and waits until the writing is done.
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
  /// Copies the dense block of an input into the bundle that contains the
  /// input, or back if `isBack`.
  absl::Status copyRows(const BundlePlace &place, cuda::Pointer block,
                        bool isBack);

  const Device *device;
  const Artifact *artifact;
  int64_t rank;
  std::vector<BundlePlace> places;          ///< Indexed by input.
  std::vector<Owned<cuda::Pointer>> inputs; ///< Empty for inputs in bundles.
  std::vector<Owned<cuda::Pointer>> bundles;
  std::vector<Owned<cuda::Pointer>> own; ///< For outputs without an alias.
  std::vector<cuda::Pointer> outputs;
  Owned<cuda::Pointer> ownArena, constants;
  cuda::Pointer arena = 0;
  Owned<cuda::Stream> stream; ///< For copies.
  Owned<void *> staging[2];
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICEMEMORY_H
