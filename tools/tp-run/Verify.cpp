// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Verify.h"

#include "MemoryFile.h"
#include "Numbers.h"
#include "Progress.h"
#include "TpOpt.h"
#include "runtime/Core/Errors.h"

#include "absl/strings/str_format.h"

#include <cmath>
#include <cstdio>

using namespace tprt;
using namespace tprun;

/// The five data sets that together cover all kinds of numbers (getDataSet),
/// and three random ones.
static constexpr int kNumDataSets = 8;

/// Returns a program that the artifact contains, as a file.
static absl::StatusOr<MemoryFile> getProgram(const Artifact &artifact,
                                             SectionKind kind) {
  absl::string_view bytes = artifact.bytes(kind);
  if (bytes.empty())
    return makeError(
        ErrorCode::NoWholeProgram,
        "the artifact does not contain the programs that it was compiled from; "
        "compile it with tp-opt --tp-compile --tp-artifact");
  return MemoryFile::create(bytes);
}

static absl::Status verifyPrograms(const MemoryFile &whole,
                                   const MemoryFile &local) {
  Progress progress("verifying the local program");
  absl::Status status =
      runCompiler({local.getPath(),
                   absl::StrCat("--tp-verify-against=whole=", whole.getPath(),
                                " field=true")});
  if (getErrorCode(status) == ErrorCode::CompilerFailed)
    return makeError(
        ErrorCode::CheckFailed,
        "the local program in the artifact could not be verified against the "
        "whole program; see the message of tp-opt above");
  return status;
}

namespace {
/// A data set, the whole program's outputs for it, and by how much the
/// artifact's outputs may differ.
struct Trial {
  std::string inputs, outputs, spreads;
};
} // namespace

static absl::StatusOr<Trial> makeTrial(const MemoryFile &whole,
                                       absl::string_view entry, uint64_t seed,
                                       int number) {
  TPRT_ASSIGN_OR_RETURN(MemoryFile inputs, MemoryFile::create());
  TPRT_ASSIGN_OR_RETURN(MemoryFile outputs, MemoryFile::create());
  TPRT_ASSIGN_OR_RETURN(MemoryFile spreads, MemoryFile::create());
  TPRT_RETURN_IF_ERROR(runCompiler(
      {whole.getPath(),
       absl::StrCat("--tp-write-trial=entry='", entry, "' seed=", seed,
                    " number=", number, " inputs=", inputs.getPath(),
                    " outputs=", outputs.getPath(),
                    " spreads=", spreads.getPath())}));
  Trial trial;
  TPRT_ASSIGN_OR_RETURN(trial.inputs, inputs.read());
  TPRT_ASSIGN_OR_RETURN(trial.outputs, outputs.read());
  TPRT_ASSIGN_OR_RETURN(trial.spreads, spreads.read());
  return trial;
}

static absl::Status bindTrial(Session &session, const EntryRow &entry,
                              absl::string_view file) {
  const Artifact &artifact = session.getArtifact();
  TPRT_ASSIGN_OR_RETURN(auto tensors, parseSafetensors(file));
  for (int64_t index : artifact.integers(entry.inputs)) {
    std::string name(artifact.text(artifact.rows<InputRow>()[index].name));
    auto found = tensors.find(name);
    const SourceRow *source = artifact.getPartSource(index);
    if (found == tensors.end() && source) {
      // The whole program has an input for the tensor that this input is a part
      // of.
      name = std::string(artifact.text(source->tensor));
      found = tensors.find(name);
    }
    if (found == tensors.end())
      return makeError(ErrorCode::CompilerBroke,
                       "tp-opt did not write the input '", name, "'");
    const StoredTensor &tensor = found->second;
    TPRT_RETURN_IF_ERROR(
        session.bindUsed(name, tensor.dtype, tensor.shape, tensor.data));
  }
  return absl::OkStatus();
}

/// Returns the first element that differs by more than allowed; -1 if there is
/// none.
static int64_t findWrong(DType dtype, absl::string_view got,
                         absl::string_view wanted, absl::string_view spread) {
  std::vector<double> a = decode(dtype, got), b = decode(dtype, wanted),
                      allowed = decode(DType::F64, spread);
  size_t size = getSize(dtype);
  for (size_t i = 0; i < b.size(); ++i) {
    // Compares bytes, as a double does not hold every 64-bit integer.
    bool isSame = got.substr(i * size, size) == wanted.substr(i * size, size) ||
                  a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    double apart = std::abs(a[i] - b[i]);
    if (!isSame && !std::isinf(allowed[i]) && !(apart <= allowed[i]))
      return static_cast<int64_t>(i);
  }
  return -1;
}

/// Prints nine digits: different f32 numbers get different texts.
static std::string print(double value) {
  return absl::StrFormat("%.9g", value);
}

static absl::Status compareTrial(Session &session, const EntryRow &entry,
                                 const Trial &trial, int number) {
  const Artifact &artifact = session.getArtifact();
  TPRT_ASSIGN_OR_RETURN(auto wanted, parseSafetensors(trial.outputs));
  TPRT_ASSIGN_OR_RETURN(auto spreads, parseSafetensors(trial.spreads));
  for (const Artifact::Result &output : artifact.getResults(entry)) {
    std::string name(output.name);
    TPRT_ASSIGN_OR_RETURN(std::string got, session.read(name));
    auto expected = wanted.find(name);
    if (expected == wanted.end() || expected->second.data.size() != got.size())
      return makeError(ErrorCode::CompilerBroke,
                       "tp-opt did not write the output '", name, "'");
    absl::string_view data = expected->second.data;
    absl::string_view allowed = spreads.find(name)->second.data;
    int64_t place = findWrong(output.dtype, got, data, allowed);
    if (place < 0)
      continue;
    size_t size = getSize(output.dtype), at = place * size;
    return makeError(
        ErrorCode::CheckFailed, "entry '", artifact.text(entry.name),
        "', data set ", number, ": element ", place, " of output '", name,
        "' is ", print(decode(output.dtype, got.substr(at, size)).front()),
        ", but in the whole program it is ",
        print(decode(output.dtype, data.substr(at, size)).front()),
        "; rounding explains a difference of at most ",
        print(decode(DType::F64, allowed.substr(place * 8, 8)).front()));
  }
  return absl::OkStatus();
}

static absl::Status verifyEntry(Session &session, const MemoryFile &whole,
                                const EntryRow &entry, uint64_t seed) {
  std::string name(session.getArtifact().text(entry.name));
  {
    Progress progress(absl::StrCat("running '", name, "' on data sets"));
    for (int number = 0; number < kNumDataSets; ++number) {
      TPRT_ASSIGN_OR_RETURN(Trial trial, makeTrial(whole, name, seed, number));
      TPRT_RETURN_IF_ERROR(bindTrial(session, entry, trial.inputs));
      TPRT_RETURN_IF_ERROR(session.run(name));
      TPRT_RETURN_IF_ERROR(compareTrial(session, entry, trial, number));
    }
  }
  std::printf("verify %s: ok on %d data sets\n", name.c_str(), kNumDataSets);
  return absl::OkStatus();
}

absl::Status tprun::verifyArtifact(Session &session, const Options &options) {
  const Artifact &artifact = session.getArtifact();
  TPRT_ASSIGN_OR_RETURN(MemoryFile whole,
                        getProgram(artifact, SectionKind::GlobalProgram));
  TPRT_ASSIGN_OR_RETURN(MemoryFile local,
                        getProgram(artifact, SectionKind::LocalProgram));
  TPRT_RETURN_IF_ERROR(verifyPrograms(whole, local));
  std::printf("verify the local program: ok\n");
  for (const EntryRow &entry : artifact.rows<EntryRow>())
    if (options.entry.empty() || artifact.text(entry.name) == options.entry)
      TPRT_RETURN_IF_ERROR(verifyEntry(session, whole, entry, options.seed));
  return absl::OkStatus();
}
