// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Prints and logs each step of training.

#ifndef TPRUN_TRAINLOG_H
#define TPRUN_TRAINLOG_H

#include "runtime/Core/Session.h"

#include <string>
#include <utility>
#include <vector>

namespace tprun {

/// The time of a training step, in seconds. The part of `total` that is not in
/// the other fields is spent on reading data and results.
struct StepSplit {
  double total = 0, compute = 0, communication = 0;
  double waiting = 0; ///< Waiting for the last rank to join a collective.
};

/// Divides the time `total` of a training step among the fields of StepSplit.
/// `times` are those of the program's steps (StepRow) on one rank.
StepSplit split(const tprt::Artifact &artifact,
                const tprt::Session::RankTimes &times, double total);

struct TrainedStep {
  uint64_t number, last; ///< Counted from 1.
  double loss;
  /// The other scalar outputs, by name.
  std::vector<std::pair<std::string, double>> scalars;
  uint64_t samples, tokens; ///< `tokens` is 0 if samples have none.
  StepSplit time;
};

/// Prints steps, and immediately writes each as a line of JSON, for people and
/// programs that follow the file.
class TrainLog {
public:
  /// Opens the file, unless its name is empty, and discards its old contents.
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
