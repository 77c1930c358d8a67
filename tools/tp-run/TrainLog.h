// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What is said of each step of training.

#ifndef TPRUN_TRAINLOG_H
#define TPRUN_TRAINLOG_H

#include "runtime/Core/Session.h"

#include <string>
#include <utility>
#include <vector>

namespace tprun {

/// How long a step took, in seconds. What is left over reads data and results.
struct StepSplit {
  double total = 0, compute = 0, communication = 0;
  double waiting = 0; ///< At collectives, for the slowest rank to come.
};

/// Of the steps of a program that a rank has recorded.
StepSplit split(const tprt::Artifact &artifact,
                const tprt::Session::RankTimes &times, double total);

struct TrainedStep {
  uint64_t number, last; ///< Counted from 1.
  double loss;
  /// Of the other outputs without dimensions, by name.
  std::vector<std::pair<std::string, double>> scalars;
  uint64_t samples, tokens; ///< No tokens: samples are of something else.
  StepSplit time;
};

/// Prints steps, and writes each as a line of JSON as it comes, for people and
/// programs that follow the file.
class TrainLog {
public:
  /// Opens the file, unless its name is empty. What was in it is lost.
  static absl::StatusOr<TrainLog> open(const std::string &path);
  TrainLog(TrainLog &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)),
        path(std::move(other.path)) {}
  TrainLog &operator=(TrainLog &&other) = delete;
  ~TrainLog();

  absl::Status add(const TrainedStep &step) const;

private:
  TrainLog() = default;

  int descriptor = -1;
  std::string path;
};

} // namespace tprun

#endif // TPRUN_TRAINLOG_H
