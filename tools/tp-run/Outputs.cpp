// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Outputs.h"

#include "Numbers.h"
#include "OutputFile.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Safetensors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>

using namespace tprt;

static std::vector<Artifact::Result> getResults(const Artifact &artifact,
                                                uint32_t entry) {
  return artifact.getResults(artifact.rows<EntryRow>()[entry]);
}

absl::Status tprun::printOutputs(Session &session, uint32_t entry) {
  const Artifact &artifact = session.getArtifact();
  for (const Artifact::Result &output : getResults(artifact, entry)) {
    TPRT_ASSIGN_OR_RETURN(std::string bytes, session.read(output.name));
    if (session.getFirstRank() != 0)
      continue; // all ranks read, one prints
    std::printf("%s: %s[%s]\n", std::string(output.name).c_str(),
                std::string(getName(output.dtype)).c_str(),
                absl::StrJoin(output.shape, ", ").c_str());
    std::vector<std::string> texts = format(output.dtype, bytes);
    size_t row =
        output.shape.empty() ? 1 : std::max<int64_t>(output.shape.back(), 1);
    for (size_t i = 0; i < texts.size(); ++i)
      std::printf("%s%c", texts[i].c_str(), (i + 1) % row == 0 ? '\n' : ' ');
  }
  return absl::OkStatus();
}

void tprun::noteRun(const Session &session, const std::string &entry,
                    absl::Duration time) {
  const Artifact &artifact = session.getArtifact();
  std::vector<std::string> names;
  for (const Artifact::Result &output :
       getResults(artifact, *artifact.findEntry(entry))) {
    std::string type;
    for (int64_t size : output.shape)
      absl::StrAppend(&type, size, "x");
    names.push_back(absl::StrCat(output.name, " tensor<", type,
                                 getName(output.dtype), ">"));
  }
  size_t all = names.size();
  names.resize(std::min<size_t>(all, 3));
  std::string results = all == 0   ? "no result"
                        : all == 1 ? "result "
                                   : "results ";
  absl::StrAppend(&results, absl::StrJoin(names, ", "));
  if (all > names.size())
    absl::StrAppend(&results, " and ", all - names.size(), " more");
  int ranks = session.getNumRanks();
  bool isShort = time < absl::Seconds(1);
  absl::FPrintF(stderr, "note: %d rank%s, 1 run of %s, %.1f %s, %s\n", ranks,
                ranks == 1 ? "" : "s", entry,
                isShort ? absl::ToDoubleMilliseconds(time)
                        : absl::ToDoubleSeconds(time),
                isShort ? "ms" : "s", results);
}

bool tprun::canName(const std::string &name) {
  std::string bytes = writeSafetensors({{name, {DType::F32, {0}, ""}}});
  auto read = parseSafetensors(bytes);
  return read.ok() && read->contains(name);
}

absl::Status tprun::checkOutputFile(const Session &session,
                                    const std::string &entry,
                                    const std::string &path) {
  const Artifact &artifact = session.getArtifact();
  // If the program has no entry of this name, the session reports that later.
  if (absl::optional<uint32_t> index = artifact.findEntry(entry)) {
    for (const Artifact::Result &output : getResults(artifact, *index)) {
      std::string name(output.name);
      if (!canName(name))
        return makeError(ErrorCode::BadOption,
                         "--output: a tensor in a safetensors file cannot have "
                         "the name of the output '",
                         name, "'; give it another tp.name");
    }
  }
  return session.getFirstRank() == 0 ? checkWritable(path) : absl::OkStatus();
}

absl::Status tprun::writeOutputs(Session &session, uint32_t entry,
                                 const std::string &path) {
  const Artifact &artifact = session.getArtifact();
  std::vector<Artifact::Result> outputs = getResults(artifact, entry);
  std::vector<std::string> bytes; // the tensors point into it
  bytes.reserve(outputs.size());
  absl::btree_map<std::string, StoredTensor> tensors;
  for (const Artifact::Result &output : outputs) {
    TPRT_ASSIGN_OR_RETURN(bytes.emplace_back(), session.read(output.name));
    tensors[std::string(output.name)] = {output.dtype, output.shape,
                                         bytes.back()};
  }
  if (session.getFirstRank() != 0)
    return absl::OkStatus(); // all ranks read, one writes
  return writeFile(path, writeSafetensors(tensors));
}
