// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Schedules a list of steps: builds the scheduling problem from the IR,
/// solves it with Order.h and Overlap.h, and moves the steps and collectives.

#ifndef TPOPT_PASSES_SCHEDULE_BLOCKSCHEDULER_H
#define TPOPT_PASSES_SCHEDULE_BLOCKSCHEDULER_H

#include "Overlap.h"

#include "lib/Cost/Machine.h"

#include "mlir/IR/Block.h"

namespace tp::schedule {

/// Predicted seconds of steps: see OverlapAttr.
struct Prediction {
  double written = 0, scheduled = 0, bound = 0, exposed = 0;

  Prediction operator+(const Prediction &other) const {
    return {written + other.written, scheduled + other.scheduled,
            bound + other.bound, exposed + other.exposed};
  }
  Prediction operator*(double times) const {
    return {times * written, times * scheduled, times * bound, times * exposed};
  }
};

/// The machine, the mesh and the limits that schedules depend on.
struct Surroundings {
  const cost::Machine &machine;
  const Mesh &mesh;
  const Limits &limits;
  bool separatesLinks; ///< See Target. If not, there is one link.

  Surroundings withLimits(const Limits &limits) const {
    return {machine, mesh, limits, separatesLinks};
  }
};

struct ScheduledBlock {
  Prediction prediction;
  /// The most bytes of the block's own buffers that are in use at a time if no
  /// transfer starts early.
  int64_t peakBytes = 0;
  LinkSeconds carried = {}; ///< The seconds of all transfers in the block.
  /// The block's problem and schedule; null if it has no transfers.
  std::shared_ptr<const Body> body = nullptr;
};

/// Moves the collectives of a list of steps, and of the lists inside. Changes
/// the order of independent steps if that is predicted to save at least 0.5% of
/// the time and does not increase the peak bytes.
ScheduledBlock scheduleBlock(mlir::Block &block, const Surroundings &given);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_BLOCKSCHEDULER_H
