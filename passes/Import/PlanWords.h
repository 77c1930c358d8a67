// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The meaning of the options plan= and zero=.

#ifndef TPOPT_PASSES_IMPORT_PLANWORDS_H
#define TPOPT_PASSES_IMPORT_PLANWORDS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tp {

/// What ZeRO shards along the data axis; each stage includes the stages before
/// it (arXiv:1910.02054).
enum class ZeroStage : unsigned { None, State, Gradients, Parameters };

struct PlanWords {
  /// Reads `megatron+sp+fsdp` or the path of a plan file for plan=, and
  /// `1:AXIS` for zero=; emits an error on failure.
  static mlir::FailureOr<PlanWords>
  parse(llvm::StringRef plan, llvm::StringRef zero, mlir::Location loc);

  bool isMegatron = false;   ///< Shards weights along the model axis.
  bool cutsSequence = false; ///< Also shards sequences along it.
  bool cutsBatch = false;    ///< Shards batches along the data axis.
  ZeroStage zero = ZeroStage::None;
  std::string dataAxis = "data";
  std::string file; ///< The plan file, if there are no words.
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLANWORDS_H
