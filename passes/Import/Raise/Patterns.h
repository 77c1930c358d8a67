// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What tp-raise recognises, a family of transformer ops in a file.
///
/// A pattern looks backwards from an op, the root, and changes nothing. What it
/// finds says where the recognised ops begin and how to write the same in one
/// op; whether they may go is decided for all patterns alike.

#ifndef TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H
#define TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H

#include "BroadcastOperand.h"

#include <functional>

namespace tp::raise {

struct Match {
  /// What the transformer op is called in remarks; nothing where it is only
  /// another spelling.
  llvm::StringRef name;
  /// The op whose one result is replaced.
  mlir::Operation *root = nullptr;
  /// Where the recognised ops begin.
  llvm::SmallVector<mlir::Value, 4> inputs;
  /// Writes the replacement before the root.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location)> build;
};

using Recognizer = std::optional<Match> (*)(mlir::Operation *root);

// These find what is made of parts, flattened or repeated, which others then
// know as it is.
std::optional<Match> matchConcatenation(mlir::Operation *root);
std::optional<Match> matchFlattened(mlir::Operation *root);
std::optional<Match> matchRepeated(mlir::Operation *root);

std::optional<Match> matchNorm(mlir::Operation *root);
std::optional<Match> matchSoftmax(mlir::Operation *root);
std::optional<Match> matchActivation(mlir::Operation *root);
std::optional<Match> matchRotary(mlir::Operation *root);
std::optional<Match> matchEmbedding(mlir::Operation *root);
std::optional<Match> matchCrossEntropy(mlir::Operation *root);

// These find transformer ops, which the others have written.
std::optional<Match> matchGated(mlir::Operation *root);
std::optional<Match> matchAttention(mlir::Operation *root);

// These find what is written in another way than others write it.
std::optional<Match> matchContraction(mlir::Operation *root);
std::optional<Match> matchNestedReduction(mlir::Operation *root);
std::optional<Match> matchZeroAdded(mlir::Operation *root);
std::optional<Match> matchBroadcast(mlir::Operation *root);
std::optional<Match> matchSlice(mlir::Operation *root);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_PATTERNS_H
