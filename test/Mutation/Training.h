// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages gradients and steps of training, and asks their proofs.
//
// A file holds the program of a loss, called `loss`. It is differentiated, and
// an op of its gradient damaged: tp-verify-gradient has to refuse it. It is
// made a step over micro-batches, and the step damaged: the proof of
// accumulation has to. A mutant is harmless if it gives the same numbers on
// data sets that are not those of the proofs.

#ifndef TPOPT_TEST_MUTATION_TRAINING_H
#define TPOPT_TEST_MUTATION_TRAINING_H

#include "QuietRun.h"

#include "llvm/ADT/MapVector.h"

#include <string>
#include <vector>

namespace tp {

struct TrainingOptions {
  std::string optimizer; ///< As in adamw(lr=0.1).
  std::string weight; ///< The result that weighs micro-batches; may be empty.
  unsigned mutants;   ///< Of the gradient, and as many of the step.
  uint64_t seed;
  bool show;                     ///< Prints each error.
  std::vector<std::string> ways; ///< Which damage; all of it if empty.
};

/// Adds what became of the mutants of a file. False if what is not damaged is
/// refused.
bool mutateTraining(const std::string &file, const TrainingOptions &options,
                    mlir::MLIRContext &context,
                    llvm::MapVector<llvm::StringRef, Tally> &tallies);

} // namespace tp

#endif // TPOPT_TEST_MUTATION_TRAINING_H
