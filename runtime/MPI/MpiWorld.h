// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The world of one rank among processes that mpirun started. It provides
/// its communicators with the MPI communicator for messages, and with a wait
/// that takes into account a deadline, failures of other ranks and their signs
/// of life.
///
/// Several threads of a rank may use the world (World::enter), each with its
/// own communicators. With MPI_THREAD_SERIALIZED, they may all call MPI, but
/// only one at a time, so a thread holds a lock during each call. No call
/// blocks: to wait, a thread polls.

#ifndef TPRT_MPI_MPIWORLD_H
#define TPRT_MPI_MPIWORLD_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/MPI/Messages.h"

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

#include <atomic>

namespace tprt {

struct Exchange;

/// The header that precedes a rank's data for a collective. Ranks that are out
/// of step, or were given different values, send different headers.
struct CollectiveHeader {
  uint32_t index, runDigest;
};

class MpiWorld final : public World {
public:
  MpiWorld(absl::Duration timeout, bool owned, int rank, int size)
      : timeout(timeout), owned(owned), rank(rank), size(size) {
    enter();
  }

  absl::Status connect() override;

  int getRank() const override { return rank; }
  int getSize() const override { return size; }
  int getCoresPerRank() const override { return coresPerRank; }
  MPI_Comm getComm() const { return comm; }
  /// Held during each call of MPI by threads that have entered.
  absl::Mutex &getTurn() { return turn; }
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
  void enter() override { entered = this; }
  absl::Status part() override;
  absl::Status finalize() override;

  /// Returns true if all of these ranks run on the same host as this one.
  bool isOneHost(const std::vector<int> &ranks) const;

  /// Waits for all messages; `what` names the occasion.
  absl::Status wait(Messages &messages, absl::FunctionRef<std::string()> what);

  /// Returns an error once a rank has failed. Unlike `check`, it always asks
  /// MPI.
  absl::Status findFailure();
  /// Returns true if one of these ranks has said within the timeout that it is
  /// alive.
  absl::StatusOr<bool> receiveSignsOfLife(const std::vector<int> &ranks);

  /// Counts collectives whose messages are under way: MPI transfers them only
  /// while it is called.
  void beginMessages() { ++messagesUnderWay; }
  void endMessages() { --messagesUnderWay; }
  bool hasMessages() const { return messagesUnderWay > 0; }

  std::string getContext(absl::string_view what) const;

  /// Returns RanksDisagree or CollectiveMismatch if rank `peer` sent a
  /// different header for this call.
  absl::Status compare(CollectiveHeader ours, CollectiveHeader theirs, int peer,
                       const CollectiveCall &call) const;

private:
  absl::Status meetHosts();
  absl::Status exchange(Exchange &now, absl::string_view mine,
                        absl::string_view what);
  absl::Status receiveFailure();
  void tellFailure();
  void finishWithin(Messages &messages, absl::Duration time);

  const absl::Duration timeout;
  const bool owned; ///< MPI is initialized and finalized here.
  static thread_local const MpiWorld *entered; ///< This thread may call MPI.
  absl::Mutex turn;
  MPI_Comm comm = MPI_COMM_NULL;
  const int rank, size;
  std::vector<std::string> hosts; ///< Indexed by rank.
  int coresPerRank = 1;
  uint32_t runDigest = 0;
  std::atomic<int> messagesUnderWay{0};
  absl::Time lastLook ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  /// When the last sign of life of each rank was received. Guarded by `turn`.
  std::vector<absl::Time> lastSigns;
  Messages lifeSigns; ///< No rank waits for these messages.
  absl::Time lastLife = absl::InfinitePast();
  int splits = 0;
  MPI_Request failureRequest = MPI_REQUEST_NULL;
  char failureText[1024] = {};
  /// The bytes that `depart` receives, indexed by rank. MPI may write to them
  /// until the process ends.
  std::vector<char> farewells;
  absl::Mutex mutex;
  absl::Status failure ABSL_GUARDED_BY(mutex);
  bool hasTold ABSL_GUARDED_BY(mutex) = false;
  std::string toldText; ///< Sent to all peers. MPI may read it to the end.
};

/// One wait for other ranks. It ends with an error once a rank has failed, or
/// if the deadline passes and none of the missing ranks has shown life.
class PeerWait {
public:
  using What = absl::FunctionRef<std::string()>;
  using Missing = absl::FunctionRef<absl::StatusOr<std::vector<int>>()>;

  /// `what` returns the name of the operation that waits, for messages.
  /// `getMissing` returns the ranks that have not arrived.
  PeerWait(MpiWorld &world, What what, Missing getMissing)
      : world(world), what(what), getMissing(getMissing) {}

  absl::Status check();

  /// Returns the time from the first call of `check` to the latest.
  absl::Duration getWaited() const { return now - begin; }

private:
  absl::Status checkMissing();

  MpiWorld &world;
  What what;
  Missing getMissing;
  absl::Time begin, now, deadline;
};

/// Makes the communicator of a group whose ranks exchange messages. They may be
/// on one host or on several.
std::unique_ptr<Communicator>
makeMessageCommunicator(MpiWorld &world, const std::vector<int> &group,
                        int tag);

} // namespace tprt

#endif // TPRT_MPI_MPIWORLD_H
