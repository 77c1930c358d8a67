// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/StepChoices.h"

#include "runtime/CUDA/MatmulPlan.h"
#include "runtime/CUDA/TuningOperands.h"
#include "runtime/Core/Hash.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

using namespace tprt;

StepChoices::StepChoices(const GpuProgram &program, const Artifact &artifact,
                         StepRunner &runner)
    : program(&program), artifact(&artifact), runner(&runner),
      counters(artifact.getNumCounters()),
      seconds(artifact.rows<ControlRow>().size()) {}

static Range getSteps(const ControlRow &control, uint32_t step, int way) {
  return way == 0 ? Range{step + 1, control.first}
                  : Range{step + 1 + control.first, control.second};
}

/// Returns everything that the times depend on, except the device: the code,
/// the sizes, and how operands are aligned.
std::string StepChoices::getKey(uint32_t step) const {
  const StepRow &choice = artifact->rows<StepRow>()[step];
  const ControlRow &control = artifact->rows<ControlRow>()[choice.row];
  std::string text = absl::StrCat(control.first, ":", control.second);
  auto addBuffer = [&](const BufferRow &buffer) {
    constexpr uint64_t alignment = 256;
    absl::StrAppend(&text, "_", buffer.size, "_", buffer.offset % alignment);
  };
  for (const StepRow &each :
       artifact->rows<StepRow>({step + 1, control.first + control.second})) {
    absl::StrAppend(&text, ":", static_cast<uint32_t>(each.kind));
    switch (each.kind) {
    case StepKind::Kernel: {
      const auto &call = artifact->rows<KernelCallRow>()[each.row];
      absl::StrAppend(
          &text, ":",
          artifact->text(artifact->rows<KernelRow>()[call.kernel].symbol));
      for (const BufferRow &buffer : artifact->rows<BufferRow>(call.buffers))
        addBuffer(buffer);
      break;
    }
    case StepKind::Matmul:
      // This cannot fail: the matmul has been planned before.
      absl::StrAppend(
          &text, ":",
          planMatmul(*artifact, artifact->rows<MatmulRow>()[each.row])
              ->getKey());
      break;
    case StepKind::Copy:
      addBuffer(artifact->rows<CopyRow>()[each.row].source);
      break;
    case StepKind::Fill:
      addBuffer(artifact->rows<FillRow>()[each.row].destination);
      break;
    default: // a choice: its steps follow in the table
      break;
    }
  }
  return absl::StrCat("choice:", absl::Hex(program->getCodeHash()), ":",
                      absl::Hex(hashBytes(text)));
}

absl::Status StepChoices::run(uint32_t step, int way,
                              const BufferPlaces &places,
                              cuda::Stream stream) const {
  absl::Span<const StepRow> steps = artifact->rows<StepRow>();
  auto [first, count] =
      getSteps(artifact->rows<ControlRow>()[steps[step].row], step, way);
  for (uint32_t i = first, end = first + count; i < end; ++i) {
    if (steps[i].kind != StepKind::Control) {
      TPRT_RETURN_IF_ERROR(runner->run(steps[i], places, counters, stream));
      continue;
    }
    const ControlRow &inner = artifact->rows<ControlRow>()[steps[i].row];
    TPRT_RETURN_IF_ERROR(
        run(i, takesSecond(steps[i].row) ? 1 : 0, places, stream));
    i += inner.first + inner.second;
  }
  return absl::OkStatus();
}

absl::StatusOr<TuningBench::Finding>
StepChoices::measure(uint32_t step, const BufferPlaces &memory,
                     TuningBench &bench) const {
  const ControlRow &control =
      artifact->rows<ControlRow>()[artifact->rows<StepRow>()[step].row];
  TPRT_ASSIGN_OR_RETURN(
      absl::optional<TuningOperands> operands,
      TuningOperands::create(*artifact,
                             {step + 1, control.first + control.second}, memory,
                             bench));
  if (!operands) // no memory for operands that are written
    return TuningBench::Finding{0, /*isCertain=*/false};
  return bench.findFastest(2, [&](int way, cuda::Stream stream) {
    return run(step, way, *operands, stream);
  });
}

/// Returns true if `bytes` is a valid cached result: one byte, which is 0 for
/// the first alternative of a choice, or 1 for the second.
static bool isWay(const std::string &bytes) {
  return bytes.size() == 1 && (bytes[0] == 0 || bytes[0] == 1);
}

absl::StatusOr<StepChoices>
StepChoices::create(const GpuProgram &program, const Artifact &artifact,
                    const BufferPlaces &memory, StepRunner &runner,
                    World &world, const std::string &tuning) {
  StepChoices choices(program, artifact, runner);
  absl::Span<const StepRow> steps = artifact.rows<StepRow>();
  std::vector<uint32_t> places;
  // Choices are made from the last to the first, so that an inner choice is
  // made before the outer one.
  for (size_t i = steps.size(); i-- > 0;)
    if (steps[i].kind == StepKind::Control &&
        artifact.rows<ControlRow>()[steps[i].row].kind == ControlKind::Choice)
      places.push_back(static_cast<uint32_t>(i));
  if (places.empty())
    return choices;
  Tunings found, kept;
  if (world.getRank() == 0) {
    Tunings known = loadTunings(tuning);
    absl::optional<TuningBench> bench;
    for (uint32_t place : places) {
      std::string key = choices.getKey(place);
      auto it = known.find(key);
      if (it != known.end() && isWay(it->second))
        found[key] = it->second;
      if (found.count(key) == 0) {
        if (!bench) {
          TPRT_ASSIGN_OR_RETURN(bench,
                                TuningBench::create(program.getDevice()));
        }
        TPRT_ASSIGN_OR_RETURN(TuningBench::Finding fastest,
                              choices.measure(place, memory, *bench));
        found[key] = std::string(1, static_cast<char>(fastest.way));
        if (fastest.isCertain)
          kept[key] = found[key];
      }
      choices.seconds[steps[place].row] = found[key][0] != 0;
    }
    if (!kept.empty())
      saveTunings(tuning, kept);
  }
  std::string kind = absl::StrCat(program.getDevice().name, ", code ",
                                  absl::Hex(program.getCodeHash()), "\n");
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> all,
                        world.exchange(absl::StrCat(kind, writeTunings(found)),
                                       "choosing the fastest steps"));
  if (!absl::StartsWith(all[0], kind))
    return makeError(ErrorCode::GpuMismatch, "rank ", world.getRank(), " has ",
                     absl::StripSuffix(kind, "\n"), ", but rank 0 has ",
                     all[0].substr(0, all[0].find('\n')),
                     "; run all ranks on one kind of GPU");
  found = parseTunings(all[0]);
  for (uint32_t place : places)
    choices.seconds[steps[place].row] =
        found[choices.getKey(place)] == std::string(1, 1);
  return choices;
}
