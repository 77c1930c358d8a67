// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Executes the step table on threads of this machine's CPU: kernels
/// from the artifact's object code, matmuls from oneDNN, collectives from the
/// world.

#include "runtime/CPU/Indexed.h"
#include "runtime/CPU/KernelLibrary.h"
#include "runtime/CPU/Matmul.h"
#include "runtime/CPU/Team.h"
#include "runtime/Communicators/Progress.h"
#include "runtime/Core/HostMemory.h"
#include "runtime/Core/StridedCopy.h"

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"

#include <atomic>
#include <chrono>

using namespace tprt;

/// Below this many bytes of operands, more threads cost a row program more time
/// than they save.
static constexpr uint64_t kMinParallelBytes = 1 << 16;

static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

class CpuExecutor final : public HostExecutor {
public:
  CpuExecutor(const Artifact &artifact, HostMemory memory,
              const KernelLibrary &kernels, World &world, int threads)
      : HostExecutor(artifact, std::move(memory)), kernels(kernels),
        world(world), team(threads, world.getCoresPerRank() >= threads),
        matmuls(artifact, team) {}

  /// Makes the communicators, in table order on every rank, and the threads.
  /// Threads for collectives are needed only if collectives overlap with other
  /// steps, or if links are emulated.
  absl::Status start(const BackendOptions &options) {
    TPRT_RETURN_IF_ERROR(team.start());
    if (artifact.overlaps() || options.network.isEmulated()) {
      TPRT_ASSIGN_OR_RETURN(
          progress,
          Progress::start(world, {options.timeout, artifact.getNumLinks()}));
    }
    for (const CommunicatorRow &row : artifact.rows<CommunicatorRow>()) {
      std::vector<int> group = artifact.getGroup(row, world.getRank());
      TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator,
                            progress
                                ? progress->split(group, getRoute(row, options))
                                : world.split(group));
      communicators.push_back(std::move(communicator));
    }
    return absl::OkStatus();
  }

  absl::Status run(uint32_t entryIndex,
                   std::vector<StepTime> *stepTimes) override {
    if (hasNewWeights)
      matmuls.forgetWeights();
    const EntryRow &entry = artifact.rows<EntryRow>()[entryIndex];
    hasNewWeights = overwritesWeights(entry);
    counters.assign(entry.counters, 0);
    times = stepTimes;
    absl::Status status = runSteps(entry.steps.first, entry.steps.count);
    return progress ? progress->settle(std::move(status)) : status;
  }

  absl::Status
  writeInput(uint32_t input,
             absl::FunctionRef<absl::Status(char *block)> fill) override {
    hasNewWeights |= artifact.rows<InputRow>()[input].role == Role::Parameter;
    return HostExecutor::writeInput(input, fill);
  }

private:
  Route getRoute(const CommunicatorRow &row,
                 const BackendOptions &options) const {
    std::vector<absl::string_view> axes;
    for (const AxisRefRow &ref : artifact.rows<AxisRefRow>(row.axes))
      axes.push_back(artifact.text(artifact.rows<MeshAxis>()[ref.axis].name));
    return {artifact.getLinks(row), options.network.getSlowest(axes)};
  }

  /// Returns true if the entry overwrites parameters, as a training step does.
  bool overwritesWeights(const EntryRow &entry) const {
    return absl::c_any_of(
        artifact.rows<OutputRow>(entry.outputs), [&](const OutputRow &output) {
          return output.alias != kNone &&
                 artifact.rows<InputRow>()[output.alias].role ==
                     Role::Parameter;
        });
  }

  absl::Status runSteps(uint32_t first, uint32_t count) {
    for (uint32_t i = first, end = first + count; i < end; ++i) {
      TPRT_RETURN_IF_ERROR(progress ? progress->check() : world.check());
      const StepRow &step = artifact.rows<StepRow>()[i];
      if (step.kind == StepKind::Control) {
        const ControlRow &control = artifact.rows<ControlRow>()[step.row];
        TPRT_RETURN_IF_ERROR(runControl(control, step, i + 1));
        i += control.first + control.second;
        continue;
      }
      if (!times) {
        TPRT_RETURN_IF_ERROR(runStep(step));
        continue;
      }
      int64_t begin = now(), waited = getWaited();
      TPRT_RETURN_IF_ERROR(runStep(step));
      times->push_back({i, begin, now(), getWaited() - waited});
      if (progress && step.kind == StepKind::CollectiveDone) {
        times->back().carriedBegin = progress->getLastTime().begin;
        times->back().carriedEnd = progress->getLastTime().end;
      }
    }
    return absl::OkStatus();
  }

  int64_t getWaited() const {
    int64_t total = 0;
    for (const std::unique_ptr<Communicator> &communicator : communicators)
      total += communicator->getWaited();
    return total;
  }

  absl::Status runControl(const ControlRow &control, const StepRow &step,
                          uint32_t first) {
    uint32_t second = first + control.first;
    auto isTrue = [&] { return *resolve(control.predicate) != 0; };
    switch (control.kind) {
    case ControlKind::Loop:
      for (int64_t trip = 0; trip < control.trips; ++trip) {
        counters[control.counter] = trip;
        TPRT_RETURN_IF_ERROR(runSteps(first, control.first));
      }
      return absl::OkStatus();
    case ControlKind::While:
      for (int64_t trip = 0; trip < control.trips; ++trip) {
        counters[control.counter] = trip;
        TPRT_RETURN_IF_ERROR(runSteps(first, control.first));
        if (!isTrue())
          return absl::OkStatus();
        TPRT_RETURN_IF_ERROR(runSteps(second, control.second));
      }
      return fail(ErrorCode::TripLimit, step,
                  "the loop was still running after ", control.trips,
                  " iterations, the bound that it was compiled with");
    case ControlKind::If:
      return isTrue() ? runSteps(first, control.first)
                      : runSteps(second, control.second);
    case ControlKind::Choice:
      return runSteps(first, control.first);
    }
    return absl::OkStatus();
  }

  absl::Status runStep(const StepRow &step) {
    switch (step.kind) {
    case StepKind::Kernel:
      return runKernel(artifact.rows<KernelCallRow>()[step.row], step);
    case StepKind::Matmul:
      return runMatmul(step);
    case StepKind::CollectiveStart: {
      const CollectiveRow &row = artifact.rows<CollectiveRow>()[step.row];
      return communicators[row.communicator]->start(
          step.row,
          {&row, artifact.integers(row.permutation), resolve(row.source),
           resolve(row.destination), artifact.text(step.name)});
    }
    case StepKind::CollectiveDone: {
      const CollectiveRow &row = artifact.rows<CollectiveRow>()[step.row];
      return communicators[row.communicator]->finish(step.row);
    }
    case StepKind::Copy: {
      const CopyRow &copy = artifact.rows<CopyRow>()[step.row];
      copyStrided(copy.dtype, resolve(copy.destination),
                  {copy.to.strides, copy.rank}, copy.dtype,
                  resolve(copy.source), {copy.from.strides, copy.rank},
                  {copy.sizes, copy.rank});
      return absl::OkStatus();
    }
    case StepKind::Fill: {
      const FillRow &fill = artifact.rows<FillRow>()[step.row];
      fillStrided(fill.dtype, resolve(fill.destination),
                  {fill.to.strides, fill.rank}, {fill.sizes, fill.rank},
                  fill.pattern);
      return absl::OkStatus();
    }
    case StepKind::Scatter: {
      const ScatterRow &row = artifact.rows<ScatterRow>()[step.row];
      runScatter(row, resolve(row.updates), resolve(row.indices),
                 resolve(row.destination), team);
      return absl::OkStatus();
    }
    case StepKind::Sort: {
      const SortRow &row = artifact.rows<SortRow>()[step.row];
      runSort(row, resolve(row.source), resolve(row.values),
              resolve(row.indices), team);
      return absl::OkStatus();
    }
    case StepKind::Control:
      break; // handled by runSteps
    }
    return absl::OkStatus();
  }

  absl::Status runKernel(const KernelCallRow &call, const StepRow &step) {
    absl::InlinedVector<void *, 8> buffers;
    uint64_t bytes = 0;
    for (const BufferRow &buffer : artifact.rows<BufferRow>(call.buffers)) {
      buffers.push_back(resolve(buffer));
      bytes += buffer.size;
    }
    absl::InlinedVector<int64_t, 8> scalars;
    for (const ScalarRow &scalar : artifact.rows<ScalarRow>(call.scalars))
      scalars.push_back(artifact.evaluate(scalar, world.getRank(), counters));
    std::atomic<int32_t> result{0};
    auto compute = [&](int part, int parts) {
      auto [begin, end] = Team::split(call.rowEnd - call.rowBegin, part, parts);
      int32_t code =
          kernels.get(call.kernel)(buffers.data(), scalars.data(),
                                   call.rowBegin + begin, call.rowBegin + end);
      if (code != 0)
        result = code;
    };
    if (bytes < kMinParallelBytes)
      compute(0, 1);
    else
      team.run(compute);
    if (result == 0)
      return absl::OkStatus();
    return fail(ErrorCode::KernelFailed, step, "kernel '",
                artifact.text(artifact.rows<KernelRow>()[call.kernel].symbol),
                "' returned error ", result.load());
  }

  absl::Status runMatmul(const StepRow &step) {
    const MatmulRow &row = artifact.rows<MatmulRow>()[step.row];
    absl::InlinedVector<const char *, 4> postOps;
    for (const PostOpRow &postOp : artifact.rows<PostOpRow>(row.postOps))
      postOps.push_back(postOp.kind <= PostOpKind::Multiply
                            ? resolve(postOp.operand.buffer)
                            : nullptr);
    absl::Status status =
        matmuls.run(step.row, {resolve(row.a.buffer), resolve(row.b.buffer),
                               resolve(row.c.buffer), postOps});
    return addContext(status, getContext(step));
  }

  char *resolve(const BufferRow &buffer) const {
    char *base = nullptr;
    switch (buffer.space) {
    case Space::Arena:
      base = memory.getArena();
      break;
    case Space::Input:
      base = memory.getInput(buffer.index);
      break;
    case Space::Output:
      base = memory.getOutput(buffer.index);
      break;
    case Space::Bundle:
      base = memory.getBundle(buffer.index);
      break;
    case Space::Constant:
      // The artifact's verifier has checked that no step writes to constants.
      base = const_cast<char *>(artifact.bytes(SectionKind::Constants).data());
      break;
    }
    return base + buffer.offset +
           artifact.getDistance(buffer, world.getRank(), counters);
  }

  std::string getContext(const StepRow &step) const {
    return absl::StrCat("rank ", world.getRank(), ", step '",
                        artifact.text(step.name), "'");
  }

  template <typename... Pieces>
  absl::Status fail(ErrorCode code, const StepRow &step,
                    const Pieces &...pieces) const {
    return makeError(code, getContext(step), ": ", pieces...);
  }

  const KernelLibrary &kernels;
  World &world;
  Team team;
  MatmulEngine matmuls;
  bool hasNewWeights = false;         ///< Since weights were last repacked.
  std::unique_ptr<Progress> progress; ///< Null if nothing overlaps.
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<int64_t> counters;
  std::vector<StepTime> *times = nullptr;
};

class CpuBackend final : public Backend {
public:
  CpuBackend(std::shared_ptr<const Artifact> artifact, KernelLibrary kernels,
             BackendOptions options)
      : artifact(std::move(artifact)), kernels(std::move(kernels)),
        options(std::move(options)) {}

  absl::StatusOr<std::unique_ptr<Executor>>
  createExecutor(World &world, int threads) override {
    TPRT_ASSIGN_OR_RETURN(HostMemory memory, HostMemory::create(*artifact));
    auto executor = std::make_unique<CpuExecutor>(*artifact, std::move(memory),
                                                  kernels, world, threads);
    TPRT_RETURN_IF_ERROR(executor->start(options));
    return executor;
  }

private:
  const std::shared_ptr<const Artifact> artifact;
  const KernelLibrary kernels;
  const BackendOptions options;
};

} // namespace

/// Checks that the mesh has the axes for which links are emulated.
static absl::Status checkAxes(const Artifact &artifact,
                              const Network &network) {
  std::vector<absl::string_view> names;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>())
    names.push_back(artifact.text(axis.name));
  for (const Network::AxisLink &own : network.axes)
    if (!absl::c_linear_search(names, own.axis))
      return makeError(ErrorCode::BadOption,
                       "--axis_link: the mesh has no axis '", own.axis,
                       "'; its axes are: ", absl::StrJoin(names, ", "));
  return absl::OkStatus();
}

static absl::StatusOr<std::unique_ptr<Backend>>
createBackend(std::shared_ptr<const Artifact> artifact,
              const BackendOptions &options) {
  TPRT_RETURN_IF_ERROR(checkAxes(*artifact, options.network));
  TPRT_ASSIGN_OR_RETURN(KernelLibrary kernels, KernelLibrary::load(*artifact));
  return std::make_unique<CpuBackend>(std::move(artifact), std::move(kernels),
                                      options);
}

extern "C" const Plugin *tprtGetPlugin() {
  static const Plugin plugin{kPluginVersion, createBackend, nullptr};
  return &plugin;
}
