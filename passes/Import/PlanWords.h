// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the options plan= and zero= ask for.

#ifndef TPOPT_PASSES_IMPORT_PLANWORDS_H
#define TPOPT_PASSES_IMPORT_PLANWORDS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tp {

/// What ZeRO cuts along the data axis, each with what stands before it
/// (arXiv:1910.02054).
enum class ZeroStage : unsigned { None, State, Gradients, Parameters };

struct PlanWords {
  /// Reads `megatron+sp+fsdp`, or the path of a plan file, and `1:AXIS`;
  /// failure after an error.
  static mlir::FailureOr<PlanWords>
  parse(llvm::StringRef plan, llvm::StringRef zero, mlir::Location loc);

  bool isMegatron = false;   ///< Weights are cut along the model axis,
  bool cutsSequence = false; ///< sums over that along the sequence,
  bool cutsBatch = false;    ///< and batches along the data axis.
  ZeroStage zero = ZeroStage::None;
  std::string dataAxis = "data";
  std::string file; ///< Of patterns; there is none beside words.
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLANWORDS_H
