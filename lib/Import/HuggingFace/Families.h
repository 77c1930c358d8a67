// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The families of models, a file each.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H

#include "Config.h"
#include "ModelBuilder.h"

#include "tpopt/Import/Import.h"

namespace tp::hf {

/// What importing has at hand.
struct Import {
  mlir::ModuleOp module;
  Config config;
  std::string architecture;
  Checkpoint *checkpoint; ///< Null without weights.
  const ImportOptions &options;
  mlir::Type element; ///< Of weights and activations.
};

/// Each fails after an error.
mlir::LogicalResult buildLlama(Import &import);
mlir::LogicalResult buildGPT2(Import &import);
mlir::LogicalResult buildBERT(Import &import);

/// The activation that `field` names.
Activation getActivation(Config &config, llvm::StringRef field);

/// How positions turn features (arXiv:2104.09864): the angle per position of
/// every pair of features of a head, as `rope_theta` and `rope_scaling` say.
llvm::SmallVector<double> getRotaryFrequencies(Config &config, int64_t head);

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H
