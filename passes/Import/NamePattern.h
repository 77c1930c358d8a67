// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Patterns of the names of arguments and results, as plans and training have
// them.

#ifndef TPOPT_PASSES_IMPORT_NAMEPATTERN_H
#define TPOPT_PASSES_IMPORT_NAMEPATTERN_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"

namespace tp {

/// A name in which `*` stands for anything.
class NamePattern {
public:
  static llvm::Expected<NamePattern> create(mlir::MLIRContext *context,
                                            llvm::StringRef text);
  /// The patterns of a list with commas between them, but for those inside
  /// `{..}` and `[..]`.
  static llvm::Expected<std::vector<NamePattern>>
  createList(mlir::MLIRContext *context, llvm::StringRef text);

  llvm::StringRef getText() const { return text; }
  /// Whether the pattern is about exactly `form`.
  bool matchesWhole(llvm::StringRef form) const { return glob.match(form); }
  /// Whether it is about what is called `name`: as it stands, without a leading
  /// `model.`, or down to its module, "layers.0.self_attn.q_proj".
  bool matches(llvm::StringRef name) const;

private:
  NamePattern(llvm::StringRef text, llvm::GlobPattern glob)
      : text(text), glob(std::move(glob)) {}

  /// Owned by the context, since `glob` points into it.
  llvm::StringRef text;
  llvm::GlobPattern glob;
};

/// The ways to call `name` that a pattern may mean, the whole of it first.
llvm::SmallVector<llvm::StringRef, 6> getNameForms(llvm::StringRef name);

/// "layers.*.mlp" for "layers.12.mlp".
std::string writeNumbersAsStars(llvm::StringRef name);

/// Up to three of `names` that are most like `pattern`, numbers written `*`.
std::string getNearNames(llvm::StringRef pattern,
                         llvm::ArrayRef<llvm::StringRef> names);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_NAMEPATTERN_H
