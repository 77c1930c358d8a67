// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/CudaExecutor.h"

#include "runtime/CUDA/ProfilerRange.h"
#include "runtime/Core/Weights.h"

#include "absl/strings/match.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace tprt;

/// The size up to which a collective is launched together with its neighbours.
/// A collective that takes longer than a launch gains nothing from this.
static constexpr int64_t kSmallBytes = 1 << 20;

absl::StatusOr<std::unique_ptr<CudaExecutor>>
CudaExecutor::create(std::shared_ptr<const GpuProgram> program,
                     const Artifact &artifact, World &world,
                     const BackendOptions &options) {
  std::unique_ptr<CudaExecutor> executor(
      new CudaExecutor(std::move(program), artifact, world, options.timeout));
  TPRT_RETURN_IF_ERROR(executor->addRank(executor->prepare(options)));
  return executor;
}

absl::Status CudaExecutor::addRank(const absl::Status &status) const {
  std::string rank = absl::StrCat("rank ", world.getRank());
  // Errors that `world` returns already contain the rank.
  return absl::StartsWith(getPlainMessage(status), rank)
             ? status
             : addContext(status, rank);
}

absl::Status CudaExecutor::prepare(const BackendOptions &options) {
  TPRT_RETURN_IF_ERROR(device.enter());
  TPRT_ASSIGN_OR_RETURN(compute, device.createStream(false));
  TPRT_ASSIGN_OR_RETURN(exchange, device.createStream(true));
  TPRT_ASSIGN_OR_RETURN(ready, device.createEvent(false));
  TPRT_ASSIGN_OR_RETURN(predicate, device.allocateHost(1));
  for (size_t i = 0; i < artifact.rows<CollectiveRow>().size(); ++i) {
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::Event> event, device.createEvent(false));
    done.push_back(std::move(event));
  }
  cuda::Pointer arena = 0;
  if (!artifact.rows<CommunicatorRow>().empty()) {
    TPRT_ASSIGN_OR_RETURN(links,
                          options.name == kVirtual
                              ? connectVirtual(*program, artifact, world)
                              : connectNccl(device, artifact, world, timeout));
    TPRT_ASSIGN_OR_RETURN(arena,
                          links->allocateArena(artifact.getArenaBytes()));
  }
  TPRT_ASSIGN_OR_RETURN(
      memory, DeviceMemory::create(device, artifact, world.getRank(), arena));
  if (!artifact.rows<MatmulRow>().empty()) {
    TPRT_ASSIGN_OR_RETURN(matmuls,
                          DeviceMatmul::create(device, artifact, *memory, world,
                                               options.allowTF32));
  }
  runner.emplace(*program, artifact, world.getRank(), matmuls.get());
  TPRT_ASSIGN_OR_RETURN(
      choices, StepChoices::create(*program, artifact, *memory, *runner, world,
                                   matmuls ? matmuls->getTuningName()
                                           : getTuningName(device.name, 0)));
  for (const EntryRow &row : artifact.rows<EntryRow>()) {
    Entry entry;
    entry.canCapture = !links || links->canCapture();
    for (const StepRow &step : artifact.rows<StepRow>(row.steps))
      if (step.kind == StepKind::Control) {
        ControlKind kind = artifact.rows<ControlRow>()[step.row].kind;
        entry.canCapture &=
            kind == ControlKind::Loop || kind == ControlKind::Choice;
      }
    entries.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

CudaExecutor::~CudaExecutor() {
  // Everything that is destroyed here needs the context to be current.
  (void)device.enter();
}

absl::Status
CudaExecutor::writeInput(uint32_t input,
                         absl::FunctionRef<absl::Status(char *block)> fill) {
  TPRT_RETURN_IF_ERROR(device.enter());
  return memory->write(input, fill);
}

absl::Status
CudaExecutor::writeRandom(uint32_t input, uint64_t seed, float scale,
                          absl::FunctionRef<absl::Status(char *)>) {
  TPRT_RETURN_IF_ERROR(device.enter());
  const InputRow &row = artifact.rows<InputRow>()[input];
  absl::Span<const RandomRow> kernels = artifact.rows<RandomRow>();
  const auto *kernel = std::find_if(
      kernels.begin(), kernels.end(),
      [&](const RandomRow &random) { return random.dtype == row.dtype; });
  if (kernel == kernels.end())
    return addRank(makeError(
        ErrorCode::GpuStep,
        "the artifact has no kernel that generates random numbers of type ",
        getName(row.dtype), "; compile it again"));
  int64_t bits = 0;
  std::memcpy(&bits, &scale, sizeof(scale));
  // The kernels do not write the padding, so it stays zero.
  return memory->make(input, [&](cuda::Pointer block) -> absl::Status {
    for (const BlockRows &rows :
         getBlockRows(artifact, row.dims, world.getRank())) {
      cuda::Pointer to =
          block + static_cast<uint64_t>(rows.block * getSize(row.dtype));
      BlockRows numbers = rows;
      std::array<void *, 8> arguments = {
          &to,
          &numbers.rows,
          &numbers.columns,
          &numbers.blockStride,
          &numbers.whole,
          &numbers.wholeStride,
          &bits,
          &seed,
      };
      TPRT_RETURN_IF_ERROR(
          program->launch(kernel->kernel, arguments.data(), compute.get()));
    }
    return device.wait(compute.get());
  });
}

absl::Status CudaExecutor::clearInput(uint32_t input) {
  TPRT_RETURN_IF_ERROR(device.enter());
  return memory->clear(input);
}

absl::Status CudaExecutor::readOutput(
    uint32_t output, absl::FunctionRef<absl::Status(const char *block)> use) {
  TPRT_RETURN_IF_ERROR(device.enter());
  return memory->read(output, use);
}

absl::Status CudaExecutor::readInput(
    uint32_t input, absl::FunctionRef<absl::Status(const char *block)> use) {
  TPRT_RETURN_IF_ERROR(device.enter());
  return memory->readInput(input, use);
}

absl::Status CudaExecutor::run(uint32_t entryIndex,
                               std::vector<StepTime> *times) {
  TPRT_RETURN_IF_ERROR(device.enter());
  const EntryRow &row = artifact.rows<EntryRow>()[entryIndex];
  ProfilerRange range(artifact.text(row.name));
  Entry &entry = entries[entryIndex];
  running = &row;
  started.clear();
  isTimed = times != nullptr;
  auto runOnce = [&]() -> absl::Status {
    if (isTimed)
      TPRT_RETURN_IF_ERROR(clock.begin(compute.get()));
    if (isTimed || !entry.canCapture || !entry.hasRun) {
      TPRT_RETURN_IF_ERROR(issue(row));
    } else {
      if (!entry.graph) {
        absl::StatusOr<Owned<cuda::GraphExec>> graph = capture(row);
        if (!graph.ok() && !links) {
          // The entry cannot be captured into a graph. Without links, this does
          // not affect other ranks. Each run is issued step by step, like the
          // first one.
          entry.canCapture = false;
          TPRT_RETURN_IF_ERROR(issue(row));
          return wait();
        }
        TPRT_ASSIGN_OR_RETURN(entry.graph, std::move(graph));
      }
      TPRT_RETURN_IF_ERROR(device.check(
          device.driver.launchGraph(entry.graph.get(), compute.get()),
          "launching a graph"));
    }
    return wait();
  };
  absl::Status status = runOnce();
  if (!status.ok() && links) {
    std::vector<Owned<cuda::GraphExec>> graphs;
    for (Entry &other : entries)
      graphs.push_back(std::move(other.graph));
    links->abort(std::move(graphs));
  }
  TPRT_RETURN_IF_ERROR(status);
  entry.hasRun = true;
  return isTimed ? clock.finish(*times) : absl::OkStatus();
}

absl::Status CudaExecutor::issue(const EntryRow &entry) {
  counters.assign(entry.counters, 0);
  return runSteps(entry.steps.first, entry.steps.count);
}

absl::StatusOr<Owned<cuda::GraphExec>>
CudaExecutor::capture(const EntryRow &entry) {
  absl::StatusOr<Owned<cuda::GraphExec>> graph =
      device.capture(compute.get(), [&] { return issue(entry); });
  started.clear(); // a graph does not report finished steps
  return graph;
}

absl::Status CudaExecutor::runSteps(uint32_t first, uint32_t count) {
  for (uint32_t i = first, end = first + count; i < end; ++i) {
    TPRT_RETURN_IF_ERROR(world.check());
    const StepRow &step = artifact.rows<StepRow>()[i];
    ProfilerRange range(artifact.text(step.name));
    if (step.kind == StepKind::Control) {
      const ControlRow &control = artifact.rows<ControlRow>()[step.row];
      TPRT_RETURN_IF_ERROR(runControl(step, i + 1));
      i += control.first + control.second;
      continue;
    }
    if (step.kind == StepKind::CollectiveStart) {
      TPRT_ASSIGN_OR_RETURN(uint32_t together, startCollectives(i, end));
      i += together - 1;
      continue;
    }
    if (step.kind == StepKind::CollectiveDone) {
      TPRT_RETURN_IF_ERROR(finishCollective(i));
      continue;
    }
    size_t begin = 0;
    if (isTimed) {
      TPRT_ASSIGN_OR_RETURN(begin, clock.mark(compute.get()));
    }
    TPRT_RETURN_IF_ERROR(
        addContext(runner->run(step, *memory, counters, compute.get()),
                   absl::StrCat("rank ", world.getRank(), ", step '",
                                artifact.text(step.name), "'")));
    if (isTimed) {
      TPRT_ASSIGN_OR_RETURN(size_t ended, clock.mark(compute.get()));
      clock.add(i, begin, ended, false);
    }
  }
  return absl::OkStatus();
}

absl::Status CudaExecutor::runControl(const StepRow &step, uint32_t first) {
  const ControlRow &control = artifact.rows<ControlRow>()[step.row];
  uint32_t second = first + control.first;
  if (control.kind == ControlKind::Choice)
    return choices->takesSecond(step.row) ? runSteps(second, control.second)
                                          : runSteps(first, control.first);
  if (control.kind == ControlKind::If) {
    TPRT_ASSIGN_OR_RETURN(bool isTrue, readPredicate(control.predicate));
    return isTrue ? runSteps(first, control.first)
                  : runSteps(second, control.second);
  }
  for (int64_t trip = 0; trip < control.trips; ++trip) {
    counters[control.counter] = trip;
    TPRT_RETURN_IF_ERROR(runSteps(first, control.first));
    if (control.kind == ControlKind::Loop)
      continue;
    TPRT_ASSIGN_OR_RETURN(bool goesOn, readPredicate(control.predicate));
    if (!goesOn)
      return absl::OkStatus();
    TPRT_RETURN_IF_ERROR(runSteps(second, control.second));
  }
  if (control.kind == ControlKind::Loop)
    return absl::OkStatus();
  return makeError(ErrorCode::TripLimit, "rank ", world.getRank(), ", step '",
                   artifact.text(step.name),
                   "': the loop was still running after ", control.trips,
                   " iterations, the bound that it was compiled with");
}

absl::StatusOr<bool> CudaExecutor::readPredicate(const BufferRow &buffer) {
  TPRT_RETURN_IF_ERROR(device.check(
      device.driver.copyToHost(
          predicate.get(), memory->resolve(buffer, counters), 1, compute.get()),
      "reading a predicate"));
  TPRT_RETURN_IF_ERROR(wait());
  return *static_cast<const char *>(predicate.get()) != 0;
}

absl::StatusOr<uint32_t> CudaExecutor::startCollectives(uint32_t step,
                                                        uint32_t end) {
  std::vector<Links::Call> calls;
  bool areSmall = true;
  for (uint32_t i = step; i < end; ++i) {
    const StepRow &next = artifact.rows<StepRow>()[i];
    if (next.kind != StepKind::CollectiveStart)
      break;
    const CollectiveRow &row = artifact.rows<CollectiveRow>()[next.row];
    // Small ones share a launch, too. When steps are timed, each launch of the
    // program is started alone, so that it can be timed separately.
    bool isSmall = row.count * getSize(row.dtype) <= kSmallBytes;
    if (!calls.empty() && !row.joined && (!isSmall || !areSmall || isTimed))
      break;
    areSmall &= isSmall;
    calls.push_back(
        {next.row,
         {&row, artifact.integers(row.permutation),
          reinterpret_cast<const char *>(memory->resolve(row.source, counters)),
          reinterpret_cast<char *>(memory->resolve(row.destination, counters)),
          artifact.text(next.name)}});
    started.push_back(i);
  }
  TPRT_RETURN_IF_ERROR(
      device.check(device.driver.recordEvent(ready.get(), compute.get()),
                   "recording an event"));
  TPRT_RETURN_IF_ERROR(
      device.check(device.driver.waitEvent(exchange.get(), ready.get(), 0),
                   "waiting for an event"));
  size_t begin = 0;
  if (isTimed) {
    TPRT_ASSIGN_OR_RETURN(begin, clock.mark(exchange.get()));
  }
  TPRT_RETURN_IF_ERROR(addRank(links->start(calls, exchange.get())));
  if (isTimed) {
    TPRT_ASSIGN_OR_RETURN(size_t ended, clock.mark(exchange.get()));
    clock.add(step, begin, ended, false);
  }
  for (const Links::Call &call : calls)
    TPRT_RETURN_IF_ERROR(device.check(
        device.driver.recordEvent(done[call.index].get(), exchange.get()),
        "recording an event"));
  return static_cast<uint32_t>(calls.size());
}

absl::Status CudaExecutor::finishCollective(uint32_t step) {
  size_t begin = 0;
  if (isTimed) {
    TPRT_ASSIGN_OR_RETURN(begin, clock.mark(compute.get()));
  }
  uint32_t row = artifact.rows<StepRow>()[step].row;
  TPRT_RETURN_IF_ERROR(
      device.check(device.driver.waitEvent(compute.get(), done[row].get(), 0),
                   "waiting for an event"));
  if (isTimed) {
    TPRT_ASSIGN_OR_RETURN(size_t ended, clock.mark(compute.get()));
    clock.add(step, begin, ended, true);
  }
  return absl::OkStatus();
}

absl::Status CudaExecutor::wait() {
  absl::Time deadline = links ? absl::Now() + timeout : absl::InfiniteFuture();
  return device.wait(compute.get(), [&]() -> absl::Status {
    TPRT_RETURN_IF_ERROR(world.check());
    if (!links)
      return absl::OkStatus();
    TPRT_RETURN_IF_ERROR(links->check());
    return absl::Now() < deadline ? absl::OkStatus() : reportStuck();
  });
}

/// Returns an error that names the first collective that is not done. In a
/// graph, it is not known which one that is.
absl::Status CudaExecutor::reportStuck() const {
  std::string what = absl::StrCat(
      "a collective of the graph of '", artifact.text(running->name),
      "' (to find out which one, run with --trace)");
  for (uint32_t step : started) {
    const StepRow &row = artifact.rows<StepRow>()[step];
    if (device.driver.queryEvent(done[row.row].get()) == cuda::kSuccess)
      continue;
    CollectiveCall call = {};
    call.row = &artifact.rows<CollectiveRow>()[row.row];
    call.name = artifact.text(row.name);
    what = describe(call);
    break;
  }
  return makeError(ErrorCode::CollectiveTimeout, "rank ", world.getRank(), ", ",
                   what, ": not finished within ",
                   absl::FormatDuration(timeout),
                   "; a longer --timeout helps if a rank is only slow");
}
