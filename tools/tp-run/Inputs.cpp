// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"

#include "Numbers.h"
#include "Progress.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/Shapes.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <cmath>
#include <cstdio>

using namespace tprt;

/// Returns true if the type can hold the number. Integer types hold only whole
/// numbers in their range, and none beyond 2^53, where doubles are not exact.
static bool holds(DType dtype, double value) {
  if (isFloat(dtype))
    return true;
  bool isSigned = dtype >= DType::I64 && dtype <= DType::I8;
  int bits = dtype == DType::Bool ? 1 : static_cast<int>(8 * getSize(dtype));
  double end = std::ldexp(1.0, std::min(isSigned ? bits - 1 : bits, 53));
  return value == std::floor(value) && value >= (isSigned ? -end : 0) &&
         value < end;
}

static absl::Status bindFile(Session &session, const std::string &name,
                             const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFolder> file,
                        SafetensorsFolder::open(path));
  TPRT_ASSIGN_OR_RETURN(TensorReader tensor, file->find(name));
  TPRT_ASSIGN_OR_RETURN(std::string bytes, tensor.readAll());
  return session.bind(name, tensor.dtype, tensor.shape, bytes);
}

static absl::Status bindOne(Session &session, const std::string &name,
                            const std::string &value) {
  const Artifact &artifact = session.getArtifact();
  absl::optional<uint32_t> input = artifact.findInput(name);
  std::vector<uint32_t> parts = artifact.findParts(name);
  if (!input && parts.empty()) // the session reports the error
    return session.bind(name, DType::F32, {}, "");
  if (absl::EndsWith(value, ".safetensors"))
    return addContext(bindFile(session, name, value),
                      absl::StrCat("--input ", name, "=", value));
  // If the name is that of a stored tensor, the value is that whole tensor.
  const InputRow &row =
      artifact.rows<InputRow>()[input ? *input : parts.front()];
  std::vector<double> values;
  for (absl::string_view piece : absl::StrSplit(value, ',')) {
    values.emplace_back();
    if (!absl::SimpleAtod(piece, &values.back()))
      return makeError(ErrorCode::BadOption, "--input ", name, ": '", piece,
                       "' is neither a number nor a .safetensors file");
    if (!holds(row.dtype, values.back()))
      return makeError(ErrorCode::InputMismatch, "input '", name,
                       "' is of type ", getName(row.dtype),
                       ", which cannot hold ", piece, "; ",
                       std::abs(values.back()) < 0x1p53
                           ? "write whole numbers in its range"
                           : "give numbers from 2^53 on in a .safetensors "
                             "file");
  }
  std::vector<int64_t> shape = artifact.getGlobalShape(row.dims);
  if (!input) {
    absl::Span<const int64_t> stored =
        artifact.integers(artifact.getPartSource(parts.front())->stored);
    shape.assign(stored.begin(), stored.end());
  }
  if (uint64_t count = *getNumElements(shape); values.size() != count)
    return makeError(ErrorCode::InputMismatch, "input '", name, "' is ",
                     getName(row.dtype), "[", absl::StrJoin(shape, ", "),
                     "], which expects ", count, " numbers, got ",
                     values.size());
  return session.bind(name, row.dtype, shape, tprun::encode(row.dtype, values));
}

absl::StatusOr<std::vector<std::string>>
tprun::bindInputs(Session &session, const Options &options) {
  if (!options.weights.empty()) {
    Progress progress(absl::StrCat("loading weights from ", options.weights));
    auto opened = SafetensorsFolder::open(options.weights);
    if (!opened.ok())
      return addContext(opened.status(),
                        absl::StrCat("--weights=", options.weights));
    std::unique_ptr<SafetensorsFolder> weights = *std::move(opened);
    TPRT_RETURN_IF_ERROR(session.loadWeights(*weights));
  }
  absl::flat_hash_set<absl::string_view> given;
  if (!options.generate.empty())
    given.insert(std::begin(kGenerateInputs), std::end(kGenerateInputs));
  // The training loop binds the inputs of its entry; those of other entries are
  // not needed.
  if (!options.train.empty())
    for (const InputRow &input : session.getArtifact().rows<InputRow>())
      if (input.role == Role::Input)
        given.insert(session.getArtifact().text(input.name));
  for (const auto &[name, value] : options.inputs) {
    TPRT_RETURN_IF_ERROR(bindOne(session, name, value));
    given.insert(name);
  }
  const Artifact &artifact = session.getArtifact();
  std::vector<std::string> random;
  for (uint32_t i = 0; i < artifact.rows<InputRow>().size(); ++i) {
    const InputRow &input = artifact.rows<InputRow>()[i];
    absl::string_view name = artifact.text(input.name);
    const SourceRow *source = artifact.getPartSource(i);
    if (session.hasValue(i) || given.contains(name) ||
        (source && given.contains(artifact.text(source->tensor))))
      continue;
    TPRT_RETURN_IF_ERROR(session.bindRandom(name, options.seed));
    random.emplace_back(name);
  }
  return random;
}

void tprun::noteRandomInputs(std::vector<std::string> names) {
  size_t more = names.size();
  names.resize(std::min<size_t>(names.size(), 4));
  more -= names.size();
  std::fprintf(stderr, "note: random values for %s%s\n",
               absl::StrJoin(names, ", ").c_str(),
               more ? absl::StrFormat(" and %d more", more).c_str() : "");
}
