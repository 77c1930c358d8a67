// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The model families; each has a file of its own.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H

#include "Config.h"
#include "ModelBuilder.h"

#include "tpopt/Import/Import.h"

namespace tp::hf {

/// The inputs of a model family's importer.
struct Import {
  mlir::ModuleOp module;
  Config config;
  std::string architecture;
  Checkpoint *checkpoint; ///< Null without weights.
  const ImportOptions &options;
  mlir::Type element; ///< The type of weights and activations.
};

/// Each of these returns failure after an error.
mlir::LogicalResult buildLlama(Import &import);
mlir::LogicalResult buildGPT2(Import &import);
mlir::LogicalResult buildBERT(Import &import);

/// Returns the activation that `field` names.
Activation getActivation(Config &config, llvm::StringRef field);

/// Rotary embedding (arXiv:2104.09864): returns the angle per position of every
/// pair of features of a head, as `rope_theta` and `rope_scaling` define it.
llvm::SmallVector<double> getRotaryFrequencies(Config &config, int64_t head);

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_FAMILIES_H
