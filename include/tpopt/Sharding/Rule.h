// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Sharding rules: equations that relate the dimensions of an op's
/// tensors.
///
/// # Factors
///
/// A matrix product is `ik,kj->ij`: i and j pass through to the result, and k
/// is summed over. The letters are the op's **factors**. Sharding an op means
/// sharding its factors, which determines the shardings of its tensors:
///
///     k over "x":   lhs [{}, {"x"}]   rhs [{"x"}, {}]   result unreduced={"x"}
///
/// These are the two rules of tensor parallelism: a factor in the result (outer
/// dimension) needs no communication, and a factor in no result (inner
/// dimension) gives partial sums.
///
/// The text form is einsum notation: operands, `->`, results; a letter is a
/// factor, `(hd)` is a dimension made of several factors, major first, `1` is a
/// dimension without a factor, `...` is the same list of leading or trailing
/// dimensions everywhere, `!` after a letter marks a factor that the op needs
/// whole, and `~` marks a factor along which the op itself exchanges data
/// between devices.
///
///     "...,...->..."           element-wise
///     "...d!,d->...d"          rms_norm: statistics over d
///     "b(hd)->bhd"             a reshape that splits heads
///     "vh,...->...h"           embedding: v is in no result, so it is reduced
///     "...d~->...k!,...k!"     top_k of each block, then of the results
///
/// `!` does not stop propagation. It makes Partition compare the costs of the
/// alternatives: gather the factor, move its axes to another factor, or
/// decompose the op.
///
/// Based on Shardy's factor rules and GSPMD's per-op sharding
/// (arXiv:2105.04663).

#ifndef TPOPT_SHARDING_RULE_H
#define TPOPT_SHARDING_RULE_H

#include "tpopt/Sharding/Sharding.h"

#include "llvm/Support/Error.h"

namespace tp {

/// The effect of sharding a factor.
enum class FactorKind : uint8_t {
  /// The factor is in a result, so that sharding it needs no communication.
  PassThrough,
  /// The factor is in no result: the results are partial along its axes.
  Reduction,
  /// The op can only be computed if the factor is not sharded.
  Whole,
  /// The factor may be sharded, because the op's local form exchanges data
  /// between devices. The cost of the op includes this exchange (see
  /// ExchangeOpInterface). Dimensions that share such a factor may differ in
  /// size, and so have different blocks.
  Exchanged,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// For a Reduction: how partial results are combined.
  ReduceKind reduce = ReduceKind::Sum;
  /// The letter of the factor in the equation, for messages; '\0' for factors
  /// for which there are no letters left.
  char name = 0;
};

/// The factors of a dimension, major first. A dimension of size 1 that shares
/// no factor with another has none.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// The dimensions of a tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// The sharding rule of one op with known shapes.
struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;
  /// Whether the first factor of a dimension of several factors may be split
  /// into blocks that differ from the blocks of the dimension. For such blocks,
  /// the op's local form exchanges elements between devices, and the cost of
  /// the op includes this exchange (see ExchangeOpInterface).
  bool movesBlocks = false;

  /// Operands first, then results.
  unsigned getNumTensors() const { return operands.size() + results.size(); }
  const TensorFactors &getTensor(unsigned i) const {
    return i < operands.size() ? operands[i] : results[i - operands.size()];
  }
  /// Whether `factor` appears in tensor `i`.
  bool hasFactor(unsigned i, unsigned factor) const;

  /// Parses `equation` for tensors of the given shapes. An error says which
  /// letter or dimension does not fit.
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
  /// Appends a dimension with these factors to tensor number `tensor`.
  void addDim(unsigned tensor, llvm::ArrayRef<unsigned> factors);
  /// Returns the rule. A pass-through factor that no result has becomes a
  /// Reduction.
  ShardingRule build();

private:
  ShardingRule rule;
};

/// The rule for operands and a result of the same shape, with a factor for each
/// dimension: `ij,ij->ij` for two dimensions and two operands.
ShardingRule makeElementwiseRule(unsigned numOperands,
                                 llvm::ArrayRef<int64_t> shape);

/// The rule of an op that takes one block of a tensor or, if `toBlock` is
/// false, assembles a tensor from its blocks. The tensor has `counts[i]` blocks
/// in dimension i. Axes that shard the block shard the tensor within each of
/// its blocks: a dimension of 8 in 4 blocks is `(ij)->j`, where i=4 must not be
/// sharded. If the blocks of a dimension are not equal, the dimension shares no
/// factor.
ShardingRule makeBlockRule(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> counts, bool toBlock);

/// The rule of a reshape. Dimensions are split into factors at boundaries that
/// both shapes share: 4x12 -> 4x2x3x2 is `i(jkl)->ijkl`. Without shared
/// boundaries, the greatest common divisor is a factor: 6x4 -> 4x6 has i=2 as
/// the major factor of both shapes. A factor that only one of the shapes has is
/// Whole.
ShardingRule makeReshapeRule(llvm::ArrayRef<int64_t> from,
                             llvm::ArrayRef<int64_t> to);

} // namespace tp

#endif // TPOPT_SHARDING_RULE_H
