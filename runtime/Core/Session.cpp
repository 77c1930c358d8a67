// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Session.h"

#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/Weights.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

/// How long an aborted run may take to notice the abort.
static constexpr absl::Duration kPatience = absl::Seconds(3);

absl::Status Session::checkIdle() {
  if (!isStuck && threads->isBusy())
    return makeError(
        ErrorCode::WrongState,
        "a run has been started and is not finished; wait for it first");
  return failure;
}

absl::StatusOr<uint32_t> Session::findInput(absl::string_view name) const {
  absl::optional<uint32_t> input = artifact->findInput(name);
  if (input)
    return *input;
  std::vector<absl::string_view> names;
  for (const InputRow &row : artifact->rows<InputRow>())
    names.push_back(artifact->text(row.name));
  names.resize(std::min<size_t>(names.size(), 8));
  return makeError(ErrorCode::UnknownName, "the program has no input '", name,
                   "'; it has ", absl::StrJoin(names, ", "));
}

/// Returns a type and a shape as text, for example `f32[8, 512]`.
static std::string describeTensor(DType dtype,
                                  absl::Span<const int64_t> shape) {
  return absl::StrCat(getName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

/// Checks that each bool is 0 or 1, since compiled code looks at only one of
/// its bits.
static absl::Status checkBools(absl::string_view name, DType dtype,
                               absl::string_view bytes) {
  if (dtype != DType::Bool)
    return absl::OkStatus();
  size_t other = bytes.find_first_not_of(absl::string_view("\0\1", 2));
  if (other == absl::string_view::npos)
    return absl::OkStatus();
  return makeError(ErrorCode::InputMismatch, "element ", other, " of input '",
                   name, "' is the byte ",
                   static_cast<int>(static_cast<unsigned char>(bytes[other])),
                   ", but a bool must be 0 or 1");
}

/// Returns the name by which an input is compared between ranks.
static std::string nameInput(absl::string_view name) {
  return absl::StrCat("input '", name, "'");
}

absl::Status Session::bind(absl::string_view name, DType dtype,
                           absl::Span<const int64_t> shape,
                           absl::string_view bytes) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  std::vector<uint32_t> parts = artifact->findParts(name);
  if (parts.empty() || artifact->findInput(name)) {
    TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
    TPRT_RETURN_IF_ERROR(writeWhole(index, dtype, shape, bytes));
  }
  for (uint32_t part : parts)
    TPRT_RETURN_IF_ERROR(bindPart(part, dtype, shape, bytes));
  if (isOneOfMany())
    agree(nameInput(name), describeBytes(bytes));
  return absl::OkStatus();
}

absl::Status Session::bindLocal(absl::string_view name, DType dtype,
                                absl::Span<const int64_t> shape,
                                absl::string_view bytes) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  TPRT_RETURN_IF_ERROR(writeWhole(index, dtype, shape, bytes));
  agree(nameInput(name), "set for this rank only");
  return absl::OkStatus();
}

absl::Status Session::bindRows(absl::string_view name,
                               const TensorReader &tensor) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  const InputRow &input = artifact->rows<InputRow>()[index];
  TPRT_RETURN_IF_ERROR(checkTensor(input, tensor.dtype, tensor.shape));
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
      TPRT_RETURN_IF_ERROR(
          loadWhole(*artifact, input, rank.number, tensor, block));
      auto bytes = static_cast<size_t>(artifact->getLocalBytes(input));
      return checkBools(name, input.dtype, {block, bytes});
    }));
  isBound[index] = true;
  agree(nameInput(name), "set for this rank only");
  return absl::OkStatus();
}

void Session::agree(absl::string_view name, absl::string_view value) {
  if (isOneOfMany())
    agreement.note(name, value);
}

absl::Status Session::checkTensor(const InputRow &input, DType dtype,
                                  absl::Span<const int64_t> shape) const {
  std::vector<int64_t> wanted = artifact->getGlobalShape(input.dims);
  if (dtype == input.dtype && shape == absl::MakeConstSpan(wanted))
    return absl::OkStatus();
  return makeError(ErrorCode::InputMismatch, "input '",
                   artifact->text(input.name), "' must be ",
                   describeTensor(input.dtype, wanted), ", got ",
                   describeTensor(dtype, shape));
}

absl::Status Session::writeWhole(uint32_t index, DType dtype,
                                 absl::Span<const int64_t> shape,
                                 absl::string_view bytes) {
  const InputRow &input = artifact->rows<InputRow>()[index];
  absl::string_view name = artifact->text(input.name);
  TPRT_RETURN_IF_ERROR(checkTensor(input, dtype, shape));
  uint64_t size = *getNumElements(shape) * getSize(dtype);
  if (bytes.size() != size)
    return makeError(ErrorCode::InputMismatch, "input '", name, "' expects ",
                     size, " bytes, got ", bytes.size());
  TPRT_RETURN_IF_ERROR(checkBools(name, dtype, bytes));
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
      scatterBlock(*artifact, input.dims, dtype, rank.number, bytes.data(),
                   block);
      return absl::OkStatus();
    }));
  isBound[index] = true;
  return absl::OkStatus();
}

absl::Status Session::writePart(uint32_t index, const TensorReader &tensor) {
  const InputRow &input = artifact->rows<InputRow>()[index];
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
      return loadSources(*artifact, input, rank.number, {tensor}, block);
    }));
  isBound[index] = true;
  return absl::OkStatus();
}

/// Makes a tensor that is read from bytes in memory, which must outlive it.
static TensorReader makeTensor(DType dtype, absl::Span<const int64_t> shape,
                               absl::string_view bytes) {
  return {dtype,
          {shape.begin(), shape.end()},
          [bytes](uint64_t begin, uint64_t size, char *to) {
            std::memcpy(to, bytes.data() + begin, size);
            return absl::OkStatus();
          }};
}

absl::Status Session::bindPart(uint32_t index, DType dtype,
                               absl::Span<const int64_t> shape,
                               absl::string_view bytes) {
  const InputRow &input = artifact->rows<InputRow>()[index];
  const SourceRow &source = *artifact->getPartSource(index);
  absl::Span<const int64_t> wanted = artifact->integers(source.stored);
  uint64_t size = *getNumElements(wanted) * getSize(dtype);
  if (dtype != input.dtype || shape != wanted || bytes.size() != size)
    return makeError(
        ErrorCode::InputMismatch, "input '", artifact->text(source.tensor),
        "' must be ", describeTensor(input.dtype, wanted), ", got ",
        describeTensor(dtype, shape), " in ", bytes.size(), " bytes");
  return writePart(index, makeTensor(dtype, shape, bytes));
}

/// Makes a tensor with the numbers that fillRandom gives a whole tensor.
static TensorReader makeRandomTensor(DType dtype,
                                     absl::Span<const int64_t> shape,
                                     uint64_t seed, float scale) {
  return {dtype,
          {shape.begin(), shape.end()},
          [dtype, seed, scale](uint64_t begin, uint64_t size, char *to) {
            auto elements = static_cast<int64_t>(size / getSize(dtype));
            auto first = static_cast<int64_t>(begin / getSize(dtype));
            fillRandom({1, elements, 0, 0, first, 0}, dtype, seed, scale,
                       /*threads=*/1, to);
            return absl::OkStatus();
          }};
}

/// Fills a buffer with numbers that would win a maximum, win a minimum, or
/// spoil a sum. All bytes of an element are equal, and form a huge number, a
/// negative number, or NaN.
static void fillGarbage(DType dtype, int64_t bytes, char *block) {
  constexpr unsigned char kBytes[] = {0x7f, 0xfe, 0xff};
  size_t size = getSize(dtype), count = bytes / size;
  for (size_t i = 0; i < count; ++i)
    std::memset(block + i * size, dtype == DType::Bool ? 1 : kBytes[i % 3],
                size);
}

absl::Status Session::bindUsed(absl::string_view name, DType dtype,
                               absl::Span<const int64_t> shape,
                               absl::string_view bytes) {
  TPRT_RETURN_IF_ERROR(bind(name, dtype, shape, bytes));
  std::vector<uint32_t> inputs = artifact->findParts(name);
  if (absl::optional<uint32_t> own = artifact->findInput(name))
    inputs.push_back(*own);
  for (uint32_t index : inputs) {
    if (!artifact->isDonated(index))
      continue;
    const InputRow &input = artifact->rows<InputRow>()[index];
    bool isPart = artifact->getPartSource(index);
    for (Rank &rank : ranks)
      TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
        std::string own(artifact->getLocalBytes(input), '\0');
        if (isPart)
          TPRT_RETURN_IF_ERROR(loadSources(*artifact, input, rank.number,
                                           {makeTensor(dtype, shape, bytes)},
                                           &own[0]));
        else
          scatterBlock(*artifact, input.dims, dtype, rank.number, bytes.data(),
                       &own[0]);
        fillGarbage(dtype, artifact->getLocalBytes(input), block);
        size_t size = getSize(dtype);
        for (const BlockRows &part :
             getBlockRows(*artifact, input.dims, rank.number))
          for (int64_t row = 0; row < part.rows; ++row) {
            size_t begin = (part.block + row * part.blockStride) * size;
            std::memcpy(block + begin, &own[begin], part.columns * size);
          }
        return absl::OkStatus();
      }));
  }
  return absl::OkStatus();
}

absl::Status Session::bindRandom(absl::string_view name, uint64_t seed) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  const InputRow &input = artifact->rows<InputRow>()[index];
  // Weights are as small as in real models, so that activations stay in range
  // for any number of layers.
  float scale = input.role == Role::Parameter ? 0.02f : 1.0f;
  const SourceRow *source = artifact->getPartSource(index);
  uint64_t own =
      hashBytes(source ? artifact->text(source->tensor) : name, seed);
  if (source)
    TPRT_RETURN_IF_ERROR(writePart(
        index, makeRandomTensor(input.dtype, artifact->integers(source->stored),
                                own, scale)));
  for (Rank &rank : source ? absl::Span<Rank>() : absl::MakeSpan(ranks))
    TPRT_RETURN_IF_ERROR(
        rank.executor->writeRandom(index, own, scale, [&](char *block) {
          fillRandom(*artifact, input.dims, input.dtype, rank.number, own,
                     scale, getNumThreads(), block);
          return absl::OkStatus();
        }));
  isBound[index] = true;
  agree(nameInput(name), absl::StrCat("random numbers of seed ", seed));
  return absl::OkStatus();
}

absl::Status Session::loadWeights(SafetensorsFolder &weights) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  absl::Span<const InputRow> inputs = artifact->rows<InputRow>();
  std::vector<std::vector<TensorReader>> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name(artifact->text(inputs[i].name));
    if (inputs[i].role == Role::Parameter && inputs[i].sources.count == 0) {
      auto tensor = weights.find(name);
      if (tensor.ok())
        tensors[i].push_back(*std::move(tensor));
      else if (getErrorCode(tensor.status()) != ErrorCode::WeightsMissing)
        return tensor.status();
    }
    for (const SourceRow &source :
         artifact->rows<SourceRow>(inputs[i].sources)) {
      auto tensor = weights.find(std::string(artifact->text(source.tensor)));
      if (getErrorCode(tensor.status()) == ErrorCode::WeightsMissing)
        return makeError(ErrorCode::WeightsMissing,
                         getPlainMessage(tensor.status()),
                         "; are these the weights of the model that was "
                         "imported?");
      if (!tensor.ok())
        return tensor.status();
      tensors[i].push_back(*std::move(tensor));
    }
  }
  // Does not use startRanks, which would end the session because of a wrong
  // weight. All ranks load the same weights, so all get the same error.
  std::vector<absl::Status> results(ranks.size());
  threads->start([&](int i) {
    Rank &rank = ranks[i];
    for (uint32_t input = 0; input < inputs.size() && results[i].ok(); ++input)
      if (!tensors[input].empty())
        results[i] = rank.executor->writeInput(input, [&](char *block) {
          if (inputs[input].sources.count == 0)
            return loadWhole(*artifact, inputs[input], rank.number,
                             tensors[input].front(), block);
          return loadSources(*artifact, inputs[input], rank.number,
                             tensors[input], block);
        });
  });
  threads->wait();
  for (const absl::Status &result : results)
    TPRT_RETURN_IF_ERROR(result);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (tensors[i].empty())
      continue;
    isBound[i] = true;
    if (!isOneOfMany())
      continue;
    std::vector<std::string> stored;
    for (const TensorReader &tensor : tensors[i]) {
      TPRT_ASSIGN_OR_RETURN(std::string one, describeStored(tensor));
      stored.push_back(std::move(one));
    }
    agree(nameInput(artifact->text(inputs[i].name)),
          absl::StrJoin(stored, " and "));
  }
  return absl::OkStatus();
}

absl::Status Session::resetState() {
  TPRT_RETURN_IF_ERROR(checkIdle());
  for (Rank &rank : ranks)
    for (uint32_t i = 0; i < isBound.size(); ++i)
      if (artifact->isKept(i))
        TPRT_RETURN_IF_ERROR(rank.executor->clearInput(i));
  if (lastEntry) // before the first run it is zero
    agree("the state", "set to zero");
  return absl::OkStatus();
}

absl::Status Session::start(absl::string_view name) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  absl::optional<uint32_t> entry = artifact->findEntry(name);
  if (!entry) {
    std::vector<absl::string_view> names;
    for (const EntryRow &row : artifact->rows<EntryRow>())
      names.push_back(artifact->text(row.name));
    return makeError(ErrorCode::UnknownName, "the program has no entry '", name,
                     "'; it has ", absl::StrJoin(names, ", "));
  }
  const EntryRow &row = artifact->rows<EntryRow>()[*entry];
  std::vector<absl::string_view> unbound;
  for (int64_t input : artifact->integers(row.inputs))
    if (!isBound[input])
      unbound.push_back(artifact->text(artifact->rows<InputRow>()[input].name));
  if (!unbound.empty())
    return makeError(ErrorCode::InputUnbound, "no value was given for ",
                     absl::StrJoin(unbound, ", "),
                     "; give --weights or --input, or bind it");
  bool isFirst = !lastEntry;
  lastEntry = entry;
  agree("the entry", name);
  runDigest = agreement.closeRun();
  startRanks([=, digest = runDigest](Rank &rank) {
    return runRank(rank, *entry, isFirst, digest);
  });
  return absl::OkStatus();
}

absl::Status Session::runRank(Rank &rank, uint32_t entry, bool isFirst,
                              uint64_t digest) {
  if (isFirst && isOneOfMany())
    TPRT_RETURN_IF_ERROR(agreement.compare(*rank.world));
  rank.world->setRunDigest(static_cast<uint32_t>(digest));
  absl::Status status =
      rank.executor->run(entry, recording ? &rank.times : nullptr);
  if (getErrorCode(status) != ErrorCode::RanksDisagree)
    return status;
  return makeError(ErrorCode::RanksDisagree, getPlainMessage(status),
                   "; since the previous run, this rank was given ",
                   agreement.listLast());
}

absl::Status Session::wait(absl::Duration timeout) {
  if (!threads->wait(timeout))
    return makeError(ErrorCode::WrongState, "the run has not finished after ",
                     absl::FormatDuration(timeout));
  return finishRanks();
}

absl::Status Session::run(absl::string_view entry) {
  TPRT_RETURN_IF_ERROR(start(entry));
  if (!threads->wait(options.runTimeout))
    return endLateRun(entry);
  return finishRanks();
}

absl::Status Session::endLateRun(absl::string_view entry) {
  failure = makeError(ErrorCode::RunTimeout, "the run of '", entry,
                      "' has not finished within ",
                      absl::FormatDuration(options.runTimeout),
                      "; raise the limit if the run is only slow");
  failRanks(failure);
  // Ranks notice the failure between steps, but a step may never end.
  isStuck = !threads->wait(kPatience);
  return failure;
}

absl::StatusOr<std::string> Session::read(absl::string_view name) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  if (!lastEntry)
    return makeError(
        ErrorCode::WrongState,
        "the program has not been run yet; run it before reading outputs");
  const EntryRow &entry = artifact->rows<EntryRow>()[*lastEntry];
  for (const Artifact::Result &result : artifact->getResults(entry))
    if (result.name == name)
      return result.outputs.count == 1 ? readOutput(result.outputs.first)
                                       : readJoined(result);
  return makeError(ErrorCode::UnknownName, "the entry has no output '", name,
                   "'");
}

/// Reads the outputs that are the parts of a tensor, and joins them along the
/// dimension `result.joined`.
absl::StatusOr<std::string>
Session::readJoined(const Artifact::Result &result) {
  int64_t rows = 1, bytes = getSize(result.dtype);
  for (size_t dim = 0; dim < result.shape.size(); ++dim)
    (dim < result.joined ? rows : bytes) *= result.shape[dim];
  std::string whole(rows * bytes, '\0');
  int64_t begin = 0;
  for (uint32_t i = 0; i < result.outputs.count; ++i) {
    TPRT_ASSIGN_OR_RETURN(std::string part,
                          readOutput(result.outputs.first + i));
    int64_t size =
        static_cast<int64_t>(part.size()) / std::max<int64_t>(rows, 1);
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(&whole[row * bytes + begin], part.data() + row * size, size);
    begin += size;
  }
  return whole;
}

absl::StatusOr<std::string> Session::readOutput(uint32_t index) {
  const OutputRow &output = artifact->rows<OutputRow>()[index];
  return gather({artifact->text(output.name), output.dtype, output.dims,
                 [index](Executor &executor, UseBlock use) {
                   return executor.readOutput(index, use);
                 }});
}

absl::StatusOr<std::string> Session::readInput(absl::string_view name) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  const InputRow &input = artifact->rows<InputRow>()[index];
  return gather({name, input.dtype, input.dims,
                 [index](Executor &executor, UseBlock use) {
                   return executor.readInput(index, use);
                 }});
}

absl::StatusOr<std::string> Session::gather(const Distributed &tensor) {
  std::string whole(*getNumElements(artifact->getGlobalShape(tensor.dims)) *
                        getSize(tensor.dtype),
                    '\0');
  auto gatherFrom = [&](Rank &rank) {
    return tensor.show(*rank.executor, [&](const char *block) {
      gatherBlock(*artifact, tensor.dims, tensor.dtype, rank.number, block,
                  &whole[0]);
      return absl::OkStatus();
    });
  };
  bool isReplicated = true;
  for (const DimRow &dim : artifact->rows<DimRow>(tensor.dims))
    isReplicated &= artifact->getGroupSize(dim.axes) == 1;
  if (isReplicated) {
    TPRT_RETURN_IF_ERROR(gatherFrom(ranks.front()));
    return whole;
  }
  if (domain) {
    for (Rank &rank : ranks)
      TPRT_RETURN_IF_ERROR(gatherFrom(rank));
    return whole;
  }
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> blocks,
                        exchangeBlocks(tensor));
  for (size_t rank = 0; rank < blocks.size(); ++rank)
    gatherBlock(*artifact, tensor.dims, tensor.dtype,
                static_cast<int64_t>(rank), blocks[rank].data(), &whole[0]);
  return whole;
}

/// Returns all ranks' blocks of a tensor, by rank. Each rank appends to its
/// block a digest of the run and the tensor, because ranks might be reading
/// different values.
absl::StatusOr<std::vector<std::string>>
Session::exchangeBlocks(const Distributed &tensor) {
  uint64_t digest = hashBytes(tensor.name, runDigest);
  absl::string_view mark(reinterpret_cast<const char *>(&digest),
                         sizeof(digest));
  std::vector<std::string> blocks;
  startRanks([&](Rank &rank) {
    return tensor.show(*rank.executor, [&](const char *block) {
      int64_t elements = *getNumElements(artifact->getLocalShape(tensor.dims));
      auto size = static_cast<size_t>(elements * getSize(tensor.dtype));
      auto all = rank.world->exchange(
          absl::StrCat(absl::string_view(block, size), mark),
          absl::StrCat("reading '", tensor.name, "'"));
      if (!all.ok())
        return all.status();
      for (size_t peer = 0; peer < all->size(); ++peer)
        if (!absl::EndsWith((*all)[peer], mark))
          return makeError(ErrorCode::RanksDisagree, "rank ", rank.number,
                           ", reading '", tensor.name, "': rank ", peer,
                           " reads a different tensor or the output of a "
                           "different run; make the same calls on all ranks");
      blocks = *std::move(all);
      return absl::OkStatus();
    });
  });
  threads->wait();
  TPRT_RETURN_IF_ERROR(finishRanks());
  return blocks;
}

void Session::recordTimes(bool on) { recording = on; }

std::vector<Session::RankTimes> Session::takeTimes() {
  std::vector<RankTimes> all;
  for (Rank &rank : ranks)
    all.push_back({rank.number, std::exchange(rank.times, {})});
  return all;
}
