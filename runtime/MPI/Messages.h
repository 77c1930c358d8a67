// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file MPI messages that are under way.

#ifndef TPRT_MPI_MESSAGES_H
#define TPRT_MPI_MESSAGES_H

#include "runtime/Core/Errors.h"

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <vector>

namespace tprt {

/// Returns a Transport error with MPI's text unless the call succeeded.
absl::Status checkMpi(int result, absl::string_view what);

/// Messages under way, and the ranks from which messages are still to be
/// received.
struct Messages {
  std::vector<MPI_Request> requests;
  std::vector<int> senders; ///< -1 for a message of ours.
  int result = MPI_SUCCESS; ///< The first error in starting one.

  void send(MPI_Comm comm, int to, int tag, const char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece)
      begin(-1, MPI_Isend(data + at, getPiece(bytes, at), MPI_BYTE, to, tag,
                          comm, add()));
  }
  void receive(MPI_Comm comm, int from, int tag, char *data, int64_t bytes) {
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece)
      begin(from, MPI_Irecv(data + at, getPiece(bytes, at), MPI_BYTE, from, tag,
                            comm, add()));
  }

  /// Forgets the messages of ours that have been delivered.
  void dropDelivered() {
    size_t kept = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      int done = 0;
      if (senders[i] < 0 &&
          (MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
           done))
        continue;
      requests[kept] = requests[i];
      senders[kept++] = senders[i];
    }
    requests.resize(kept);
    senders.resize(kept);
  }

private:
  /// MPI counts in int: larger messages are sent in pieces of this many bytes.
  static constexpr int64_t kPiece = int64_t{1} << 30;

  static int getPiece(int64_t bytes, int64_t at) {
    return static_cast<int>(std::min(kPiece, bytes - at));
  }
  MPI_Request *add() {
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  }
  void begin(int sender, int code) {
    senders.push_back(sender);
    if (code == MPI_SUCCESS)
      return;
    // After a failed call, MPI leaves the request undefined.
    requests.back() = MPI_REQUEST_NULL;
    if (result == MPI_SUCCESS)
      result = code;
  }
};

} // namespace tprt

#endif // TPRT_MPI_MESSAGES_H
