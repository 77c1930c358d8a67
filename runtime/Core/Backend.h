// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What executes the step table, and the libraries that hold such things.
///
/// The core knows neither matrix libraries nor transports: `libtprt_cpu.so`
/// brings a Backend, `libtprt_mpi.so` a World, each through one function that
/// returns a `Plugin`. They are opened when first asked for, so that a machine
/// without MPI runs everything that does not need it.

#ifndef TPRT_CORE_BACKEND_H
#define TPRT_CORE_BACKEND_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Artifact.h"

#include <memory>
#include <string>
#include <vector>

namespace tprt {

/// The storage of one rank, indexed as the artifact's tables.
struct RankMemory {
  std::vector<AlignedBuffer> inputs;
  std::vector<AlignedBuffer> outputs; ///< None where the output has an alias.
  AlignedBuffer arena;
  /// Counts changes of parameters, which a backend may have repacked.
  uint64_t parameterGeneration = 0;
};

/// When a step ran, in nanoseconds of the monotonic clock.
struct StepTime {
  uint32_t step;
  int64_t begin, end;
  int64_t wait; ///< For other ranks, of a collective.
};

/// Runs entries on one rank. Belongs to that rank's thread.
class Executor {
public:
  virtual ~Executor() = default;
  /// `times` may be null; else each executed step is appended to it.
  virtual absl::Status run(uint32_t entry, std::vector<StepTime> *times) = 0;
};

/// An artifact's code, loaded once per process.
class Backend {
public:
  virtual ~Backend() = default;
  /// For one rank, which computes on `threads` threads.
  virtual absl::StatusOr<std::unique_ptr<Executor>>
  createExecutor(World &world, RankMemory &memory, int threads) = 0;
};

struct Plugin {
  using CreateBackend = absl::StatusOr<std::unique_ptr<Backend>> (*)(
      std::shared_ptr<const Artifact>);
  using CreateWorld =
      absl::StatusOr<std::unique_ptr<World>> (*)(absl::Duration timeout);

  uint32_t version = 0; ///< kPluginVersion of its build.
  CreateBackend createBackend = nullptr;
  CreateWorld createWorld = nullptr;
};

/// Raised with every change of the interfaces above.
inline constexpr uint32_t kPluginVersion = 2;

/// Opens `libtprt_NAME.so` beside the core library, once per process.
absl::StatusOr<const Plugin *> loadPlugin(const std::string &name);

} // namespace tprt

#endif // TPRT_CORE_BACKEND_H
