// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which scores an attention hides, read off the ops that hide them.
///
///     %i = tp.iota dim = 0 : 8x8       %j = tp.iota dim = 1 : 8x8
///     %m = tp.compare ge %i, %j        tp.select %m, %scores, -1e9
///
/// is causal. What is not recognised as a comparison of positions remains a
/// mask.

#ifndef TPOPT_PASSES_IMPORT_RAISE_MASKS_H
#define TPOPT_PASSES_IMPORT_RAISE_MASKS_H

#include "BroadcastOperand.h"

namespace tp::raise {

/// A boolean that must be true, or false.
struct Condition {
  BroadcastOperand term;
  bool holds = true;

  /// Over dims `order`, of `sizes`.
  mlir::Value arrange(Emitter &emit, llvm::ArrayRef<int64_t> order,
                      llvm::ArrayRef<int64_t> sizes) const;
};

/// Over the letters of an attention.
class Visibility {
public:
  /// A score counts only where this holds. Taken apart as far as it is a
  /// conjunction; false for more than anybody writes.
  bool require(const Condition &condition);
  /// Whether that depends on a letter.
  bool isAlong(int64_t letter) const;

  /// Sorts out what compares positions, s and t being the letters of query and
  /// key ones; false for what no tp.attention does.
  bool understand(int64_t s, int64_t t);
  /// Whether every query row sees a key, as far as is known.
  bool seesAlways(int64_t rows, int64_t keys) const;

  llvm::ArrayRef<Condition> getConditions() const { return conditions; }
  /// What was understood: t <= s + *diagonal, and s + *diagonal - t < *window.
  std::optional<int64_t> getDiagonal() const { return diagonal; }
  std::optional<int64_t> getWindow() const { return window; }
  /// And what was not.
  llvm::ArrayRef<Condition> getMasks() const { return masks; }

private:
  llvm::SmallVector<Condition, 2> conditions, masks;
  std::optional<int64_t> diagonal, window;
};

/// Whether this much stands for minus infinity in a score.
bool isHiding(double score);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_MASKS_H
