// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How a contraction becomes matrix products of the library.
///
/// Every letter of an equation is a batch (in all three tensors), a row (left
/// and result), a column (right and result) or summed. A letter costs nothing
/// where all tensors walk through it as the continuation of another one; those
/// that remain beside one row, one column and one summed dimension become
/// batches, of which the library takes three. In "bmk,kn->bmn" of dense tensors
/// b and m are one row of b * m.
///
/// The windows of a convolution overlap. A product does not read them where
/// they lie, and a copy of all of them holds every element many times (im2col);
/// so the copy is made in blocks along one letter of the result:
///
///     "nhwklc,klcf->nhwf"  64 images    step.loop 64 {
///                                         copy the windows of an image
///                                         multiply into that image's rows
///                                       }

#ifndef TPOPT_PASSES_LOWER_CONTRACTIONPLAN_H
#define TPOPT_PASSES_LOWER_CONTRACTIONPLAN_H

#include "View.h"

#include "lib/Target/Target.h"

#include <optional>
#include <string>
#include <vector>

namespace tp {

/// Of a contraction, in the order in which it lists them.
enum Operand : unsigned { A, B, C, FirstPost };

/// A letter, or several that walk as one, with its stride in every operand.
struct Run {
  int64_t size;
  llvm::SmallVector<int64_t, 4> strides;
};

/// A contraction with one letter per dimension of every operand.
struct Contraction {
  std::string letters[3];
  std::vector<View> operands; ///< A, B, C, then post-ops' with C's letters.

  /// The letters of any operand's dimensions.
  llvm::StringRef getLetters(unsigned operand) const {
    return letters[std::min<unsigned>(operand, C)];
  }
  bool has(unsigned operand, char letter) const {
    return getLetters(operand).contains(letter);
  }
  Run getRun(char letter) const;
  /// The part in which `letter` is one of `begin` .. `begin + size`.
  Contraction take(char letter, int64_t begin, int64_t size) const;
};

struct MatmulPlan {
  llvm::SmallVector<Run> batch;
  Run m{1, {}}, n{1, {}}, k{1, {}};
  /// The operand whose layout does not allow the plan, if any.
  std::optional<Operand> blocker;
};

MatmulPlan planMatmul(const Contraction &contraction,
                      const codegen::Target &target);

/// What product number `index` of `plan` sees of an operand: a matrix, with
/// these as rows and columns, per batch.
View getMatrixOperand(const View &view, const MatmulPlan &plan, unsigned index,
                      const Run &row, const Run &column);

/// Whether the library reads what post-op number `post` adds or multiplies by
/// where it lies, beside C.
bool readsPost(const Contraction &contraction, const MatmulPlan &plan,
               unsigned post, const codegen::Target &target);

/// `view`, whose dimensions are the letters `from`, in the order `to`.
View permute(const View &view, llvm::StringRef from, llvm::StringRef to);

/// A contraction computed in parts, one after the other: `count` parts that
/// take `size` elements of the letter each, and then the rest.
struct ProductBlocks {
  char letter;
  int64_t size, count;
};

/// The blocks in which operand `copied`, which is read from where it lies into
/// a dense buffer, takes least memory, down to what fits the target's caches.
/// Returns none if the whole copy fits the caches, or if the products of blocks
/// would be too small.
std::optional<ProductBlocks> planBlocks(const Contraction &contraction,
                                        Operand copied,
                                        const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_CONTRACTIONPLAN_H
