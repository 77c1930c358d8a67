// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TrainingData.h"

#include "TokenFile.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Shapes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

using namespace tprt;
using namespace tprun;

static std::string describe(DType dtype, absl::Span<const int64_t> shape) {
  return absl::StrCat(getName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

/// Returns the inputs that the data set provides.
static std::vector<const InputRow *>
findInputs(const Artifact &artifact, uint32_t entry, const Options &options) {
  std::vector<const InputRow *> inputs;
  for (int64_t index :
       artifact.integers(artifact.rows<EntryRow>()[entry].inputs)) {
    const InputRow &input = artifact.rows<InputRow>()[index];
    auto isIt = [&](const std::pair<std::string, std::string> &given) {
      return given.first == artifact.text(input.name);
    };
    if (input.role == Role::Input && absl::c_none_of(options.inputs, isIt))
      inputs.push_back(&input);
  }
  return inputs;
}

absl::StatusOr<TrainingData> TrainingData::open(const Artifact &artifact,
                                                uint32_t entry,
                                                const Options &options) {
  std::vector<const InputRow *> inputs = findInputs(artifact, entry, options);
  if (inputs.empty())
    return makeError(ErrorCode::TrainingData, "--train=", options.train,
                     ": all inputs of '",
                     artifact.text(artifact.rows<EntryRow>()[entry].name),
                     "' are given by --input, so none is left to read this "
                     "data; leave out one --input");
  TrainingData data;
  struct stat info;
  bool isFolder =
      ::stat(options.train.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (absl::EndsWith(options.train, ".bin"))
    TPRT_RETURN_IF_ERROR(data.openTokens(artifact, inputs, options.train));
  else if (isFolder || absl::EndsWith(options.train, ".safetensors"))
    TPRT_RETURN_IF_ERROR(data.openTensors(artifact, inputs, options.train));
  else
    return makeError(ErrorCode::TrainingData, "--train=", options.train,
                     ": expects tokens in a .bin file, or tensors in a "
                     ".safetensors file or a folder of such files");
  if (data.samples < data.samplesPerStep)
    return makeError(ErrorCode::TrainingData, "--train=", options.train,
                     " has ", data.samples, " samples, but one step takes ",
                     data.samplesPerStep,
                     "; give more data, or import the program with a smaller "
                     "batch");
  data.order.emplace(data.samples, options.seed);
  return data;
}

/// Adds a column. All columns must have the same number of samples, and use the
/// same number per step.
absl::Status TrainingData::addColumn(Column column, size_t sampleDims,
                                     uint64_t count) {
  size_t leading = column.shape.size() - sampleDims;
  uint64_t perStep = 1, elements = 1;
  for (size_t i = 0; i < column.shape.size(); ++i)
    (i < leading ? perStep : elements) *= column.shape[i];
  if (perStep == 0 || elements == 0)
    return makeError(ErrorCode::TrainingData, "input '", column.input, "' is ",
                     describe(column.dtype, column.shape),
                     ", but a dimension of size 0 leaves no data for a sample");
  if (!columns.empty() && perStep != samplesPerStep)
    return makeError(ErrorCode::TrainingData, "input '", column.input, "' is ",
                     describe(column.dtype, column.shape), " and takes ",
                     perStep, " samples a step, but input '",
                     columns.front().input, "' takes ", samplesPerStep,
                     "; give one of them by --input");
  if (!columns.empty() && count != samples)
    return makeError(ErrorCode::TrainingData, "the data has ", count,
                     " samples for '", column.input, "', but ", samples,
                     " for '", columns.front().input,
                     "'; the first dimension of all tensors counts samples");
  samplesPerStep = perStep;
  samples = count;
  column.sampleBytes = elements * getSize(column.dtype);
  columns.push_back(std::move(column));
  return absl::OkStatus();
}

/// Reads tokens as elements of an integer type, which must be able to hold
/// them.
static absl::Status readTokens(const TensorReader &tokens, DType dtype,
                               absl::string_view input, uint64_t first,
                               uint64_t count, char *to) {
  uint64_t storedSize = getSize(tokens.dtype), size = getSize(dtype);
  std::string stored(count * storedSize, '\0');
  TPRT_RETURN_IF_ERROR(
      tokens.read(first * storedSize, stored.size(), &stored[0]));
  bool isSigned = dtype >= DType::I64 && dtype <= DType::I8;
  uint64_t most = ~uint64_t{0} >> (64 - 8 * size + (isSigned ? 1 : 0));
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t token = 0; // little-endian, like the machine
    std::memcpy(&token, &stored[i * storedSize], storedSize);
    if (token > most)
      return makeError(ErrorCode::TrainingData, "token ", first + i, " is ",
                       token, ", which is too large for the input '", input,
                       "' of ", getName(dtype));
    std::memcpy(to + i * size, &token, size);
  }
  return absl::OkStatus();
}

absl::Status TrainingData::openTokens(const Artifact &artifact,
                                      absl::Span<const InputRow *const> inputs,
                                      const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(TensorReader tokens, openTokenFile(path));
  auto isNamed = [&](absl::string_view name) {
    return absl::c_any_of(inputs, [&](const InputRow *input) {
      return artifact.text(input->name) == name;
    });
  };
  // Targets need one more token after the last sample.
  uint64_t count = tokens.shape[0], ahead = isNamed("targets") ? 1 : 0;
  for (const InputRow *input : inputs) {
    absl::string_view name = artifact.text(input->name);
    bool isTarget = inputs.size() > 1 && name == "targets";
    if (inputs.size() > 1 && name != "tokens" && name != "labels" && !isTarget)
      return makeError(
          ErrorCode::TrainingData, "--train=", path,
          ": a token file has values for 'tokens', 'labels' and 'targets', but "
          "none for the input '",
          name,
          "'; give that input by --input, or all inputs in a safetensors file");
    std::vector<int64_t> shape = artifact.getGlobalShape(input->dims);
    if (isFloat(input->dtype) || input->dtype == DType::Bool || shape.empty())
      return makeError(ErrorCode::TrainingData, "--train=", path, ": input '",
                       name, "' is ", describe(input->dtype, shape),
                       ", but an input of tokens must have integers and a row "
                       "for each sample; give the input by --input, or all "
                       "inputs in a safetensors file");
    auto own = static_cast<uint64_t>(shape.back());
    if (!columns.empty() && own != sequence)
      return makeError(ErrorCode::TrainingData, "--train=", path, ": input '",
                       name, "' takes ", own,
                       " tokens of a sample, but input '",
                       columns.front().input, "' takes ", sequence);
    sequence = own;
    Column column{std::string(name), input->dtype, shape, 0, nullptr, tokens};
    column.read = [=, dtype = input->dtype,
                   input = column.input](uint64_t sample, uint64_t begin,
                                         uint64_t size, char *to) {
      return readTokens(tokens, dtype, input,
                        sample * own + (isTarget ? 1 : 0) +
                            begin / getSize(dtype),
                        size / getSize(dtype), to);
    };
    uint64_t found = own == 0 || count < ahead ? 0 : (count - ahead) / own;
    TPRT_RETURN_IF_ERROR(addColumn(std::move(column), 1, found));
  }
  return absl::OkStatus();
}

absl::Status TrainingData::openTensors(const Artifact &artifact,
                                       absl::Span<const InputRow *const> inputs,
                                       const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(folder, SafetensorsFolder::open(path));
  for (const InputRow *input : inputs) {
    std::string name(artifact.text(input->name));
    auto found = folder->find(name);
    if (getErrorCode(found.status()) == ErrorCode::WeightsMissing)
      return makeError(
          ErrorCode::TrainingData, "--train=", path,
          ": the data has no tensor called '", name, "'",
          "; add it, with a row for each sample, or give the input by --input");
    if (!found.ok())
      return addContext(found.status(), absl::StrCat("--train=", path));
    TensorReader tensor = *std::move(found);
    std::vector<int64_t> shape = artifact.getGlobalShape(input->dims);
    size_t sampleDims = tensor.shape.empty() ? 0 : tensor.shape.size() - 1;
    bool fits = !tensor.shape.empty() && tensor.dtype == input->dtype &&
                sampleDims <= shape.size() && shape.size() <= sampleDims + 2 &&
                std::equal(tensor.shape.begin() + 1, tensor.shape.end(),
                           shape.end() - static_cast<long>(sampleDims));
    if (!fits)
      return makeError(
          ErrorCode::TrainingData, "--train=", path, ": tensor '", name,
          "' is ", describe(tensor.dtype, tensor.shape), ", but the input is ",
          describe(input->dtype, shape),
          "; the tensor's first dimension must count samples, and its other "
          "dimensions must be the last ones of the input");
    Column column{name, input->dtype, shape, 0, nullptr, tensor};
    uint64_t bytes = getSize(tensor.dtype);
    for (size_t i = 1; i < tensor.shape.size(); ++i)
      bytes *= tensor.shape[i];
    column.read = [read = tensor.read, bytes](uint64_t sample, uint64_t begin,
                                              uint64_t size, char *to) {
      return read(sample * bytes + begin, size, to);
    };
    TPRT_RETURN_IF_ERROR(
        addColumn(std::move(column), sampleDims, tensor.shape[0]));
  }
  return absl::OkStatus();
}

absl::Status TrainingData::readRows(const Column &column, uint64_t step,
                                    uint64_t begin, uint64_t size,
                                    char *to) const {
  while (size > 0) {
    uint64_t row = begin / column.sampleBytes;
    uint64_t inRow = begin % column.sampleBytes;
    uint64_t count = std::min(column.sampleBytes - inRow, size);
    uint64_t sample = order->getSample(step * samplesPerStep + row);
    TPRT_RETURN_IF_ERROR(column.read(sample, inRow, count, to));
    begin += count;
    to += count;
    size -= count;
  }
  return absl::OkStatus();
}

absl::Status TrainingData::bind(Session &session, uint64_t step) const {
  for (const Column &column : columns)
    TPRT_RETURN_IF_ERROR(session.bindRows(
        column.input, {column.dtype, column.shape,
                       [&](uint64_t begin, uint64_t size, char *to) {
                         return readRows(column, step, begin, size, to);
                       }}));
  return absl::OkStatus();
}

absl::Status TrainingData::agree(Session &session) const {
  std::vector<std::string> digests;
  for (const Column &column : columns) {
    TPRT_ASSIGN_OR_RETURN(std::string digest, describeStored(column.stored));
    digests.push_back(std::move(digest));
  }
  session.agree("--train", absl::StrJoin(digests, " and "));
  return absl::OkStatus();
}
