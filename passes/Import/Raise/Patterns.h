// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The patterns of tp-raise, with a file for each family of transformer
/// ops.
///
/// A pattern looks backwards from an op, the root, and changes nothing. Its
/// match contains the inputs of the recognised ops and a function that writes
/// these ops as a single op. One rule, the same for all patterns, decides
/// whether the recognised ops may be erased.

#ifndef TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H
#define TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H

#include "BroadcastOperand.h"

#include <functional>

namespace tp::raise {

struct Match {
  /// The name of the transformer op in remarks; empty if the match only changes
  /// the spelling.
  llvm::StringRef name;
  /// The op whose single result is replaced.
  mlir::Operation *root = nullptr;
  /// The values that the recognised ops take as inputs.
  llvm::SmallVector<mlir::Value, 4> inputs;
  /// Writes the replacement before the root.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location)> build;
};

using Recognizer = std::optional<Match> (*)(mlir::Operation *root);

// These patterns find values that are written in parts, flattened or repeated,
// and write them as the other patterns expect them.
std::optional<Match> matchConcatenation(mlir::Operation *root);
std::optional<Match> matchFlattened(mlir::Operation *root);
std::optional<Match> matchRepeated(mlir::Operation *root);

std::optional<Match> matchNorm(mlir::Operation *root);
std::optional<Match> matchSoftmax(mlir::Operation *root);
std::optional<Match> matchActivation(mlir::Operation *root);
std::optional<Match> matchRotary(mlir::Operation *root);
std::optional<Match> matchEmbedding(mlir::Operation *root);
std::optional<Match> matchCrossEntropy(mlir::Operation *root);

// These patterns find transformer ops that contain ops written by the patterns
// above.
std::optional<Match> matchGated(mlir::Operation *root);
std::optional<Match> matchAttention(mlir::Operation *root);

// These patterns find ops that can be spelled in several ways, and rewrite them
// in a single spelling.
std::optional<Match> matchContraction(mlir::Operation *root);
std::optional<Match> matchNestedReduction(mlir::Operation *root);
std::optional<Match> matchZeroAdded(mlir::Operation *root);
std::optional<Match> matchBroadcast(mlir::Operation *root);
std::optional<Match> matchSlice(mlir::Operation *root);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H
