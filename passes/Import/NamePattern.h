// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Patterns for the names of arguments and results, used by plans and training.

#ifndef TPOPT_PASSES_IMPORT_NAMEPATTERN_H
#define TPOPT_PASSES_IMPORT_NAMEPATTERN_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"

namespace tp {

/// A name in which `*` matches anything.
class NamePattern {
public:
  static llvm::Expected<NamePattern> create(mlir::MLIRContext *context,
                                            llvm::StringRef text);
  /// Reads the patterns of a list, separated by commas. Commas inside `{..}`
  /// and `[..]` do not separate patterns.
  static llvm::Expected<std::vector<NamePattern>>
  createList(mlir::MLIRContext *context, llvm::StringRef text);

  llvm::StringRef getText() const { return text; }
  /// Returns true if the pattern matches `form` as a whole.
  bool matchesWhole(llvm::StringRef form) const { return glob.match(form); }
  /// Returns true if the pattern matches `name` or a shorter form of it:
  /// without a leading `model.`, or only up to the name of the module, as in
  /// "layers.0.self_attn.q_proj".
  bool matches(llvm::StringRef name) const;

private:
  NamePattern(llvm::StringRef text, llvm::GlobPattern glob)
      : text(text), glob(std::move(glob)) {}

  /// The pattern as text. MLIRContext owns the text, because `glob` refers to
  /// it.
  llvm::StringRef text;
  llvm::GlobPattern glob;
};

/// Returns the forms of `name` that a pattern may match, the full name first.
llvm::SmallVector<llvm::StringRef, 6> getNameForms(llvm::StringRef name);

/// Replaces numbers by stars: "layers.*.mlp" for "layers.12.mlp".
std::string writeNumbersAsStars(llvm::StringRef name);

/// Returns the names most similar to `pattern`, at most three, with numbers
/// written as `*`.
std::string getNearNames(llvm::StringRef pattern,
                         llvm::ArrayRef<llvm::StringRef> names);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_NAMEPATTERN_H
