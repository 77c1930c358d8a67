// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A GPU that is none: what the fake libcuda, libcublasLt and libnccl of
/// this folder share. The runtime opens them in place of NVIDIA's where
/// LD_LIBRARY_PATH names their folder, or a program has linked them.
///
/// Memory is this process's own, so that a device's pointer is the host's.
/// Nothing runs when it is asked for: work lies in its stream until somebody
/// asks whether the stream is done, or another stream waits for an event in it.
/// So what is not waited for has not happened, and is overwritten as late as
/// can be: a missing event gives wrong numbers. A graph has the order of its
/// edges and no other: launches in turn leave other streams than the one that
/// began the capture as late as these allow, and as early.
///
///     enqueue(stream, [=] { return [=] { copy(..); return true; }; });
///
/// Work is made anew for each execution, since graphs execute it again; it says
/// false while it cannot be done yet, as a peer has not come.
///
/// Misuse is an error of the call and of all later ones, is written to stderr
/// and to the record: memory that is not there, handles that are unknown or
/// were destroyed, arguments that a kernel does not have, what must not be
/// captured.
///
/// Variables:
///     TPRT_RECORD             a file: a line for each call that does something
///     TPRT_EMULATED_KERNELS   a shared object of the kernels; without it, what
///                             they write stays as it was
///     TPRT_FAKE_DEVICES       how many GPUs there are (1)
///     TPRT_FAKE_CHIP          10 * major + minor (120)
///     TPRT_FAKE_DRIVER        its version (13000 for CUDA 13.0)
///     TPRT_FAKE_MEMORY        bytes of each GPU
///     TPRT_FAKE_ODD           the number of a GPU that is of another kind
///     TPRT_FAKE_BUSY          somebody else has the GPU for a millisecond
///     after
///                             each so many works
///     TPRT_FAKE_SLOW          "sort:3,rows2:5": kernels of names that begin so
///                             take so many microseconds longer
///     TPRT_FAKE_DEATH         the process is killed when it comes to `connect`
///                             with NCCL, or to `launch` a kernel
///     TPRT_FAKE_STUCK         collectives of so many elements never end
///     TPRT_FAKE_FAIL          "cuMemAlloc_v2:3": the third call of it, counted
///                             since the variable was set, fails; all of them
///                             without a number
///     TPRT_FAKE_NO_WINDOWS    NCCL refuses windows (1), or memory for them (2)

#ifndef TPOPT_TEST_CUDA_FAKEGPU_H
#define TPOPT_TEST_CUDA_FAKEGPU_H

#include "runtime/CUDA/Driver.h"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fakegpu {

namespace cuda = tprt::cuda;

/// One execution of a piece of work: whether it is done.
using Execution = std::function<bool()>;
using Work = std::function<Execution()>;

struct Graph {
  struct Node {
    Work work;
    CUstream_st *stream;
    std::vector<size_t> after; ///< Numbers of nodes.
  };
  std::vector<Node> nodes;
  CUstream_st *origin;
  /// The capture or the handles that keep it; events only know it.
  int holders = 1;
};

/// A recording of an event.
struct Mark {
  bool isDone = false;
  double time = 0; ///< Milliseconds.
  CUstream_st *stream = nullptr;
};

/// Of all state; held by whoever looks at it.
std::recursive_mutex &getLock();

/// The number of a variable of the environment.
long getNumber(const char *variable, long otherwise);

/// Kills the process if this is where it is to die.
void dieAt(const char *place);

/// Whether this call of a library is the one that is to fail.
bool failsNow(const char *symbol);

/// Writes a line of the record.
void record(const std::string &line);
/// Notes a mistake of the runtime, and gives the error it gets.
cuda::Result refuse(const std::string &what, cuda::Result result = 1);

/// `d0.m3+64`; empty unless `bytes` from there on are allocated.
std::string name(const void *pointer, size_t bytes = 1);
std::string name(CUstream_st *stream);
bool isKnown(CUstream_st *stream);

/// Memory of the current context's GPU.
cuda::Result allocate(cuda::Pointer *pointer, size_t bytes);
/// Puts work at the end of a stream, or of the graph that it is captured into.
cuda::Result enqueue(CUstream_st *stream, Work work);
/// Runs what can be run; whether nothing is left.
bool advance(CUstream_st *stream);
/// Blocks the caller, who must not hold the lock, until something is so: it is
/// asked with the lock held. Whether it came to be so within half a minute,
/// where the real libraries would wait for ever.
bool blockUntil(const std::function<bool()> &isSo);
/// The clock of events: each work that is done takes one microsecond, and what
/// it spends.
double getMilliseconds();
void spend(long microseconds);
/// By how many microseconds a kernel is slower than others.
long getSlowness(const std::string &kernel);

} // namespace fakegpu

// NVIDIA's names. NOLINTBEGIN(readability-identifier-naming)
struct CUstream_st {
  int device;
  int number;
  std::deque<fakegpu::Execution> queue;
  bool isAdvancing = false;
  std::shared_ptr<fakegpu::Graph> capture;
  size_t captured = 0,
         joined = 0;             ///< Works in the capture, and known to origin.
  std::vector<size_t> ends = {}; ///< Nodes that the next one comes after.
};

struct CUevent_st {
  int device;
  int number;
  bool hasTime;
  std::shared_ptr<fakegpu::Mark> mark; ///< The last recording.
  std::shared_ptr<fakegpu::Graph> capture;
  CUstream_st *stream = nullptr;
  size_t covers = 0;        ///< Of that stream's captured works.
  std::vector<size_t> ends; ///< Nodes that who waits for it comes after.
};

struct CUgraph_st {
  std::shared_ptr<fakegpu::Graph> graph;
};
struct CUgraphExec_st {
  std::shared_ptr<fakegpu::Graph> graph;
  /// Works of launches that are not done.
  std::shared_ptr<size_t> inFlight = std::make_shared<size_t>(0);
  int launches = 0;
};
// NOLINTEND(readability-identifier-naming)

#endif // TPOPT_TEST_CUDA_FAKEGPU_H
