// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds which scores an attention hides, from the ops that hide them.
///
///     %i = tp.iota dim = 0 : 8x8       %j = tp.iota dim = 1 : 8x8
///     %m = tp.compare ge %i, %j        tp.select %m, %scores, -1e9
///
/// is causal. A condition that is not recognised as a comparison of positions
/// remains a mask.

#ifndef TPOPT_PASSES_IMPORT_RAISE_MASKS_H
#define TPOPT_PASSES_IMPORT_RAISE_MASKS_H

#include "BroadcastOperand.h"

namespace tp::raise {

/// A boolean term that must be true or, if not `holds`, false.
struct Condition {
  BroadcastOperand term;
  bool holds = true;

  /// Creates the condition over dims `order`, which have the sizes `sizes`.
  mlir::Value arrange(Emitter &emit, llvm::ArrayRef<int64_t> order,
                      llvm::ArrayRef<int64_t> sizes) const;
};

/// The conditions under which an attention's scores are visible. Every
/// condition depends on some of the attention's dims, which are named by
/// letters.
class Visibility {
public:
  /// Adds a condition that must hold for a score to be visible. Conjunctions
  /// are taken apart. Returns false if there are more conditions than any real
  /// program has.
  bool require(const Condition &condition);
  /// Returns true if the conditions depend on a letter.
  bool isAlong(int64_t letter) const;

  /// Finds the conditions that compare positions; s and t are the letters of
  /// query and key positions. Returns false if `tp.attention` cannot express
  /// them.
  bool understand(int64_t s, int64_t t);
  /// Returns true if every query row is known to see at least one key.
  bool seesAlways(int64_t rows, int64_t keys) const;

  llvm::ArrayRef<Condition> getConditions() const { return conditions; }
  /// The positional conditions: t <= s + *diagonal, and s + *diagonal - t <
  /// *window.
  std::optional<int64_t> getDiagonal() const { return diagonal; }
  std::optional<int64_t> getWindow() const { return window; }
  /// All other conditions.
  llvm::ArrayRef<Condition> getMasks() const { return masks; }

private:
  llvm::SmallVector<Condition, 2> conditions, masks;
  std::optional<int64_t> diagonal, window;
};

/// Returns true if a score is so low that it means minus infinity.
bool isHiding(double score);

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_MASKS_H
