// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file An artifact being run: the ranks of this process and the values bound
/// to inputs. The C ABI (tprt/tprt.h) and tp-run are built on it.
///
///     auto artifact = Artifact::open("mlp.tpx");
///     auto session = Session::open({}, *artifact);  // 8 devices: 8 threads
///     (*session)->loadWeights(**SafetensorsFolder::open("mlp"));
///     (*session)->bind("x", DType::F32, {8, 512}, bytes);
///     (*session)->run("main");
///     std::string y = *(*session)->read("y");       // the whole tensor
///
/// Callers see whole tensors; splitting them into the ranks' blocks happens
/// here. With transport "threads" all ranks are threads of this process. With
/// "mpi" this process is one rank of the job that mpirun started, every process
/// makes the same calls in the same order, and `read` returns the whole tensor
/// on each.
///
/// Everything that affects the results is compared between processes before the
/// first run: the program, the options, every input and weight, and the values
/// passed to `agree`. Later runs compare a digest of everything passed since
/// then. If a rank was given different values, all ranks report RanksDisagree.
///
/// A failed run is final: the ranks may have stopped at different steps, so
/// every later run returns the first error again. A refused `bind` changes
/// nothing.
///
/// A thread that is inside MPI, or in a kernel that does not end, cannot be
/// stopped. Calls that wait for such a thread give up at their deadline. The
/// thread and everything that it uses then remain until the process ends.

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
  /// If set, this function makes the backend, and no library is loaded for it.
  std::function<CreateBackend> createBackend;
  int ranks = 0;   ///< The expected number of devices; 0: any.
  int threads = 0; ///< Per rank; 0: its share of the cores.
  /// The deadline of each collective, and of joining and leaving the job.
  absl::Duration timeout = absl::Seconds(300);
  absl::Duration runTimeout = absl::InfiniteDuration(); ///< For each `run`.
  bool allowTF32 = false; ///< For f32 matmuls on GPUs that support it.
  Network network;        ///< Emulated between ranks on CPUs.
};

class Session {
public:
  static absl::StatusOr<std::unique_ptr<Session>>
  open(const SessionOptions &options, std::shared_ptr<const Artifact> artifact);
  /// The same as `open` in two steps, so that a session that could not be
  /// opened can still `leave`.
  Session(SessionOptions options, std::shared_ptr<const Artifact> artifact)
      : options(std::move(options)), artifact(std::move(artifact)) {}
  absl::Status prepare();
  /// Ends a run that is under way, leaves the job together with all other
  /// ranks, and frees everything. Nothing can be called afterwards.
  absl::Status close();
  ~Session();

  const Artifact &getArtifact() const { return *artifact; }
  int getNumRanks() const { return worldSize; }
  /// Returns true if no other process has ranks of this program.
  bool hasAllRanks() const { return domain || worldSize == 1; }
  /// Returns the first rank of this process: 0 if the ranks are threads, and
  /// otherwise the process's only rank.
  int getFirstRank() const { return ranks.front().number; }

  /// Gives an input its value, which is a whole tensor. The name may also be
  /// that of a stored tensor, whose value then goes to all inputs that are
  /// parts of it.
  absl::Status bind(absl::string_view name, DType dtype,
                    absl::Span<const int64_t> shape, absl::string_view bytes);
  /// Like `bind`, for a value that only this process has, such as rows that it
  /// read from a data set. Each rank uses only its block of the value; the rest
  /// may differ between processes. Ranks with the same block must be given the
  /// same values there. The source of the values (the data set, its order, the
  /// step) should be passed to `agree`.
  absl::Status bindLocal(absl::string_view name, DType dtype,
                         absl::Span<const int64_t> shape,
                         absl::string_view bytes);
  /// Like bindLocal, for a value that is read on demand: little more than the
  /// ranks' own blocks is read.
  absl::Status bindRows(absl::string_view name, const TensorReader &tensor);
  /// Like bind, but the padding of donated inputs holds garbage, as their
  /// buffers might have been used before. The padding of other inputs is zero.
  absl::Status bindUsed(absl::string_view name, DType dtype,
                        absl::Span<const int64_t> shape,
                        absl::string_view bytes);
  /// Gives an input random numbers that depend only on the seed and the name. A
  /// part of a tensor gets the numbers that the whole tensor has there.
  absl::Status bindRandom(absl::string_view name, uint64_t seed);
  /// Fills inputs from the files. An input with sources is filled from these,
  /// and it is an error if the files lack one of them. A parameter without
  /// sources is filled if the files have a tensor with its name.
  absl::Status loadWeights(SafetensorsFolder &weights);
  /// Returns true if the input with this number has a value: it was given one,
  /// or keeps its value between runs.
  bool hasValue(uint32_t input) const { return isBound[input]; }
  /// Notes something else that affects the results, such as how many runs there
  /// will be. The ranks' values must be equal when the next run begins.
  void agree(absl::string_view name, absl::string_view value);
  /// Sets caches and other state back to zero.
  absl::Status resetState();

  /// Starts an entry on all ranks and returns.
  absl::Status start(absl::string_view entry);
  /// Waits for the run to end; returns WrongState if that takes longer than
  /// `timeout`.
  absl::Status wait(absl::Duration timeout = absl::InfiniteDuration());
  /// Starts an entry and waits for it. If that takes longer than `runTimeout`,
  /// ends the run and returns RunTimeout.
  absl::Status run(absl::string_view entry);

  /// Returns the whole value of an output of the entry that ran last. If
  /// outputs are parts of a tensor, `name` is the name of that tensor.
  absl::StatusOr<std::string> read(absl::string_view name);

  /// Returns the whole value of an input. If the input is donated, this is the
  /// value that the last run left in it.
  absl::StatusOr<std::string> readInput(absl::string_view name);

  /// Ends a run. Any thread may call it.
  void abort(absl::string_view why);

  /// Starts or stops the recording of times: when each step began and ended on
  /// each local rank. Recorded times accumulate until they are taken.
  void recordTimes(bool on);
  struct RankTimes {
    int rank;
    std::vector<StepTime> steps;
  };
  std::vector<RankTimes> takeTimes();

  /// Tells the ranks in other processes that this process ends with an error,
  /// which it has already reported, and gives them a moment to end cleanly.
  void leave(const absl::Status &status);

  /// While this object lives, other ranks do not assume that this one is lost,
  /// however long they wait for it. It is for work that only one rank does. No
  /// entry may run meanwhile.
  class LifeSigns {
  public:
    explicit LifeSigns(Session &session);
    ~LifeSigns();

  private:
    Session &session;
    std::atomic<bool> done{false};
  };

  /// Returns the error of each failed local rank, the cause first.
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
  /// Waits for an action of the transport that has no deadline of its own.
  absl::Status awaitTransport(absl::string_view doing);
  void abandon();

  /// Runs body(rank) on all local ranks; a failure ends all of them. After a
  /// call that might never return, `body` may access only its rank.
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
  /// A tensor that is distributed in blocks over the ranks, and the function
  /// that reads a rank's block from its executor.
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
  /// Returns true if the job has other processes, which might have been given
  /// different options or inputs.
  bool isOneOfMany() const { return !hasAllRanks(); }

  const SessionOptions options;
  const std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<ThreadDomain> domain;      ///< For transport "threads".
  Plugin::CreateWorld createWorld = nullptr; ///< For any other transport.
  std::unique_ptr<Backend> backend;
  std::vector<Rank> ranks;
  int worldSize = 0;
  std::vector<bool> isBound;
  absl::optional<uint32_t> lastEntry;
  bool recording = false;
  Agreement agreement;
  uint64_t runDigest = 0; ///< Covers the values of all runs so far.
  bool isStuck = false;   ///< A thread has not returned, and never will.
  absl::Status failure;   ///< The error of the first failed run.
  std::unique_ptr<RankThreads> threads; ///< Last: they use all of the above.
};

} // namespace tprt

#endif // TPRT_CORE_SESSION_H
