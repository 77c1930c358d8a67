// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs trials, each named by a seed, in processes of their own: one that
// crashes or hangs is a finding, and the next ones go on.

#ifndef TPOPT_TEST_FUZZ_DRIVER_H
#define TPOPT_TEST_FUZZ_DRIVER_H

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
/// no further than a few hundred of them. Returns the number of trials.
uint64_t runTrials(const Schedule &schedule,
                   const std::function<Trial()> &makeTrial,
                   const std::function<void(const Outcome &)> &take);

/// The outcome of one trial, in a process of its own.
Outcome runTrial(const std::function<std::string()> &trial,
                 double deadline = 60);

/// Rewrites the last line of a terminal, says nothing elsewhere.
void showProgress(const std::string &text);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_DRIVER_H
