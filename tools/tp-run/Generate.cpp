// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generate.h"

#include "Numbers.h"
#include "Process.h"
#include "Sampling.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"

#include "absl/time/clock.h"

#include <algorithm>

using namespace tprt;

/// Sets the first elements of an input to these integers, and the other
/// elements to zero.
static absl::Status bindIntegers(Session &session, absl::string_view name,
                                 absl::Span<const int64_t> values) {
  const Artifact &artifact = session.getArtifact();
  absl::optional<uint32_t> index = artifact.findInput(name);
  if (!index)
    return makeError(ErrorCode::UnknownName, "--generate expects an input '",
                     name, "', which the program does not have");
  const InputRow &input = artifact.rows<InputRow>()[*index];
  std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
  int64_t elements = *getNumElements(shape);
  if (isFloat(input.dtype) || (shape.size() > 1 && shape.back() != elements))
    return makeError(ErrorCode::InputMismatch, "--generate expects '", name,
                     "' to be integers for one sequence; compile the program "
                     "with batch=1");
  if (static_cast<int64_t>(values.size()) > elements)
    return makeError(ErrorCode::CacheFull, "the prompt has ", values.size(),
                     " tokens, but prefill takes at most ", elements,
                     "; import the model with a larger sequence=");
  std::vector<double> padded(elements);
  std::copy(values.begin(), values.end(), padded.begin());
  return session.bind(name, input.dtype, shape,
                      tprun::encode(input.dtype, padded));
}

/// Returns the entry's output that has the logits.
static absl::StatusOr<const OutputRow *>
findLogits(const Artifact &artifact, absl::string_view entryName) {
  absl::optional<uint32_t> entry = artifact.findEntry(entryName);
  if (!entry)
    return makeError(ErrorCode::UnknownName, "--generate expects an entry '",
                     entryName, "'; import the model with phase=generate");
  const OutputRow *found = nullptr;
  for (const OutputRow &output :
       artifact.rows<OutputRow>(artifact.rows<EntryRow>()[*entry].outputs)) {
    if (!isFloat(output.dtype) || output.dims.count == 0)
      continue;
    if (artifact.text(output.name) == "logits")
      return &output;
    if (!found && output.alias == kNone)
      found = &output;
  }
  if (!found)
    return makeError(ErrorCode::UnknownName, "the entry '", entryName,
                     "' does not return logits");
  return found;
}

/// Picks the next token from the logits of the input token at position `place`.
static absl::StatusOr<int64_t> pick(Session &session, const OutputRow &output,
                                    int64_t place, double temperature,
                                    uint64_t random) {
  const Artifact &artifact = session.getArtifact();
  TPRT_ASSIGN_OR_RETURN(std::string bytes,
                        session.read(artifact.text(output.name)));
  int64_t vocabulary = artifact.getGlobalShape(output.dims).back();
  int64_t row = vocabulary * getSize(output.dtype);
  int64_t rows = row == 0 ? 0 : static_cast<int64_t>(bytes.size()) / row;
  if (rows == 0)
    return makeError(ErrorCode::UnknownName, "the logits are empty");
  // The output has one row of logits, for the last token, or one row for each
  // token.
  int64_t at = rows == 1 ? 0 : std::min(place, rows - 1);
  return tprun::sample(output.dtype,
                       absl::string_view(bytes).substr(at * row, row),
                       temperature, random);
}

absl::StatusOr<std::vector<int64_t>>
tprun::generate(Session &session, const Options &options, bool prints) {
  const Artifact &artifact = session.getArtifact();
  TPRT_ASSIGN_OR_RETURN(std::vector<int64_t> prompt,
                        parseTokens(options.generate));
  TPRT_ASSIGN_OR_RETURN(const OutputRow *first,
                        findLogits(artifact, "prefill"));
  TPRT_ASSIGN_OR_RETURN(const OutputRow *next, findLogits(artifact, "decode"));
  int64_t vocabulary = artifact.getGlobalShape(first->dims).back();
  for (int64_t token : prompt)
    if (token >= vocabulary)
      return makeError(ErrorCode::BadOption,
                       "--generate: the prompt contains token ", token,
                       ", but the size of the vocabulary is ", vocabulary);
  auto length = static_cast<int64_t>(prompt.size());
  int64_t capacity =
      artifact.rows<EntryRow>()[*artifact.findEntry("decode")].positions;
  // The last generated token is not fed back.
  if (capacity > 0 && length + options.maxTokens - 1 > capacity)
    return makeError(ErrorCode::CacheFull, length, " tokens and ",
                     options.maxTokens, " new ones do not fit into a cache of ",
                     capacity,
                     "; lower --max_tokens or import with a larger cache=");
  TPRT_RETURN_IF_ERROR(session.resetState());
  TPRT_RETURN_IF_ERROR(bindIntegers(session, "tokens", prompt));
  TPRT_RETURN_IF_ERROR(bindIntegers(session, "length", {length}));
  absl::Time begin = absl::Now();
  TPRT_RETURN_IF_ERROR(session.run("prefill"));
  absl::Duration prefill = absl::Now() - begin;
  auto pickNext = [&](const OutputRow &output, int64_t place,
                      int64_t position) {
    return pick(session, output, place, options.temperature,
                mix(options.seed) + static_cast<uint64_t>(position));
  };
  TPRT_ASSIGN_OR_RETURN(int64_t token, pickNext(*first, length - 1, length));

  std::vector<int64_t> tokens;
  begin = absl::Now();
  for (int64_t position = length;; ++position) {
    if (prints) {
      std::printf("%s%lld", tokens.empty() ? "" : ",",
                  static_cast<long long>(token));
      TPRT_RETURN_IF_ERROR(flushStdout());
    }
    tokens.push_back(token);
    if (static_cast<int>(tokens.size()) == options.maxTokens ||
        options.endTokens.contains(token))
      break;
    TPRT_RETURN_IF_ERROR(bindIntegers(session, "token", {token}));
    TPRT_RETURN_IF_ERROR(bindIntegers(session, "position", {position}));
    TPRT_RETURN_IF_ERROR(session.run("decode"));
    TPRT_ASSIGN_OR_RETURN(token, pickNext(*next, 0, position + 1));
  }
  if (!prints)
    return tokens;
  std::printf("\n");
  double decode = absl::ToDoubleMilliseconds(absl::Now() - begin);
  std::fprintf(stderr, "prefill %.2f ms for %lld tokens",
               absl::ToDoubleMilliseconds(prefill),
               static_cast<long long>(length));
  if (tokens.size() > 1)
    std::fprintf(stderr, ", decode %.2f ms per token",
                 decode / static_cast<double>(tokens.size() - 1));
  if (options.endTokens.contains(tokens.back()))
    std::fprintf(stderr, "; ended by token %lld of %s",
                 static_cast<long long>(tokens.back()),
                 options.endTokens.source.c_str());
  std::fprintf(stderr, "\n");
  return tokens;
}
