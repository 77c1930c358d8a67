// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What an op does to the dimensions of its tensors, as an equation.
///
/// # Factors
///
/// A matrix product is `ik,kj->ij`: i and j walk along with the data, k is
/// summed. The letters are the op's **factors**. Sharding an op means sharding
/// its factors, and every tensor it touches follows:
///
///     k over "x":   lhs [{}, {"x"}]   rhs [{"x"}, {}]   result unreduced={"x"}
///
/// That is all the two rules of tensor parallelism say. A factor in the result
/// (outer dimension) needs no communication; a factor in no result (inner
/// dimension) leaves partial sums.
///
/// The text form is einsum notation: operands, `->`, results; a letter is a
/// factor, `(hd)` is a dimension made of several factors, major first, `1` is
/// a dimension without a factor, `...` stands for the same leading or trailing
/// dimensions everywhere, a `!` behind a letter marks a factor the op wants
/// whole, and a `~` one along which the op itself sends what devices need of
/// each other.
///
///     "...,...->..."           element-wise
///     "...d!,d->...d"          rms_norm: statistics over d
///     "b(hd)->bhd"             a reshape that splits heads
///     "vh,...->...h"           embedding: v is in no result, so it is reduced
///     "...d~->...k!,...k!"     top_k: of each block first, then of those
///
/// `!` never stops propagation. It tells Partition to price the ways out:
/// gather the factor, move its axes to another factor, or decompose the op.
///
/// After Shardy's factor rules and GSPMD's per-op sharding (arXiv:2105.04663).

#ifndef TPOPT_SHARDING_RULE_H
#define TPOPT_SHARDING_RULE_H

#include "tpopt/Sharding/Sharding.h"

#include "llvm/Support/Error.h"

namespace tp {

/// What happens if a factor is sharded.
enum class FactorKind : uint8_t {
  /// In some result: nothing to do.
  PassThrough,
  /// In no result: results are partial on its axes.
  Reduction,
  /// The op wants it whole.
  Whole,
  /// The op's local form sends what devices need of each other, and its price
  /// says so (see ExchangeOpInterface). Dimensions that have such a factor may
  /// differ in size: each lies in blocks of its own.
  Exchanged,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// How partial results combine, for a Reduction.
  ReduceKind reduce = ReduceKind::Sum;
  /// The letter in the equation, for messages. '\0' past the alphabet.
  char name = 0;
};

/// A dimension as its factors, major first; none for a dimension of size 1 that
/// nothing else shares.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// A tensor as its dimensions.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// The sharding rule of one op with known shapes.
struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;
  /// Whether the first factor of a dimension of several may be cut otherwise
  /// than in blocks of the dimension: the op's local form sends what differs,
  /// and its price says so (see ExchangeOpInterface).
  bool movesBlocks = false;

  /// Operands first, then results.
  unsigned getNumTensors() const { return operands.size() + results.size(); }
  const TensorFactors &getTensor(unsigned i) const {
    return i < operands.size() ? operands[i] : results[i - operands.size()];
  }
  /// Whether `factor` appears in tensor `i`.
  bool hasFactor(unsigned i, unsigned factor) const;

  /// Reads `equation` for tensors of the given shapes. Errors say which letter
  /// or dimension does not fit.
  static llvm::Expected<ShardingRule>
  parse(llvm::StringRef equation,
        llvm::ArrayRef<llvm::ArrayRef<int64_t>> operandShapes,
        llvm::ArrayRef<llvm::ArrayRef<int64_t>> resultShapes);

  /// The rule as text with its factor sizes: `ik,kj->ij {i=8, j=16, k=32}`.
  void print(llvm::raw_ostream &os) const;
};

/// Builds a rule dimension by dimension, for ops whose equation depends on
/// attributes:
///
///     RuleBuilder b(numOperands, numResults);
///     unsigned i = b.addFactor(8);
///     b.addDim(/*tensor=*/0, {i});       // operands first, then results
///     b.addDim(/*tensor=*/1, {i});
///     return b.build();
class RuleBuilder {
public:
  RuleBuilder(unsigned numOperands, unsigned numResults);
  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::PassThrough,
                     ReduceKind reduce = ReduceKind::Sum);
  /// The next dimension of `tensor`.
  void addDim(unsigned tensor, llvm::ArrayRef<unsigned> factors);
  /// Factors in no result that pass through become Reductions here.
  ShardingRule build();

private:
  ShardingRule rule;
};

/// Operands and a result of one shape, a factor for each dimension: of two
/// dimensions and two operands `ij,ij->ij`.
ShardingRule makeElementwiseRule(unsigned numOperands,
                                 llvm::ArrayRef<int64_t> shape);

/// From a tensor to its block, in every dimension one of `counts[i]`, or, if
/// not `toBlock`, back. What cuts the block cuts the tensor behind what makes
/// the blocks: 8 in 4 blocks is `(ij)->j`, with i=4 wanted whole. Dimensions
/// whose blocks are not equal have nothing in common.
ShardingRule makeBlockRule(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> counts, bool toBlock);

/// The factors of a reshape from one shape to another: dimensions are split
/// where both sides have a common boundary, 4x12 -> 4x2x3x2 is
/// `i(jkl)->ijkl`, and 6x4 -> 4x6 shares no boundary but gcd parts:
/// i=2 remains the major factor of both. Factors without a partner on the other
/// side are Whole.
ShardingRule makeReshapeRule(llvm::ArrayRef<int64_t> from,
                             llvm::ArrayRef<int64_t> to);

} // namespace tp

#endif // TPOPT_SHARDING_RULE_H
