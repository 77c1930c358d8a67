// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs the steps of training.
///
/// The entry is one that --tp-train makes: it overwrites parameters and
/// optimizer state, which stay on the devices between steps. Each step's inputs
/// are rows of a data set (TrainingData.h). The loss is the output `loss`, or
/// else the only scalar float output that overwrites nothing. The other scalar
/// outputs go to the log.

#ifndef TPRUN_TRAIN_H
#define TPRUN_TRAIN_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// Runs options.steps steps. All inputs except the data must be bound. Prints a
/// line for each step, and writes the log and the parameters if they are asked
/// for.
absl::Status train(tprt::Session &session, const Options &options,
                   const std::string &entry);

} // namespace tprun

#endif // TPRUN_TRAIN_H
