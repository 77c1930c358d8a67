// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StridedCopy.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <cstdio>

using namespace tprt;

/// Whether the doubles are converted by copyStrided; other types are integers.
static bool convertsFromDouble(DType dtype) {
  return canConvert(DType::F64, dtype);
}

std::string tprun::encode(DType dtype, absl::Span<const double> values) {
  int64_t size = tprt::getSize(dtype);
  std::string bytes(values.size() * size, '\0');
  if (convertsFromDouble(dtype)) {
    copyStrided(dtype, &bytes[0], {1}, DType::F64,
                reinterpret_cast<const char *>(values.data()), {1},
                {static_cast<int64_t>(values.size())});
    return bytes;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    auto integer = static_cast<int64_t>(values[i]);
    std::memcpy(&bytes[i * size], &integer, size); // the low bytes
  }
  return bytes;
}

std::vector<double> tprun::decode(DType dtype, absl::string_view bytes) {
  int64_t size = tprt::getSize(dtype);
  std::vector<double> values(bytes.size() / size);
  if (convertsFromDouble(dtype)) {
    copyStrided(DType::F64, reinterpret_cast<char *>(values.data()), {1}, dtype,
                bytes.data(), {1}, {static_cast<int64_t>(values.size())});
    return values;
  }
  bool isSigned = dtype >= DType::I64 && dtype <= DType::I8;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    uint64_t sign = uint64_t{1} << (8 * size - 1);
    values[i] =
        isSigned
            ? static_cast<double>(static_cast<int64_t>((bits ^ sign) - sign))
            : static_cast<double>(bits);
  }
  return values;
}

static absl::Status bindOne(Session &session, const std::string &name,
                            const std::string &value) {
  if (absl::EndsWith(value, ".safetensors")) {
    TPRT_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFolder> file,
                          SafetensorsFolder::open(value));
    TPRT_ASSIGN_OR_RETURN(StoredTensor tensor, file->find(name));
    return session.bind(name, tensor.dtype, tensor.shape, tensor.data);
  }
  const Artifact &artifact = session.getArtifact();
  absl::optional<uint32_t> input = artifact.findInput(name);
  if (!input) // the session words that error
    return session.bind(name, DType::F32, {}, "");
  const InputRow &row = artifact.rows<InputRow>()[*input];
  std::vector<double> values;
  for (absl::string_view piece : absl::StrSplit(value, ',')) {
    values.emplace_back();
    if (!absl::SimpleAtod(piece, &values.back()))
      return makeError(ErrorCode::BadOption, "--input ", name, "=", value,
                       ": '", piece,
                       "' is neither a number nor a .safetensors file");
  }
  std::vector<int64_t> shape = artifact.getGlobalShape(row.dims);
  return session.bind(name, row.dtype, shape, tprun::encode(row.dtype, values));
}

absl::Status tprun::bindInputs(Session &session, const Options &options,
                               absl::Span<const absl::string_view> ours) {
  if (!options.weights.empty()) {
    TPRT_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFolder> weights,
                          SafetensorsFolder::open(options.weights));
    TPRT_RETURN_IF_ERROR(session.loadWeights(*weights));
  }
  absl::flat_hash_set<absl::string_view> given(ours.begin(), ours.end());
  for (const auto &[name, value] : options.inputs) {
    TPRT_RETURN_IF_ERROR(bindOne(session, name, value));
    given.insert(name);
  }
  const Artifact &artifact = session.getArtifact();
  std::vector<absl::string_view> random;
  for (const InputRow &input : artifact.rows<InputRow>()) {
    absl::string_view name = artifact.text(input.name);
    bool isLoaded = !options.weights.empty() && input.source != kNone;
    if (input.role == Role::State || isLoaded || given.contains(name))
      continue;
    TPRT_RETURN_IF_ERROR(session.bindRandom(name, options.seed));
    random.push_back(name);
  }
  if (!random.empty() && session.getFirstRank() == 0) {
    size_t more = random.size();
    random.resize(std::min<size_t>(random.size(), 4));
    more -= random.size();
    std::fprintf(stderr, "note: random values for %s%s\n",
                 absl::StrJoin(random, ", ").c_str(),
                 more ? absl::StrFormat(" and %d more", more).c_str() : "");
  }
  return absl::OkStatus();
}

absl::Status tprun::printOutputs(Session &session, uint32_t entry) {
  const Artifact &artifact = session.getArtifact();
  for (const OutputRow &output :
       artifact.rows<OutputRow>(artifact.rows<EntryRow>()[entry].outputs)) {
    absl::string_view name = artifact.text(output.name);
    TPRT_ASSIGN_OR_RETURN(std::string bytes, session.read(name));
    if (session.getFirstRank() != 0)
      continue; // all ranks read, one prints
    std::vector<int64_t> shape = artifact.getGlobalShape(output.dims);
    std::printf("%s: %s[%s]\n", std::string(name).c_str(),
                std::string(getName(output.dtype)).c_str(),
                absl::StrJoin(shape, ", ").c_str());
    std::vector<double> values = decode(output.dtype, bytes);
    size_t row = shape.empty() ? 1 : std::max<int64_t>(shape.back(), 1);
    for (size_t i = 0; i < values.size(); ++i)
      std::printf("%.9g%c", values[i], (i + 1) % row == 0 ? '\n' : ' ');
  }
  return absl::OkStatus();
}
