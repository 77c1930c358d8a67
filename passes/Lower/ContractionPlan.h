// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How a contraction becomes matrix products that the library computes.
///
/// Every letter of an equation is a batch (in all three tensors), a row (left
/// and result), a column (right and result) or summed. Two letters are merged,
/// at no cost, if they are contiguous with each other in every tensor. Of the
/// letters that remain, one is the row, one the column and one the summed
/// dimension; the others become batches. The library supports three batch
/// dimensions. In "bmk,kn->bmn" with dense tensors, b and m are merged into one
/// row dimension of size b * m.
///
/// The windows of a convolution overlap. A matrix product cannot read them in
/// place, and a copy of all windows contains every element many times (im2col).
/// So the windows are copied in blocks along one letter of the result:
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

/// The operands of a contraction, in the order of Contraction::operands.
enum Operand : unsigned { A, B, C, FirstPost };

/// A letter, or several letters merged into one dimension, with the stride in
/// every operand.
struct Run {
  int64_t size;
  llvm::SmallVector<int64_t, 4> strides;
};

/// A contraction with one letter per dimension of every operand.
struct Contraction {
  std::string letters[3];
  std::vector<View> operands; ///< A, B, C, then post-ops with C's letters.

  /// Returns the letters of the operand with this number. The operands of
  /// post-ops have the letters of C.
  llvm::StringRef getLetters(unsigned operand) const {
    return letters[std::min<unsigned>(operand, C)];
  }
  bool has(unsigned operand, char letter) const {
    return getLetters(operand).contains(letter);
  }
  Run getRun(char letter) const;
  /// Returns the part of the contraction in which `letter` runs over `begin` ..
  /// `begin + size - 1`.
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

/// The part of an operand that product number `index` of `plan` reads or
/// writes: a matrix per batch, with the given runs as its rows and columns.
View getMatrixOperand(const View &view, const MatmulPlan &plan, unsigned index,
                      const Run &row, const Run &column);

/// Returns true if the library can read the operand of post-op number `post` in
/// its present layout, given the layout of C.
bool readsPost(const Contraction &contraction, const MatmulPlan &plan,
               unsigned post, const codegen::Target &target);

/// Reorders the dimensions of `view` from the letters `from` to the letters
/// `to`.
View permute(const View &view, llvm::StringRef from, llvm::StringRef to);

/// A contraction computed in parts, one after the other: `count` parts that
/// take `size` elements of the letter each, and then one part with the rest.
struct ProductBlocks {
  char letter;
  int64_t size, count;
};

/// Splits the contraction so that operand `copied`, which is copied part by
/// part into a dense buffer, takes as little memory as possible; blocks need
/// not be smaller than the target's caches. Returns none if the whole copy fits
/// the caches, or if the products of blocks would be too small.
std::optional<ProductBlocks> planBlocks(const Contraction &contraction,
                                        Operand copied,
                                        const codegen::Target &target);

} // namespace tp

#endif // TPOPT_PASSES_LOWER_CONTRACTIONPLAN_H
