// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What the parts of the fake NCCL know of communicators.

#ifndef TPOPT_TEST_CUDA_FAKECOMM_H
#define TPOPT_TEST_CUDA_FAKECOMM_H

#include "FakeGpu.h"

#include "runtime/CUDA/Nccl.h"

#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace fakenccl {

namespace nccl = tprt::nccl;
using fakegpu::Graph;
using fakegpu::Work;
using Guard = std::lock_guard<std::recursive_mutex>;

inline constexpr nccl::Result kUnhandledCudaError = 1, kSystemError = 2,
                              kInvalidArgument = 4, kInvalidUsage = 5;
/// How often a communicator is asked before what it was given happens.
inline constexpr int kAsks = 3;

/// What the ranks of a communicator bring to one operation.
struct Occasion {
  std::map<int, std::string> what; ///< By rank: must be equal.
  std::map<int, std::pair<const char *, char *>> places;
  int done = 0;
};

struct Clique {
  int size = 0;
  int arrived = 0;
  nccl::Result error = nccl::kSuccess;
  std::map<uint64_t, Occasion> occasions; ///< By number.
  /// Messages under way, by sender, receiver and number.
  std::map<std::tuple<int, int, uint64_t>, std::pair<const char *, size_t>>
      messages;
  /// Splits under way: by number, each rank's color and key.
  std::map<uint64_t, std::map<int, std::pair<int, int>>> splits;
  std::map<std::pair<uint64_t, int>, std::shared_ptr<Clique>> children;
};

struct Pending {
  nccl::Comm comm;
  CUstream_st *stream;
  Work work;
};

/// A group that has ended: what it holds is not on its streams yet.
struct Launch {
  std::vector<Pending> works;
  int asks = kAsks;
};

} // namespace fakenccl

// NOLINTNEXTLINE(readability-identifier-naming): NVIDIA's name
struct ncclComm {
  std::shared_ptr<fakenccl::Clique> clique; ///< None until all have come.
  int rank = 0;
  std::string name;
  /// What it was asked for and is not done; does what can be done of it.
  std::function<bool()> finish;
  std::shared_ptr<fakenccl::Launch> launch; ///< Under way.
  /// Shared with what was split off.
  std::shared_ptr<bool> isAborted = std::make_shared<bool>(false);
  bool isFinalized = false, isGone = false;
  uint64_t operations = 0, splits = 0;
  std::multiset<void *> windows; ///< The memory of each.
  std::vector<std::weak_ptr<fakegpu::Graph>>
      graphs; ///< That captured its operations.
  std::map<std::pair<int, int>, uint64_t> messages; ///< Their numbers.
};

namespace fakenccl {

/// All there were. They live as long as the process: work in streams looks at
/// them after their end.
std::deque<ncclComm> &getComms();

/// Notes a mistake of the runtime, and gives the error it gets.
nccl::Result fail(const std::string &what);

/// What every call begins with that can fail. One that ends something may tell
/// of an error of earlier work, and ends it all the same.
#define FAIL_IF_TOLD()                                                         \
  if (fakegpu::failsNow(__func__))                                             \
    return fakenccl::kSystemError;

} // namespace fakenccl

#endif // TPOPT_TEST_CUDA_FAKECOMM_H
