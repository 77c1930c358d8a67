// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parameters.h"

#include "OutputFile.h"
#include "Outputs.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/Weights.h"

using namespace tprt;
using namespace tprun;

namespace {

/// A tensor of the file.
struct Tensor {
  DType dtype;
  std::vector<int64_t> shape;
  int64_t covered = 0; ///< How many of its elements are in parameters.
  std::string bytes;
};

} // namespace

using Tensors = absl::btree_map<std::string, Tensor>;

static bool isParameter(const InputRow &input) {
  return input.role == Role::Parameter;
}

/// Lists the tensors of the file, without their bytes.
static Tensors listTensors(const Artifact &artifact) {
  Tensors tensors;
  for (const InputRow &input : artifact.rows<InputRow>()) {
    if (!isParameter(input))
      continue;
    if (input.sources.count == 0) {
      std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
      int64_t elements = *getNumElements(shape);
      tensors[std::string(artifact.text(input.name))] = {
          input.dtype, std::move(shape), elements, ""};
    }
    for (const SourceRow &source : artifact.rows<SourceRow>(input.sources)) {
      absl::Span<const int64_t> stored = artifact.integers(source.stored);
      Tensor &tensor = tensors[std::string(artifact.text(source.tensor))];
      tensor.dtype = input.dtype;
      tensor.shape.assign(stored.begin(), stored.end());
      tensor.covered += *getNumElements(artifact.integers(source.size));
    }
  }
  return tensors;
}

absl::Status tprun::checkParameterFile(const Session &session,
                                       const std::string &path) {
  for (const auto &[name, tensor] : listTensors(session.getArtifact())) {
    if (!canName(name))
      return makeError(ErrorCode::BadOption,
                       "--output: a tensor in a safetensors file cannot have "
                       "the name of the parameter '",
                       name, "'; give it another tp.name");
    int64_t elements = *getNumElements(tensor.shape);
    if (tensor.covered < elements)
      return makeError(
          ErrorCode::BadOption, "--output: the program has only ",
          tensor.covered, " of the ", elements, " elements of '", name,
          "', so the parameter cannot be written; leave --output out");
  }
  return session.getFirstRank() == 0 ? checkWritable(path) : absl::OkStatus();
}

absl::Status tprun::writeParameters(Session &session, const std::string &path) {
  const Artifact &artifact = session.getArtifact();
  Tensors tensors = listTensors(artifact);
  for (auto &[name, tensor] : tensors)
    tensor.bytes.resize(*getNumElements(tensor.shape) * getSize(tensor.dtype));
  for (const InputRow &input : artifact.rows<InputRow>()) {
    if (!isParameter(input))
      continue;
    std::string name(artifact.text(input.name));
    TPRT_ASSIGN_OR_RETURN(std::string whole, session.readInput(name));
    if (input.sources.count == 0) {
      tensors[name].bytes = std::move(whole);
      continue;
    }
    std::vector<StoredBytes> targets;
    for (const SourceRow &source : artifact.rows<SourceRow>(input.sources)) {
      Tensor &tensor = tensors[std::string(artifact.text(source.tensor))];
      targets.push_back({tensor.dtype, &tensor.bytes[0]});
    }
    storeSources(artifact, input, whole.data(), targets);
  }
  if (session.getFirstRank() != 0)
    return absl::OkStatus(); // all ranks read, one writes
  absl::btree_map<std::string, StoredTensor> stored;
  for (const auto &[name, tensor] : tensors)
    stored[name] = {tensor.dtype, tensor.shape, tensor.bytes};
  return writeFile(path, writeSafetensors(stored));
}
