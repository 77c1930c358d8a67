// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs trials, each named by a seed, in processes of their own: one that
// crashes or hangs is a finding, and the next ones go on.

#ifndef TPOPT_TEST_FUZZ_DRIVER_H
#define TPOPT_TEST_FUZZ_DRIVER_H

#include "llvm/Support/CommandLine.h"

#include <cstdint>
#include <functional>
#include <string>

namespace tp::fuzz {

/// Does the trial of a seed and says how it went, in text for the parent.
using Trial = std::function<std::string(uint64_t seed)>;

struct Schedule {
  uint64_t seed = 1, count = 1;
  /// Ends earlier after so many seconds, if above 0.
  double seconds = 0;
  unsigned jobs = 1;
  /// A trial that runs longer hangs.
  double deadline = 60;
};

struct Outcome {
  uint64_t seed = 0;
  /// What the trial said, if it came to its end.
  std::string report;
  /// Else how its process ended, as `signal 11`.
  std::string death;
};

/// Runs the trials of `schedule` and gives their outcomes to `take`, in no
/// order. `makeTrial` is called in every new process: what trials share grows
/// no further than a few hundred of them.
void runTrials(const Schedule &schedule,
               const std::function<Trial()> &makeTrial,
               const std::function<void(const Outcome &)> &take);

/// What the command lines of all tools here say about trials.
class Options {
public:
  /// One trial that runs longer than `deadline` seconds hangs.
  explicit Options(double deadline);

  /// Runs the trials, with progress, and says how many of `what` there were,
  /// the rest by `summarize`, and how many failed: those for which `take` is
  /// true. Returns the exit status.
  int run(llvm::StringRef what, const std::function<Trial()> &makeTrial,
          llvm::function_ref<bool(const Outcome &)> take,
          llvm::function_ref<void()> summarize) const;
  /// Writes a file of a failure.
  void write(const std::string &name, llvm::StringRef bytes) const;

  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<double> deadline;

private:
  llvm::cl::opt<uint64_t> count;
  llvm::cl::opt<double> seconds;
  llvm::cl::opt<unsigned> jobs;
  llvm::cl::opt<std::string> folder;
};

/// The outcome of one trial, in a process of its own.
Outcome runTrial(const std::function<std::string()> &trial,
                 double deadline = 60);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_DRIVER_H
