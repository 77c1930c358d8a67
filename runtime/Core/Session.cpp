// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Session.h"

#include "runtime/Communicators/ThreadWorld.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/Weights.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <unistd.h>

using namespace tprt;

absl::StatusOr<std::unique_ptr<Session>>
Session::open(const SessionOptions &options,
              std::shared_ptr<const Artifact> artifact) {
  auto session = std::make_unique<Session>(options, std::move(artifact));
  TPRT_RETURN_IF_ERROR(session->prepare());
  return session;
}

Session::~Session() {
  if (!threads)
    return;
  abort("the session was closed");
  threads->wait();
  // Executors and worlds end on the thread that made them, as MPI wants it.
  threads->start([this](int i) {
    ranks[i].executor.reset();
    ranks[i].world.reset();
  });
  threads->wait();
}

absl::Status Session::prepare() {
  int64_t devices = artifact->getNumDevices();
  if (options.ranks != 0 && options.ranks != devices)
    return makeError(ErrorCode::MeshMismatch, "--ranks=", options.ranks,
                     ", but the program was compiled for a mesh of ", devices,
                     " devices; leave --ranks out or compile it for ",
                     options.ranks);
  std::function<CreateBackend> createBackend = options.createBackend;
  if (!createBackend) {
    TPRT_ASSIGN_OR_RETURN(createBackend, loadBackend(options.backend));
  }
  TPRT_ASSIGN_OR_RETURN(
      backend, createBackend(artifact, {options.backend, options.timeout,
                                        options.allowTF32}));
  int local = 1;
  if (options.transport == "threads") {
    local = static_cast<int>(devices);
    domain = std::make_shared<ThreadDomain>(local, options.timeout);
  } else {
    TPRT_ASSIGN_OR_RETURN(createWorld, loadTransport(options.transport));
  }
  isBound.resize(artifact->rows<InputRow>().size());
  for (size_t i = 0; i < isBound.size(); ++i)
    isBound[i] = artifact->rows<InputRow>()[i].role == Role::State;
  ranks.resize(local);
  for (int i = 0; i < local; ++i)
    ranks[i].number = i;
  threads = std::make_unique<RankThreads>(local);
  startRanks([this](Rank &rank) { return prepareRank(rank); });
  threads->wait();
  TPRT_RETURN_IF_ERROR(finishRanks());
  worldSize = ranks.front().world->getSize();
  return absl::OkStatus();
}

absl::Status Session::prepareRank(Rank &rank) {
  if (domain) {
    rank.world = makeThreadWorld(domain, rank.number);
  } else {
    TPRT_ASSIGN_OR_RETURN(rank.world, createWorld(options.timeout));
    rank.number = rank.world->getRank();
  }
  TPRT_RETURN_IF_ERROR(agree(*rank.world));
  TPRT_ASSIGN_OR_RETURN(rank.executor,
                        backend->createExecutor(*rank.world, getNumThreads()));
  return absl::OkStatus();
}

/// A rank's share of the cores that this process may use.
int Session::getNumThreads() const {
  if (options.threads > 0)
    return options.threads;
  cpu_set_t usable;
  int cores = sched_getaffinity(0, sizeof(usable), &usable) == 0
                  ? CPU_COUNT(&usable)
                  : 1;
  int sharing = static_cast<int>(ranks.size());
  // Other processes of the job are on this host, too. Bound to cores of their
  // own, they share none.
  if (!domain && cores == sysconf(_SC_NPROCESSORS_ONLN))
    for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
      if (const char *value = std::getenv(name))
        sharing = std::max(1, std::atoi(value));
  return std::max(1, cores / sharing);
}

/// All ranks run this artifact, and there are as many as its mesh has devices.
absl::Status Session::agree(World &world) const {
  absl::Status mesh;
  if (world.getSize() != artifact->getNumDevices())
    mesh = makeError(ErrorCode::MeshMismatch, "rank ", world.getRank(), ": ",
                     world.getSize(),
                     " ranks were started, but the program was compiled for a "
                     "mesh of ",
                     artifact->getNumDevices(), " devices; start as many");
  std::string mine = absl::StrFormat("%016x", artifact->getHash());
  auto all = world.exchange(mine, "comparing programs");
  // A rank that has left already found the same: all end with one exit code.
  if (!all.ok())
    return mesh.ok() ? all.status() : mesh;
  for (size_t rank = 0; rank < all->size(); ++rank)
    if ((*all)[rank] != mine)
      return makeError(ErrorCode::ProgramMismatch, "rank ", world.getRank(),
                       " runs program ", mine, ", rank ", rank,
                       " runs program ", (*all)[rank],
                       "; give every rank the same artifact");
  return mesh;
}

template <typename Body> void Session::startRanks(Body body) {
  threads->start([this, body](int i) {
    Rank &rank = ranks[i];
    rank.status = body(rank);
    if (!rank.status.ok() && rank.world)
      rank.world->fail(rank.status);
  });
}

/// The outcome of a job that has ended. Of several failed ranks the one that
/// did not merely hear of another's failure is the cause.
absl::Status Session::finishRanks() {
  std::vector<absl::Status> errors = getRankErrors();
  if (!errors.empty() && failure.ok())
    failure = errors.front();
  return failure;
}

std::vector<absl::Status> Session::getRankErrors() const {
  std::vector<absl::Status> errors;
  for (bool isEcho : {false, true})
    for (const Rank &rank : ranks)
      if (!rank.status.ok() &&
          (getErrorCode(rank.status) == ErrorCode::PeerFailed) == isEcho)
        errors.push_back(rank.status);
  return errors;
}

absl::Status Session::checkIdle() {
  if (threads->isBusy())
    return makeError(ErrorCode::WrongState,
                     "a run is under way; wait for it first");
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

/// `f32[8, 512]`.
static std::string describeTensor(DType dtype,
                                  absl::Span<const int64_t> shape) {
  return absl::StrCat(getName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

absl::Status Session::bind(absl::string_view name, DType dtype,
                           absl::Span<const int64_t> shape,
                           absl::string_view bytes) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  const InputRow &input = artifact->rows<InputRow>()[index];
  std::vector<int64_t> wanted = artifact->getGlobalShape(input.dims);
  if (dtype != input.dtype || shape != absl::MakeConstSpan(wanted))
    return makeError(ErrorCode::InputMismatch, "input '", name, "' is ",
                     describeTensor(input.dtype, wanted), ", not ",
                     describeTensor(dtype, shape));
  uint64_t size = *getNumElements(wanted) * getSize(dtype);
  if (bytes.size() != size)
    return makeError(ErrorCode::InputMismatch, "input '", name, "' takes ",
                     size, " bytes, not ", bytes.size());
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
      scatterBlock(*artifact, input.dims, dtype, rank.number, bytes.data(),
                   block);
      return absl::OkStatus();
    }));
  isBound[index] = true;
  return absl::OkStatus();
}

/// Fills a buffer with numbers that win a maximum, a minimum, or spoil a sum:
/// per element all bytes are alike, of a huge number, one below zero, or NaN.
static void fillGarbage(DType dtype, int64_t bytes, char *block) {
  constexpr unsigned char kBytes[] = {0x7f, 0xfe, 0xff};
  size_t size = getSize(dtype), count = bytes / size;
  for (size_t i = 0; i < count; ++i)
    std::memset(block + i * size, dtype == DType::Bool ? 1 : kBytes[i % 3],
                size);
}

bool Session::isDonated(uint32_t input) const {
  for (const OutputRow &output : artifact->rows<OutputRow>())
    if (output.alias == input)
      return true;
  return false;
}

absl::Status Session::bindUsed(absl::string_view name, DType dtype,
                               absl::Span<const int64_t> shape,
                               absl::string_view bytes) {
  TPRT_RETURN_IF_ERROR(bind(name, dtype, shape, bytes));
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  if (!isDonated(index))
    return absl::OkStatus();
  const InputRow &input = artifact->rows<InputRow>()[index];
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(rank.executor->writeInput(index, [&](char *block) {
      fillGarbage(dtype, artifact->getLocalBytes(input), block);
      size_t size = getSize(dtype);
      for (const BlockRows &part :
           getBlockRows(*artifact, input.dims, rank.number))
        for (int64_t row = 0; row < part.rows; ++row)
          std::memcpy(block + (part.block + row * part.blockStride) * size,
                      bytes.data() +
                          (part.whole + row * part.wholeStride) * size,
                      part.columns * size);
      return absl::OkStatus();
    }));
  return absl::OkStatus();
}

absl::Status Session::bindRandom(absl::string_view name, uint64_t seed) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  TPRT_ASSIGN_OR_RETURN(uint32_t index, findInput(name));
  const InputRow &input = artifact->rows<InputRow>()[index];
  // Weights as small as a model's, so that activations stay in range however
  // many layers there are.
  float scale = input.role == Role::Parameter ? 0.02f : 1.0f;
  uint64_t own = hashBytes(name, seed);
  for (Rank &rank : ranks)
    TPRT_RETURN_IF_ERROR(
        rank.executor->writeRandom(index, own, scale, [&](char *block) {
          fillRandom(*artifact, input.dims, input.dtype, rank.number, own,
                     scale, getNumThreads(), block);
          return absl::OkStatus();
        }));
  isBound[index] = true;
  return absl::OkStatus();
}

absl::Status Session::loadWeights(SafetensorsFolder &weights) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  absl::Span<const InputRow> inputs = artifact->rows<InputRow>();
  std::vector<absl::optional<StoredTensor>> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].source == kNone)
      continue;
    const SourceRow &source = artifact->rows<SourceRow>()[inputs[i].source];
    auto tensor = weights.find(std::string(artifact->text(source.tensor)));
    if (getErrorCode(tensor.status()) == ErrorCode::WeightsMissing)
      return makeError(ErrorCode::WeightsMissing,
                       getPlainMessage(tensor.status()),
                       "; are these the weights of the model that was "
                       "imported?");
    if (!tensor.ok())
      return tensor.status();
    tensors[i] = *std::move(tensor);
  }
  // Not startRanks: a wrong weight is no reason to end the session, and under
  // MPI every rank finds it, or none.
  std::vector<absl::Status> results(ranks.size());
  threads->start([&](int i) {
    Rank &rank = ranks[i];
    for (uint32_t input = 0; input < inputs.size() && results[i].ok(); ++input)
      if (tensors[input])
        results[i] = rank.executor->writeInput(input, [&](char *block) {
          return loadSource(*artifact, inputs[input], rank.number,
                            *tensors[input], block);
        });
  });
  threads->wait();
  for (const absl::Status &result : results)
    TPRT_RETURN_IF_ERROR(result);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (tensors[i])
      isBound[i] = true;
  return absl::OkStatus();
}

absl::Status Session::resetState() {
  TPRT_RETURN_IF_ERROR(checkIdle());
  absl::Span<const InputRow> inputs = artifact->rows<InputRow>();
  for (Rank &rank : ranks)
    for (uint32_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].role == Role::State)
        TPRT_RETURN_IF_ERROR(rank.executor->clearInput(i));
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
    return makeError(ErrorCode::InputUnbound, "no value for ",
                     absl::StrJoin(unbound, ", "),
                     "; give --weights or --input, or bind it");
  lastEntry = entry;
  startRanks([this, entry](Rank &rank) {
    return rank.executor->run(*entry, recording ? &rank.times : nullptr);
  });
  return absl::OkStatus();
}

absl::Status Session::wait(absl::Duration timeout) {
  if (!threads->wait(timeout))
    return makeError(ErrorCode::WrongState, "the run has not ended after ",
                     absl::FormatDuration(timeout));
  return finishRanks();
}

absl::Status Session::run(absl::string_view entry) {
  TPRT_RETURN_IF_ERROR(start(entry));
  return wait();
}

absl::StatusOr<std::string> Session::read(absl::string_view name) {
  TPRT_RETURN_IF_ERROR(checkIdle());
  if (!lastEntry)
    return makeError(ErrorCode::WrongState, "nothing has been run yet");
  Range outputs = artifact->rows<EntryRow>()[*lastEntry].outputs;
  const OutputRow *output = nullptr;
  uint32_t index = outputs.first;
  for (const OutputRow &row : artifact->rows<OutputRow>(outputs)) {
    if (artifact->text(row.name) == name) {
      output = &row;
      break;
    }
    ++index;
  }
  if (!output)
    return makeError(ErrorCode::UnknownName, "the entry has no output '", name,
                     "'");
  std::string whole(*getNumElements(artifact->getGlobalShape(output->dims)) *
                        getSize(output->dtype),
                    '\0');
  auto gather = [&](int rank, const char *block) {
    gatherBlock(*artifact, output->dims, output->dtype, rank, block, &whole[0]);
  };
  auto gatherFrom = [&](Rank &rank) {
    return rank.executor->readOutput(index, [&](const char *block) {
      gather(rank.number, block);
      return absl::OkStatus();
    });
  };
  bool isReplicated = true;
  for (const DimRow &dim : artifact->rows<DimRow>(output->dims))
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
  std::vector<std::string> blocks;
  startRanks([&](Rank &rank) {
    return rank.executor->readOutput(index, [&](const char *block) {
      auto size = static_cast<size_t>(artifact->getLocalBytes(*output));
      auto all = rank.world->exchange({block, size},
                                      absl::StrCat("reading '", name, "'"));
      if (!all.ok())
        return all.status();
      blocks = *std::move(all);
      return absl::OkStatus();
    });
  });
  threads->wait();
  TPRT_RETURN_IF_ERROR(finishRanks());
  for (size_t rank = 0; rank < blocks.size(); ++rank)
    gather(static_cast<int>(rank), blocks[rank].data());
  return whole;
}

void Session::abort(absl::string_view why) {
  if (!threads->isBusy())
    return;
  absl::Status status = makeError(ErrorCode::Aborted, why);
  for (Rank &rank : ranks)
    if (rank.world)
      rank.world->fail(status);
}

void Session::leave(const absl::Status &status) {
  if (!threads || threads->isBusy())
    return;
  threads->start([&](int i) {
    if (World *world = ranks[i].world.get()) {
      world->fail(status);
      world->depart();
    }
  });
  threads->wait();
}

void Session::recordTimes(bool on) { recording = on; }

std::vector<Session::RankTimes> Session::takeTimes() {
  std::vector<RankTimes> all;
  for (Rank &rank : ranks)
    all.push_back({rank.number, std::exchange(rank.times, {})});
  return all;
}
