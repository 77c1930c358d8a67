// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An artifact being run: the ranks of this process and the values bound
/// to inputs. The C ABI (tprt/tprt.h) and tp-run stand on it.
///
///     auto artifact = Artifact::open("mlp.tpx");
///     auto session = Session::open({}, *artifact);  // 8 devices: 8 threads
///     (*session)->loadWeights(**SafetensorsFolder::open("mlp"));
///     (*session)->bind("x", DType::F32, {8, 512}, bytes);
///     (*session)->run("main");
///     std::string y = *(*session)->read("y");       // the whole tensor
///
/// Callers see whole tensors; cutting them into the ranks' blocks happens here.
/// With transport "threads" all ranks are threads of this process. With "mpi"
/// this process is one rank of the job that mpirun started, every process makes
/// the same calls in the same order, and `read` gives the whole tensor on each.
///
/// What decides the answer is compared between processes before the first run:
/// the program, the options, every input and weight, and what `agree` was told.
/// Later runs compare a digest of all that has been given since. A rank that
/// was given something else is RanksDisagree, on all ranks.
///
/// A failed run is final: the ranks no longer agree where they stand, so every
/// later run returns the first error again. A refused `bind` changes nothing.
///
/// A thread that is inside MPI, or in a kernel that does not end, cannot be
/// ended. What waits for one gives up at its deadline; the thread and all that
/// it uses then stay for as long as the process does.

#ifndef TPRT_CORE_SESSION_H
#define TPRT_CORE_SESSION_H

#include "runtime/Core/Agreement.h"
#include "runtime/Core/Artifact.h"
#include "runtime/Core/Backend.h"
#include "runtime/Core/RankThreads.h"
#include "runtime/Core/Safetensors.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tprt {

class ThreadDomain;

struct SessionOptions {
  std::string backend = "cpu";
  std::string transport = "threads"; ///< Or "mpi", or "environment".
  /// Makes the backend in place of the library of that name.
  std::function<CreateBackend> createBackend;
  int ranks = 0;   ///< 0, or what the caller believes the mesh has.
  int threads = 0; ///< That each rank computes on; 0: its share of the cores.
  /// Of each collective, and of joining and leaving the job.
  absl::Duration timeout = absl::Seconds(300);
  absl::Duration runTimeout = absl::InfiniteDuration(); ///< Of each `run`.
  bool allowTF32 = false; ///< In matmuls of f32, where a GPU has it.
  Link link;              ///< To be emulated between ranks on CPUs.
};

class Session {
public:
  static absl::StatusOr<std::unique_ptr<Session>>
  open(const SessionOptions &options, std::shared_ptr<const Artifact> artifact);
  /// The same in two steps, so that a session which could not be opened can
  /// still `leave`.
  Session(SessionOptions options, std::shared_ptr<const Artifact> artifact)
      : options(std::move(options)), artifact(std::move(artifact)) {}
  absl::Status prepare();
  /// Ends a run that is under way, leaves the job in good order, which takes
  /// all ranks, and frees everything. Nothing can be called afterwards.
  absl::Status close();
  ~Session();

  const Artifact &getArtifact() const { return *artifact; }
  int getNumRanks() const { return worldSize; }
  /// Whether no other process has ranks of this program.
  bool hasAllRanks() const { return domain || worldSize == 1; }
  /// The rank that this process reports for: 0, or its MPI rank.
  int getFirstRank() const { return ranks.front().number; }

  /// Gives an input its value, a whole tensor; or a stored tensor to all inputs
  /// that are parts of it.
  absl::Status bind(absl::string_view name, DType dtype,
                    absl::Span<const int64_t> shape, absl::string_view bytes);
  /// The same for a value that is this process's own, such as what it loaded of
  /// a data set: each rank uses its block alone, and the rest may differ. Ranks
  /// that hold the same block must be given the same there. What the values are
  /// taken from is for `agree`: the data set, its order, the step.
  absl::Status bindLocal(absl::string_view name, DType dtype,
                         absl::Span<const int64_t> shape,
                         absl::string_view bytes);
  /// As bindLocal, of a value that is read as it is wanted: hardly more than
  /// the ranks' own blocks.
  absl::Status bindRows(absl::string_view name, const TensorReader &tensor);
  /// As bind, but padding holds garbage where the input is donated: its buffer
  /// might have been used before. Of others it is zero.
  absl::Status bindUsed(absl::string_view name, DType dtype,
                        absl::Span<const int64_t> shape,
                        absl::string_view bytes);
  /// Gives an input numbers that depend on the seed and the name only; a part
  /// has those of the whole tensor.
  absl::Status bindRandom(absl::string_view name, uint64_t seed);
  /// Fills every input that has a source from the files, and of the other
  /// parameters those that the files have by their names.
  absl::Status loadWeights(SafetensorsFolder &weights);
  /// Whether an input, by its number, has a value: it was given one, or it is
  /// kept between runs.
  bool hasValue(uint32_t input) const { return isBound[input]; }
  /// Says what else decides the answer, such as how many runs there will be.
  /// The ranks' values must be equal when the next run begins.
  void agree(absl::string_view name, absl::string_view value);
  /// Sets caches and other state back to zero.
  absl::Status resetState();

  /// Starts an entry on all ranks and returns.
  absl::Status start(absl::string_view entry);
  /// Waits for it; WrongState if it goes on longer than `timeout`.
  absl::Status wait(absl::Duration timeout = absl::InfiniteDuration());
  /// Both. Past `runTimeout` the run is ended, and RunTimeout returned.
  absl::Status run(absl::string_view entry);

  /// The whole value of an output of the entry last run; of one in parts, by
  /// the name of the tensor that they are.
  absl::StatusOr<std::string> read(absl::string_view name);

  /// The whole value of an input, which is what the last run has left there if
  /// it is donated.
  absl::StatusOr<std::string> readInput(absl::string_view name);

  /// Ends a run from any thread.
  void abort(absl::string_view why);

  /// From now on, runs record when each step ran on each local rank, or no
  /// longer do. What is recorded piles up until it is taken.
  void recordTimes(bool on);
  struct RankTimes {
    int rank;
    std::vector<StepTime> steps;
  };
  std::vector<RankTimes> takeTimes();

  /// For a process that ends with an error, after it has said which: tells the
  /// ranks in other processes and gives them a moment to end in good order.
  void leave(const absl::Status &status);

  /// While it lives, other ranks do not take this one for lost, however long it
  /// lets them wait: it does what only one rank does. Nothing runs meanwhile.
  class LifeSigns {
  public:
    explicit LifeSigns(Session &session);
    ~LifeSigns();

  private:
    Session &session;
    std::atomic<bool> done{false};
  };

  /// What each failed local rank had to say, the cause first.
  std::vector<absl::Status> getRankErrors() const;

private:
  struct Rank {
    int number = 0;
    std::unique_ptr<World> world;
    std::unique_ptr<Executor> executor; // uses the world
    std::vector<StepTime> times;
    absl::Status status;
  };

  absl::Status connectRank(Rank &rank);
  absl::Status prepareRank(Rank &rank);
  int getNumThreads() const;
  absl::Status compareProgram(World &world) const;
  /// Waits for what a transport does without a deadline of its own.
  absl::Status awaitTransport(absl::string_view doing);
  void abandon();

  /// Runs body(rank) on all local ranks; a failure ends all of them. A body
  /// that might never return touches nothing but its rank afterwards.
  template <typename Body> void startRanks(Body body) {
    threads->start([this, body](int i) {
      Rank &rank = ranks[i];
      rank.status = body(rank);
      if (!rank.status.ok() && rank.world)
        rank.world->fail(rank.status);
    });
  }
  absl::Status finishRanks();
  absl::Status endLateRun(absl::string_view entry);
  void failRanks(const absl::Status &status);
  absl::Status runRank(Rank &rank, uint32_t entry, bool isFirst,
                       uint64_t digest);
  absl::Status checkIdle();
  absl::StatusOr<uint32_t> findInput(absl::string_view name) const;
  absl::Status checkTensor(const InputRow &input, DType dtype,
                           absl::Span<const int64_t> shape) const;
  absl::Status writeWhole(uint32_t input, DType dtype,
                          absl::Span<const int64_t> shape,
                          absl::string_view bytes);
  absl::Status bindPart(uint32_t input, DType dtype,
                        absl::Span<const int64_t> shape,
                        absl::string_view bytes);
  absl::Status writePart(uint32_t input, const TensorReader &tensor);

  using UseBlock = absl::FunctionRef<absl::Status(const char *block)>;
  /// A tensor of which each rank holds a block, and how an executor shows it.
  struct Distributed {
    absl::string_view name;
    DType dtype;
    Range dims;
    std::function<absl::Status(Executor &executor, UseBlock use)> show;
  };
  absl::StatusOr<std::string> readOutput(uint32_t output);
  absl::StatusOr<std::string> readJoined(const Artifact::Result &result);
  absl::StatusOr<std::string> gather(const Distributed &tensor);
  absl::StatusOr<std::vector<std::string>>
  exchangeBlocks(const Distributed &tensor);
  /// Whether other processes could have been given something else.
  bool isOneOfMany() const { return !hasAllRanks(); }

  const SessionOptions options;
  const std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<ThreadDomain> domain;      ///< Of transport "threads".
  Plugin::CreateWorld createWorld = nullptr; ///< Of any other.
  std::unique_ptr<Backend> backend;
  std::vector<Rank> ranks;
  int worldSize = 0;
  std::vector<bool> isBound;
  absl::optional<uint32_t> lastEntry;
  bool recording = false;
  Agreement agreement;
  uint64_t runDigest = 0; ///< Of what was given for all runs so far.
  bool isStuck = false;   ///< A thread has not come back, and will not.
  absl::Status failure;   ///< Of the first run that failed.
  std::unique_ptr<RankThreads> threads; ///< Last: they use all of the above.
};

} // namespace tprt

#endif // TPRT_CORE_SESSION_H
