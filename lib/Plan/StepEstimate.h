// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Estimates how long a step takes if its collectives run during computation.
// This is a simple model of what tp-schedule achieves, which needs a lowered
// program and takes much longer.
//
// Time on the *computing clock* passes only while the device computes. Take
// 10 s of computation that needs weights of 4 s each at its beginning and after
// 3 s, and makes a gradient of 5 s that is complete after 8 s:
//
//     clock 0       3            8    10
//           gather  gather       sum
//           |..4..|...4...|      |...5...|
//
// The device waits 4 s for the first gather, computes 3 s, and waits 1 s for
// the second. It computes the other 7 s, in whose last 2 s the sum is sent. It
// waits another 3 s for the sum. The step takes 4 + 3 + 1 + 7 + 3 = 18 s.

#ifndef TPOPT_PLAN_STEPESTIMATE_H
#define TPOPT_PLAN_STEPESTIMATE_H

#include <algorithm>
#include <vector>

namespace tp::plan {

/// Estimates the time of one step. All times that are passed to it are on the
/// computing clock. One link carries one transfer at a time. Of those that are
/// ready, it takes the one that is needed first.
class StepEstimate {
public:
  /// For a step with this many seconds of computation.
  explicit StepEstimate(double computing) : computing(computing) {}

  /// Adds a transfer that can start at `ready`. The device cannot pass `need`
  /// before it has arrived.
  void addTransfer(double ready, double need, double seconds) {
    // Because of rounding, `need` may be slightly less than `ready`.
    transfers.push_back({ready, std::max(ready, need), seconds});
  }
  /// Adds a transfer that can start when the step begins, in pieces of equal
  /// size. The device needs the first piece at `begin`, and the others evenly
  /// until `end`, as a loop does that reads its layers. There is one piece if
  /// the two times are equal.
  void addGather(double begin, double end, double seconds);
  /// Adds a transfer that is needed when the step ends, in pieces of equal
  /// size. They become ready evenly after `begin`, the last one at `end`, as in
  /// a loop that writes its layers. There is one piece if the two times are
  /// equal.
  void addSum(double begin, double end, double seconds);

  /// The seconds from the beginning of the step until the device has computed
  /// and received everything.
  double get() const;

private:
  struct Transfer {
    double ready, need, seconds;
  };
  double computing;
  std::vector<Transfer> transfers;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_STEPESTIMATE_H
