// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Memory that processes of one host and one user share.
///
///     SharedMemory ours = *SharedMemory::create(bytes);
///     std::string ticket = ours.getTicket();     // goes to the others
///     SharedMemory same = *SharedMemory::open(ticket, bytes);
///     ours.close();                              // nobody can open it now
///
/// The memory has no name in any file system, so nothing remains after the
/// processes end, in whatever way. Other processes open it through the
/// creator's /proc/PID/fd, which only admits processes that may also debug the
/// creator.

#ifndef TPRT_MPI_SHAREDMEMORY_H
#define TPRT_MPI_SHAREDMEMORY_H

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

#include <cstddef>
#include <string>

namespace tprt {

class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(SharedMemory &&other) noexcept { *this = std::move(other); }
  SharedMemory &operator=(SharedMemory &&other) noexcept;
  ~SharedMemory();

  /// Creates memory that is filled with zeros; nullopt if the system refuses.
  static absl::optional<SharedMemory> create(size_t bytes);
  /// Opens the memory that another process has created, given its ticket.
  /// Returns nullopt if this process cannot reach the memory, for example from
  /// another container, or if the size of the memory is not `bytes`.
  static absl::optional<SharedMemory> open(absl::string_view ticket,
                                           size_t bytes);

  /// Returns the ticket: a text by which other processes can open this memory
  /// until `close` is called.
  const std::string &getTicket() const { return ticket; }
  void close();

  char *data() const { return memory; }

private:
  bool map(size_t bytes);

  int descriptor = -1;
  char *memory = nullptr;
  size_t size = 0;
  std::string ticket;
};

} // namespace tprt

#endif // TPRT_MPI_SHAREDMEMORY_H
