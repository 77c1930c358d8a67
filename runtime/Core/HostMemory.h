// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The storage of a rank that computes in this process's own memory.

#ifndef TPRT_CORE_HOSTMEMORY_H
#define TPRT_CORE_HOSTMEMORY_H

#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Backend.h"
#include "runtime/Core/Bundles.h"
#include "runtime/Core/LargePages.h"

namespace tprt {

/// The memory of one rank: all inputs, all outputs, and one arena that all
/// entries share.
class HostMemory {
public:
  static absl::StatusOr<HostMemory> create(const Artifact &artifact);

  /// Returns the storage of an input that is in no bundle.
  char *getInput(uint32_t index) const { return inputs[index]; }
  char *getBundle(uint32_t index) const { return bundles[index]; }
  /// Returns the output's storage, which is that of the input it aliases, if
  /// any.
  char *getOutput(uint32_t index) const { return outputs[index]; }
  char *getArena() const { return arena.data(); }

private:
  LargePages pages;           ///< Of all inputs, bundles and outputs.
  std::vector<char *> inputs; ///< Null for those in bundles.
  std::vector<char *> bundles;
  std::vector<char *> outputs;
  AlignedBuffer arena;
};

/// An executor on host memory: derived classes only need to run entries.
class HostExecutor : public Executor {
public:
  HostExecutor(const Artifact &artifact, HostMemory memory)
      : artifact(artifact), memory(std::move(memory)),
        places(getBundlePlaces(artifact)) {}

  absl::Status
  writeInput(uint32_t input,
             absl::FunctionRef<absl::Status(char *block)> fill) override;
  absl::Status clearInput(uint32_t input) override;
  absl::Status
  readOutput(uint32_t output,
             absl::FunctionRef<absl::Status(const char *block)> use) override;
  absl::Status
  readInput(uint32_t input,
            absl::FunctionRef<absl::Status(const char *block)> use) override;

protected:
  const Artifact &artifact;
  const HostMemory memory;

private:
  /// Copies the dense block of a bundle's member into the bundle, or back if
  /// `isBack`.
  void copyRows(const BundlePlace &place, char *block, bool isBack) const;
  /// Returns the address of a member's row in its bundle.
  char *getRow(const BundlePlace &place, int64_t row) const {
    return memory.getBundle(place.bundle) + place.offset +
           static_cast<uint64_t>(row) * place.stride;
  }

  const std::vector<BundlePlace> places; ///< Indexed by input.
};

} // namespace tprt

#endif // TPRT_CORE_HOSTMEMORY_H
