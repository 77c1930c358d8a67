// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What executes the step table, and the libraries that hold such things.
///
/// The core knows neither matrix libraries nor transports: `libtprt_cpu.so`
/// brings a Backend, `libtprt_mpi.so` a World, each through one function that
/// returns a `Plugin`. They are opened when first asked for, so that a machine
/// without MPI runs everything that does not need it.
///
/// Storage belongs to the executor, as only it knows which memory its device
/// computes in. The session sees blocks in host memory, for as long as a call
/// takes (HostMemory.h is for devices that compute just there):
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
  int64_t wait; ///< For other ranks, of a collective.
  /// Of the end of a collective that went on beside the steps: when it was
  /// carried out. Else zeros.
  int64_t carriedBegin = 0, carriedEnd = 0;
};

/// Runs entries on one rank and holds its storage, indexed as the artifact's
/// tables and zero at first. It is made, run and ended on the rank's thread;
/// the storage is read and written between runs, from any.
class Executor {
public:
  virtual ~Executor() = default;
  /// `times` may be null; else each executed step is appended to it.
  virtual absl::Status run(uint32_t entry, std::vector<StepTime> *times) = 0;

  /// Gives an input a new value: `fill` writes all of the rank's block.
  virtual absl::Status
  writeInput(uint32_t input,
             absl::FunctionRef<absl::Status(char *block)> fill) = 0;
  /// Gives an input random numbers of a seed: those that `fill` writes, which
  /// is fillRandom (Weights.h). A device may make the same ones itself.
  virtual absl::Status
  writeRandom(uint32_t input, uint64_t seed, float scale,
              absl::FunctionRef<absl::Status(char *block)> fill) {
    return writeInput(input, fill);
  }
  /// Sets an input to zero.
  virtual absl::Status clearInput(uint32_t input) = 0;
  /// Shows `use` the rank's block of an output, be it an input's storage.
  virtual absl::Status
  readOutput(uint32_t output,
             absl::FunctionRef<absl::Status(const char *block)> use) = 0;
  /// The same of an input: what it was given, or what a run has left there.
  virtual absl::Status
  readInput(uint32_t input,
            absl::FunctionRef<absl::Status(const char *block)> use) = 0;
};

/// An artifact's code, loaded once per process.
class Backend {
public:
  virtual ~Backend() = default;
  /// For one rank, which computes on `threads` threads.
  virtual absl::StatusOr<std::unique_ptr<Executor>>
  createExecutor(World &world, int threads) = 0;
};

struct BackendOptions {
  std::string name; ///< A library may hold several: which one is wanted.
  absl::Duration timeout = absl::Seconds(300); ///< Of a collective.
  bool allowTF32 = false; ///< In matmuls of f32, where a GPU has it.
  Link link;              ///< To be emulated between ranks on CPUs.
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

  uint32_t version = 0; ///< kPluginVersion of its build.
  CreateBackend *createBackend = nullptr;
  CreateWorld createWorld = nullptr;
};

/// Raised with every change of the interfaces above.
inline constexpr uint32_t kPluginVersion = 8;

/// What `libtprt_NAME.so` beside the core library has. UnknownBackend if there
/// is no such thing, BackendMissing if there is and it cannot be loaded.
absl::StatusOr<CreateBackend *> loadBackend(const std::string &name);
absl::StatusOr<Plugin::CreateWorld> loadTransport(const std::string &name);

} // namespace tprt

#endif // TPRT_CORE_BACKEND_H
