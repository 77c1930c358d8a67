// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Executes the step table on a GPU.
///
/// Kernels, matmuls, copies and fills go on one stream, collectives on another
/// of higher priority:
///
///     compute   matmul | e0          | kernel | wait e1 | kernel
///     links            wait e0 | all_reduce | e1
///
/// The first run of an entry is issued step by step. The second is captured
/// into a graph, which later runs launch. An entry in which the host must
/// decide something midway (While, If), or its threads must meet (virtual
/// ranks), is issued step by step each time, and so is a run whose steps are
/// timed. No step allocates memory, and only reading a predicate makes the host
/// wait.
///
/// If the program has collectives, the host waits for an issued run no longer
/// than the deadline of a collective, and keeps checking for failures of other
/// ranks.

#ifndef TPRT_CUDA_CUDAEXECUTOR_H
#define TPRT_CUDA_CUDAEXECUTOR_H

#include "runtime/CUDA/DeviceMatmul.h"
#include "runtime/CUDA/DeviceMemory.h"
#include "runtime/CUDA/Links.h"
#include "runtime/CUDA/StepChoices.h"
#include "runtime/CUDA/StepClock.h"
#include "runtime/CUDA/StepRunner.h"
#include "runtime/Core/Backend.h"

namespace tprt {

class CudaExecutor final : public Executor {
public:
  static absl::StatusOr<std::unique_ptr<CudaExecutor>>
  create(std::shared_ptr<const GpuProgram> program, const Artifact &artifact,
         World &world, const BackendOptions &options);
  ~CudaExecutor() override;

  absl::Status run(uint32_t entry, std::vector<StepTime> *times) override;
  absl::Status
  writeInput(uint32_t input,
             absl::FunctionRef<absl::Status(char *block)> fill) override;
  absl::Status
  writeRandom(uint32_t input, uint64_t seed, float scale,
              absl::FunctionRef<absl::Status(char *block)> fill) override;
  absl::Status clearInput(uint32_t input) override;
  absl::Status
  readOutput(uint32_t output,
             absl::FunctionRef<absl::Status(const char *block)> use) override;
  absl::Status
  readInput(uint32_t input,
            absl::FunctionRef<absl::Status(const char *block)> use) override;

private:
  /// The state of an entry that is kept from earlier runs.
  struct Entry {
    bool canCapture = false;
    bool hasRun = false;
    Owned<cuda::GraphExec> graph;
  };

  CudaExecutor(std::shared_ptr<const GpuProgram> program,
               const Artifact &artifact, World &world, absl::Duration timeout)
      : program(std::move(program)), device(this->program->getDevice()),
        artifact(artifact), world(world), timeout(timeout), clock(device) {}
  absl::Status prepare(const BackendOptions &options);

  absl::Status issue(const EntryRow &entry);
  absl::StatusOr<Owned<cuda::GraphExec>> capture(const EntryRow &entry);
  absl::Status runSteps(uint32_t first, uint32_t count);
  absl::Status runControl(const StepRow &step, uint32_t first);
  absl::StatusOr<bool> readPredicate(const BufferRow &buffer);
  /// Starts the collective of this step, and those of the following steps if
  /// launching them together is worthwhile. Returns how many were started.
  absl::StatusOr<uint32_t> startCollectives(uint32_t step, uint32_t end);
  absl::Status finishCollective(uint32_t step);

  /// Waits until everything that was issued is done.
  absl::Status wait();
  absl::Status reportStuck() const;
  /// Adds the number of this rank to an error, unless the error has one
  /// already.
  absl::Status addRank(const absl::Status &status) const;

  const std::shared_ptr<const GpuProgram> program;
  const Device &device;
  const Artifact &artifact;
  World &world;
  const absl::Duration timeout;

  Owned<cuda::Stream> compute, exchange;
  Owned<cuda::Event> ready;
  std::vector<Owned<cuda::Event>> done; ///< Indexed by collective.
  Owned<void *> predicate;              ///< One byte, pinned.
  absl::optional<DeviceMemory> memory;
  std::unique_ptr<DeviceMatmul> matmuls;
  absl::optional<StepRunner> runner;
  absl::optional<StepChoices> choices;
  std::unique_ptr<Links> links; ///< None if there are no groups.
  std::vector<Entry> entries;

  // State of the current run.
  std::vector<int64_t> counters;
  std::vector<uint32_t> started; ///< Steps that started collectives, in order.
  const EntryRow *running = nullptr;
  bool isTimed = false;
  StepClock clock;
};

} // namespace tprt

#endif // TPRT_CUDA_CUDAEXECUTOR_H
