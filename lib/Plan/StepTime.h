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

#ifndef TPOPT_PLAN_STEPTIME_H
#define TPOPT_PLAN_STEPTIME_H

#include <vector>

namespace tp::plan {

/// Communication that can run during computation. The times `begin` and `end`
/// are on the computing clock. A gather is needed in equal pieces, the first
/// one at `begin` and the last one before `end`. A sum is complete in equal
/// pieces, the first one after `begin` and the last one at `end`. The two times
/// differ if a loop reads or writes its layers.
struct SlackTransfer {
  double begin, end;
  double seconds;
};

/// The seconds of a step with `computing` seconds of computation. One link
/// carries one transfer at a time. Gathers can start when the step begins, and
/// those that are needed first go first; sums go after all gathers. The step
/// ends when all sums have been sent.
double getStepTime(double computing, std::vector<SlackTransfer> gathers,
                   std::vector<SlackTransfer> sums);

} // namespace tp::plan

#endif // TPOPT_PLAN_STEPTIME_H
