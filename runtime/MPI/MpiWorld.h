// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file One rank's place among processes that mpirun started, and what its
/// communicators need of it: the messages' communicator, and a wait that knows
/// a deadline, failures of others and their signs of life.

#ifndef TPRT_MPI_MPIWORLD_H
#define TPRT_MPI_MPIWORLD_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/MPI/Messages.h"

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

#include <atomic>
#include <thread>

namespace tprt {

struct Exchange;

/// What comes before a rank's part of a collective: ranks that have lost step,
/// or were given something else, differ in it.
struct CollectiveHeader {
  uint32_t index, runDigest;
};

class MpiWorld final : public World {
public:
  MpiWorld(absl::Duration timeout, bool owned, int rank, int size)
      : timeout(timeout), owned(owned), thread(std::this_thread::get_id()),
        rank(rank), size(size) {}

  absl::Status connect() override;

  int getRank() const override { return rank; }
  int getSize() const override { return size; }
  int getCoresPerRank() const override { return coresPerRank; }
  MPI_Comm getComm() const { return comm; }
  absl::Duration getTimeout() const { return timeout; }

  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override;
  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override;
  void fail(const absl::Status &cause) override;
  absl::Status check() override;
  void depart() override;
  void setRunDigest(uint32_t digest) override { runDigest = digest; }
  uint32_t getRunDigest() const { return runDigest; }
  void showLife() override;
  absl::Status allowThreads() override;
  void enter() override { thread = std::this_thread::get_id(); }
  absl::Status part() override;
  absl::Status finalize() override;

  /// Whether all of these ranks run on the same host as this one.
  bool isOneHost(const std::vector<int> &ranks) const;

  /// Waits for all messages; `what` names the occasion.
  absl::Status wait(Messages &messages, absl::FunctionRef<std::string()> what);

  /// An error once a rank has failed. It always looks, unlike `check`.
  absl::Status findFailure();
  /// Whether one of these ranks has shown life since the last call.
  absl::StatusOr<bool> receiveSignsOfLife(const std::vector<int> &ranks);

  /// Counts collectives whose messages are under way: MPI moves them on only
  /// while it is called.
  void beginMessages() { ++messagesUnderWay; }
  void endMessages() { --messagesUnderWay; }
  bool hasMessages() const { return messagesUnderWay > 0; }

  std::string getContext(absl::string_view what) const;

  /// RanksDisagree or CollectiveMismatch if rank `peer` sent another header for
  /// this call.
  absl::Status compare(CollectiveHeader ours, CollectiveHeader theirs, int peer,
                       const CollectiveCall &call) const;

private:
  absl::Status meetHosts();
  absl::Status exchange(Exchange &now, absl::string_view mine,
                        absl::string_view what);
  absl::Status receiveFailure();
  void tellFailure();
  static void finishWithin(Messages &messages, absl::Duration time);

  const absl::Duration timeout;
  const bool owned; ///< MPI was started here and is ended here.
  std::atomic<std::thread::id> thread; ///< That may call MPI now.
  MPI_Comm comm = MPI_COMM_NULL;
  const int rank, size;
  std::vector<std::string> hosts; ///< By rank.
  int coresPerRank = 1;
  uint32_t runDigest = 0;
  int messagesUnderWay = 0;
  absl::Time lastLook = absl::InfinitePast();
  Messages lifeSigns; ///< Nobody waits for them.
  absl::Time lastLife = absl::InfinitePast();
  int splits = 0;
  MPI_Request failureRequest = MPI_REQUEST_NULL;
  char failureText[1024] = {};
  std::vector<char> farewells; ///< By rank; MPI may write here to the end.
  absl::Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);
  bool hasTold = false;
};

/// One wait for other ranks: it ends with an error once a rank has failed, or
/// when the deadline comes and none of those missing has shown life.
class PeerWait {
public:
  using What = absl::FunctionRef<std::string()>;
  using Missing = absl::FunctionRef<absl::StatusOr<std::vector<int>>()>;

  /// `what` names the occasion, `getMissing` the ranks that have not come.
  PeerWait(MpiWorld &world, What what, Missing getMissing)
      : world(world), what(what), getMissing(getMissing) {}

  absl::Status check();

  /// Since the first check.
  absl::Duration getWaited() const { return now - begin; }

private:
  absl::Status checkMissing();

  MpiWorld &world;
  What what;
  Missing getMissing;
  absl::Time begin, now, deadline;
};

/// The communicator of a group that sends messages, on whatever hosts.
std::unique_ptr<Communicator>
makeMessageCommunicator(MpiWorld &world, const std::vector<int> &group,
                        int tag);

} // namespace tprt

#endif // TPRT_MPI_MPIWORLD_H
