// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The training options, parsed, and checked as far as possible without the
// program.

#ifndef TPOPT_PASSES_TRAIN_RECIPE_H
#define TPOPT_PASSES_TRAIN_RECIPE_H

#include "Optimizer.h"
#include "Schedule.h"

#include "passes/Import/NamePattern.h"

namespace tp {

/// The text of each option.
struct RecipeText {
  std::string loss, weight, train, optimizer, schedule, clip, accumulate,
      master, decay, noDecay;
};

struct Recipe {
  /// Parses and checks the options; returns failure after an error.
  static mlir::FailureOr<Recipe> parse(const RecipeText &text,
                                       mlir::Location loc);

  /// Returns true if the named parameter decays. Only meaningful if the
  /// optimizer has weight decay.
  bool decays(llvm::StringRef name) const;

  std::string loss;
  std::string weight; ///< The result with a micro-batch's weight; empty: 1.
  std::vector<NamePattern> train;          ///< Empty: all parameters.
  std::vector<NamePattern> decay, noDecay; ///< Empty `decay`: all.
  std::unique_ptr<Optimizer> optimizer;
  Schedule schedule;
  std::optional<double> clip; ///< The largest allowed norm of the gradients.
  int64_t accumulate = 1;     ///< Micro-batches per step.
  bool master = false;        ///< Narrow parameters have a copy in f32.
};

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_RECIPE_H
