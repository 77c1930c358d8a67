// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Train.h"

#include "Numbers.h"
#include "OutputFile.h"
#include "Parameters.h"
#include "TrainLog.h"
#include "TrainingData.h"
#include "runtime/Core/Errors.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <cmath>

using namespace tprt;
using namespace tprun;

namespace {

/// The outputs of an entry that are read after each step.
struct Scalars {
  const OutputRow *loss = nullptr;
  std::vector<const OutputRow *> others;
};

} // namespace

static absl::StatusOr<Scalars> findScalars(const Artifact &artifact,
                                           const EntryRow &entry) {
  Scalars scalars;
  std::vector<const OutputRow *> floats;
  bool trains = false;
  for (const OutputRow &output : artifact.rows<OutputRow>(entry.outputs)) {
    if (output.alias != kNone) {
      trains |= artifact.rows<InputRow>()[output.alias].role == Role::Parameter;
      continue;
    }
    if (output.dims.count > 0)
      continue;
    scalars.others.push_back(&output);
    if (isFloat(output.dtype))
      floats.push_back(&output);
    if (artifact.text(output.name) == "loss")
      scalars.loss = &output;
  }
  if (!trains)
    return makeError(ErrorCode::BadOption, "--train: the entry '",
                     artifact.text(entry.name),
                     "' does not update a parameter; make a training step with "
                     "tp-opt --tp-train, or name its entry with --entry");
  if (!scalars.loss && floats.size() == 1)
    scalars.loss = floats.front();
  if (!scalars.loss)
    return makeError(ErrorCode::BadOption, "--train: the entry '",
                     artifact.text(entry.name), "' has ", floats.size(),
                     " outputs that could be the loss, but exactly one scalar "
                     "float is expected; give one the tp.name \"loss\"");
  scalars.others.erase(absl::c_find(scalars.others, scalars.loss));
  return scalars;
}

static absl::StatusOr<double> readScalar(Session &session,
                                         const OutputRow &output) {
  TPRT_ASSIGN_OR_RETURN(std::string bytes,
                        session.read(session.getArtifact().text(output.name)));
  return decode(output.dtype, bytes).front();
}

static absl::StatusOr<TrainedStep>
runStep(Session &session, const Options &options, const std::string &entry,
        const Scalars &scalars, const TrainingData &data, uint64_t number) {
  const Artifact &artifact = session.getArtifact();
  TrainedStep step = {};
  step.number = number + 1;
  step.last = static_cast<uint64_t>(options.steps);
  step.samples = data.getSamplesPerStep();
  step.tokens = data.getTokensPerStep();
  absl::Time begin = absl::Now();
  TPRT_RETURN_IF_ERROR(data.bind(session, number));
  TPRT_RETURN_IF_ERROR(session.run(entry));
  TPRT_ASSIGN_OR_RETURN(step.loss, readScalar(session, *scalars.loss));
  for (const OutputRow *output : scalars.others) {
    TPRT_ASSIGN_OR_RETURN(double value, readScalar(session, *output));
    step.scalars.emplace_back(artifact.text(output->name), value);
  }
  double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  step.time = split(artifact, session.takeTimes().front(), seconds);
  return step;
}

absl::Status tprun::train(Session &session, const Options &options,
                          const std::string &entry) {
  const Artifact &artifact = session.getArtifact();
  absl::optional<uint32_t> index = artifact.findEntry(entry);
  if (!index)
    return session.run(entry); // reports that there is no such entry
  TPRT_ASSIGN_OR_RETURN(
      Scalars scalars,
      findScalars(artifact, artifact.rows<EntryRow>()[*index]));
  TPRT_ASSIGN_OR_RETURN(TrainingData data,
                        TrainingData::open(artifact, *index, options));
  TPRT_RETURN_IF_ERROR(data.agree(session));
  bool isFirst = session.getFirstRank() == 0;
  if (!options.output.empty())
    TPRT_RETURN_IF_ERROR(checkParameterFile(session, options.output));
  TPRT_ASSIGN_OR_RETURN(TrainLog log,
                        TrainLog::open(isFirst ? options.log : ""));
  session.recordTimes(true);
  for (int64_t number = 0; number < options.steps; ++number) {
    TPRT_ASSIGN_OR_RETURN(TrainedStep step,
                          runStep(session, options, entry, scalars, data,
                                  static_cast<uint64_t>(number)));
    if (isFirst)
      TPRT_RETURN_IF_ERROR(log.add(step));
    if (!std::isfinite(step.loss))
      return makeError(ErrorCode::LossNotFinite, "the loss of step ",
                       step.number, " is ", step.loss,
                       "; lower the learning rate, clip gradients or look for "
                       "wrong rows in ",
                       options.train);
  }
  session.recordTimes(false);
  return options.output.empty() ? absl::OkStatus()
                                : writeParameters(session, options.output);
}
