// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The interface of executors of the step table, and of the libraries
/// that provide them.
///
/// The core knows neither matrix libraries nor transports: `libtprt_cpu.so`
/// provides a Backend, `libtprt_mpi.so` a World, each through one function that
/// returns a `Plugin`. They are opened when first asked for, so that a machine
/// without MPI runs everything that does not need it.
///
/// The executor owns the storage, as only it knows which memory its device
/// computes in. The session sees blocks in host memory, for the duration of a
/// call (HostMemory.h is for devices that compute in host memory):
///
///     executor->writeInput(0, [&](char *block) {
///       scatterBlock(artifact, dims, dtype, rank, whole, block);
///       return absl::OkStatus();
///     });
///     executor->run(0, nullptr);
///     executor->readOutput(0, [&](const char *block) { ... });

#ifndef TPRT_CORE_BACKEND_H
#define TPRT_CORE_BACKEND_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Communicators/Link.h"
#include "runtime/Core/Artifact.h"

#include "absl/functional/function_ref.h"

#include <memory>
#include <string>
#include <vector>

namespace tprt {

/// When a step ran, in nanoseconds of the monotonic clock.
struct StepTime {
  uint32_t step;
  int64_t begin, end;
  int64_t wait; ///< Of a collective: time spent waiting for other ranks.
  /// For the done step of a collective that overlapped with other steps: when
  /// the collective ran. Otherwise zeros.
  int64_t carriedBegin = 0, carriedEnd = 0;
};

/// Runs entries on one rank and holds its storage, which is indexed like the
/// artifact's tables and initially zero. An executor is created, run and
/// destroyed on the rank's thread; any thread may read and write the storage
/// between runs.
class Executor {
public:
  virtual ~Executor() = default;
  /// If `times` is not null, each executed step is appended to it.
  virtual absl::Status run(uint32_t entry, std::vector<StepTime> *times) = 0;

  /// Gives an input a new value: `fill` writes all of the rank's block.
  virtual absl::Status
  writeInput(uint32_t input,
             absl::FunctionRef<absl::Status(char *block)> fill) = 0;
  /// Gives an input the random numbers of a seed, which `fill` writes by
  /// calling fillRandom (Weights.h). A device may generate the same numbers
  /// itself.
  virtual absl::Status
  writeRandom(uint32_t input, uint64_t seed, float scale,
              absl::FunctionRef<absl::Status(char *block)> fill) {
    return writeInput(input, fill);
  }
  /// Sets an input to zero.
  virtual absl::Status clearInput(uint32_t input) = 0;
  /// Calls `use` with the rank's block of an output, which may be an input's
  /// storage.
  virtual absl::Status
  readOutput(uint32_t output,
             absl::FunctionRef<absl::Status(const char *block)> use) = 0;
  /// Calls `use` with the rank's block of an input. The block holds the value
  /// that the input was given, or that a run left in it.
  virtual absl::Status
  readInput(uint32_t input,
            absl::FunctionRef<absl::Status(const char *block)> use) = 0;
};

/// An artifact's code, loaded once per process.
class Backend {
public:
  virtual ~Backend() = default;
  /// Creates the executor of one rank, which computes on `threads` threads.
  virtual absl::StatusOr<std::unique_ptr<Executor>>
  createExecutor(World &world, int threads) = 0;
};

struct BackendOptions {
  std::string name; ///< The requested one, as a library may provide several.
  absl::Duration timeout = absl::Seconds(300); ///< For each collective.
  bool allowTF32 = false; ///< For f32 matmuls on GPUs that support it.
  Network network;        ///< Emulated between ranks on CPUs.
};

/// The backend whose ranks share one GPU.
inline constexpr char kVirtual[] = "virtual";
/// The transport between GPUs whose processes torchrun or srun started.
inline constexpr char kEnvironment[] = "environment";

using CreateBackend = absl::StatusOr<std::unique_ptr<Backend>>(
    std::shared_ptr<const Artifact>, const BackendOptions &);

struct Plugin {
  using CreateWorld =
      absl::StatusOr<std::unique_ptr<World>> (*)(absl::Duration timeout);

  uint32_t version = 0; ///< kPluginVersion when it was built.
  CreateBackend *createBackend = nullptr;
  CreateWorld createWorld = nullptr;
};

/// Incremented with every change of the interfaces above.
inline constexpr uint32_t kPluginVersion = 9;

/// Returns what `libtprt_NAME.so`, in the folder of the core library, provides.
/// Returns UnknownBackend if there is no such library, and BackendMissing if
/// the library exists but cannot be loaded.
absl::StatusOr<CreateBackend *> loadBackend(const std::string &name);
absl::StatusOr<Plugin::CreateWorld> loadTransport(const std::string &name);

} // namespace tprt

#endif // TPRT_CORE_BACKEND_H
