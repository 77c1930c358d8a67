// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Put before MPI by LD_PRELOAD: a call that fails, or the process that
/// ends or stops at it.
///
///     TPRT_FAULT=MPI_Irecv:20:fail      the 20th call returns an error
///     TPRT_FAULT=MPI_Finalize:1:stop    the process stops at the first
///     TPRT_FAULT=MPI_Init_thread:1:kill it dies there
///
/// TPRT_HOST is what the process takes its host to be called.
///
/// Threads may call MPI, but only one at a time (MPI_THREAD_SERIALIZED). Open
/// MPI does not notice if two do; here the process ends with a message.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <sched.h>
#include <string>

namespace {

/// One call of MPI that may go wrong.
class Fault {
public:
  explicit Fault(const char *call) {
    const char *text = std::getenv("TPRT_FAULT");
    size_t length = std::strlen(call);
    if (!text || std::strncmp(text, call, length) != 0 || text[length] != ':')
      return;
    char *end = nullptr;
    left = std::strtol(text + length + 1, &end, 10);
    action = end + 1;
  }

  /// Whether this call is the one that fails; a kill or a stop happens here.
  bool occurs() {
    if (left == 0 || --left > 0)
      return false;
    if (action == "kill")
      raise(SIGKILL);
    else if (action == "stop")
      raise(SIGSTOP);
    return action == "fail";
  }

private:
  long left = 0;
  std::string action;
};

/// A call that must be the only one. Lets other threads run, so that they call
/// meanwhile if nothing keeps them from it.
class Turn {
public:
  explicit Turn(const char *call) {
    if (isTaken.exchange(true)) {
      std::fprintf(stderr, "%s while another thread calls MPI\n", call);
      std::abort();
    }
    sched_yield();
  }
  ~Turn() { isTaken = false; }

private:
  static inline std::atomic<bool> isTaken{false};
};

} // namespace

extern "C" int MPI_Init_thread(int *argc, char ***argv, int required,
                               int *provided) {
  static Fault fault("MPI_Init_thread");
  return fault.occurs() ? MPI_ERR_OTHER
                        : PMPI_Init_thread(argc, argv, required, provided);
}

extern "C" int MPI_Finalize() {
  static Fault fault("MPI_Finalize");
  return fault.occurs() ? MPI_ERR_OTHER : PMPI_Finalize();
}

extern "C" int MPI_Isend(const void *data, int count, MPI_Datatype type, int to,
                         int tag, MPI_Comm comm, MPI_Request *request) {
  static Fault fault("MPI_Isend");
  Turn turn("MPI_Isend");
  return fault.occurs() ? MPI_ERR_OTHER
                        : PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" int MPI_Irecv(void *data, int count, MPI_Datatype type, int from,
                         int tag, MPI_Comm comm, MPI_Request *request) {
  static Fault fault("MPI_Irecv");
  Turn turn("MPI_Irecv");
  return fault.occurs()
             ? MPI_ERR_OTHER
             : PMPI_Irecv(data, count, type, from, tag, comm, request);
}

extern "C" int MPI_Testall(int count, MPI_Request *requests, int *flag,
                           MPI_Status *statuses) {
  Turn turn("MPI_Testall");
  return PMPI_Testall(count, requests, flag, statuses);
}

extern "C" int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  Turn turn("MPI_Test");
  return PMPI_Test(request, flag, status);
}

extern "C" int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag,
                          MPI_Status *status) {
  Turn turn("MPI_Iprobe");
  return PMPI_Iprobe(from, tag, comm, flag, status);
}

extern "C" int MPI_Recv(void *data, int count, MPI_Datatype type, int from,
                        int tag, MPI_Comm comm, MPI_Status *status) {
  Turn turn("MPI_Recv");
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

extern "C" int MPI_Request_get_status(MPI_Request request, int *flag,
                                      MPI_Status *status) {
  Turn turn("MPI_Request_get_status");
  return PMPI_Request_get_status(request, flag, status);
}

extern "C" int MPI_Get_processor_name(char *name, int *length) {
  const char *text = std::getenv("TPRT_HOST");
  if (!text)
    return PMPI_Get_processor_name(name, length);
  *length = static_cast<int>(std::strlen(text));
  std::memcpy(name, text, *length + 1);
  return MPI_SUCCESS;
}
