// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the options of training say, read and checked as far as they can be
// without the program.

#ifndef TPOPT_PASSES_TRAIN_RECIPE_H
#define TPOPT_PASSES_TRAIN_RECIPE_H

#include "Optimizer.h"
#include "Schedule.h"

#include "passes/Import/NamePattern.h"

namespace tp {

/// The options as they are written.
struct RecipeText {
  std::string loss, weight, train, optimizer, schedule, clip, accumulate,
      master, decay, noDecay;
};

struct Recipe {
  /// Failure after an error.
  static mlir::FailureOr<Recipe> parse(const RecipeText &text,
                                       mlir::Location loc);

  /// Whether the weights of a parameter decay, if any do.
  bool decays(llvm::StringRef name) const;

  std::string loss;
  std::string weight; ///< Of a micro-batch, a result; empty if all weigh one.
  std::vector<NamePattern> train;          ///< Empty: all parameters.
  std::vector<NamePattern> decay, noDecay; ///< Empty `decay`: all.
  std::unique_ptr<Optimizer> optimizer;
  Schedule schedule;
  std::optional<double> clip; ///< The most that the gradients' norm may be.
  int64_t accumulate = 1;     ///< Micro-batches of a step.
  bool master = false;        ///< Narrow parameters have a copy in f32.
};

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_RECIPE_H
