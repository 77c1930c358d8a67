// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From shardings of dimensions to shardings of factors, and back.
///
/// # Why
///
/// An op's tensors have different dimensions, but they share factors (see
/// Rule.h). In terms of factors, "do these shardings agree?" and "what does
/// this sharding imply for that tensor?" have simple answers. So everything
/// that considers a whole op, such as propagation and partitioning, first
/// **projects** the shardings of its tensors onto the factors.
///
/// # Example
///
/// The reshape `(hd)->hd` with h=4, d=8, on the mesh ["x"=8]:
///
///     tensor     sharding              h                d
///     operand    [{"x"}]               "x":(1)4         "x":(4)2
///     result     [{}, {}]              -                -
///
/// The axes of a dimension are assigned to its factors, major first. An axis
/// that does not end where a factor ends is split by the greatest common
/// divisor. So the result of the reshape may be [{"x":(1)4}, {"x":(4)2}]
/// without moving any data.
///
/// # Shardings that factors cannot express
///
/// A dimension with several factors is split into blocks. Three conditions must
/// hold for its blocks to be blocks of its factors as well; otherwise factors
/// cannot express the sharding:
///
/// * The number of pieces divides the size of the factor. With 4 heads over 3
///   devices, the blocks of the flat dimension end inside a head. Such axes are
///   kept as **overflow**: the tensor keeps them, but they do not propagate.
/// * A factor is sharded only if all factors before it are split into single
///   elements. Otherwise a device would hold many short runs, a strided piece.
/// * The number of devices divides the size of the dimension. (h=4, d=4) over 6
///   devices gives blocks of 3, and the third of them ends at row 9, not at row
///   8.
///
/// Nevertheless, the first factor may be split unevenly if the blocks of the
/// dimension and those of the factor end at the same elements: (h=7, d=3) over
/// 4 devices has blocks of 6 elements, which are 2 heads each, and 1 head in
/// the last block. This requires ceil(h * d / k) = ceil(h / k) * d.
///
/// A dimension with one factor has no such conditions: uneven blocks of the
/// dimension are uneven blocks of the factor. Factors of size 1 are ignored.
///
/// Based on Shardy's `ShardingProjection`. Shardy always allows the last of
/// several factors to be split unevenly; with flat uneven blocks, this is
/// rarely possible.

#ifndef TPOPT_SHARDING_PROJECTION_H
#define TPOPT_SHARDING_PROJECTION_H

#include "tpopt/Sharding/Rule.h"

namespace tp {

/// How one tensor is sharded along one factor.
struct FactorSharding {
  AxisList axes; ///< Major first, neighbours merged.
  /// The axes of the dimension that come after `axes`. No factor can express
  /// them.
  AxisList overflow;
  bool closed = false; ///< Whether the dimension is closed.

  bool operator==(const FactorSharding &o) const {
    return axes == o.axes && overflow == o.overflow && closed == o.closed;
  }
};

/// How one tensor is sharded along each factor of the rule. Empty for factors
/// that the tensor does not have.
using TensorProjection = llvm::SmallVector<FactorSharding, 6>;

/// Projects the sharding of tensor `tensor` of `rule` onto the factors.
TensorProjection project(const ShardingRule &rule, unsigned tensor,
                         const TensorSharding &sharding);
/// Like project() above, but overwrites `projection`.
void project(const ShardingRule &rule, unsigned tensor,
             const TensorSharding &sharding, TensorProjection &projection);

/// The inverse of project(): returns `sharding`, but with the axes of each
/// dimension taken from the factors of the dimension in `projection`. A
/// dimension keeps its axes if it has no factor of size above 1. If a factor
/// has overflow axes or is not fully split, the axes of all less major factors
/// of the dimension are dropped. Projecting a sharding and unprojecting the
/// result gives the same sharding, except that axes of size 1 are lost.
TensorSharding unproject(const ShardingRule &rule, unsigned tensor,
                         const TensorProjection &projection,
                         const TensorSharding &sharding);

/// Why a tensor cannot have axes on a factor.
enum class Obstacle : uint8_t {
  Closed,          ///< The dimension is closed.
  Overflow,        ///< The factor has overflow axes.
  Replicated,      ///< The tensor says replicated={axis}.
  AxisInUse,       ///< The axis already shards a dimension, or is unreduced.
  NotDivisible,    ///< One of several factors would be split unevenly.
  Strided,         ///< A more major factor of the dimension is not fully split.
  WantedWhole,     ///< The op needs the factor to be unsharded.
  MixedReductions, ///< The result would be a partial sum and a partial max.
  NotInResult,     ///< Some results have the factor, but this one does not.
};

/// Which axes a tensor can take on a factor, and why it cannot take more.
struct Fit {
  AxisList axes;
  /// Why the tensor cannot take the axes after `axes`; none if it takes all of
  /// them.
  std::optional<Obstacle> obstacle;
  /// For Replicated and AxisInUse: the axis in the tensor's sharding that
  /// conflicts.
  std::optional<AxisRef> blocker;
};

/// Returns the longest prefix of `extra` that can be appended to the axes of
/// `factor` in tensor number `tensor`, and the obstacle to a longer prefix.
/// `factor` is a factor of the tensor's dimension `dim`. `sharding` and
/// `projection` are those of the tensor.
Fit fitAxes(const ShardingRule &rule, unsigned tensor, unsigned dim,
            unsigned factor, const TensorProjection &projection,
            const TensorSharding &sharding, llvm::ArrayRef<AxisRef> extra);

/// The axes along which each factor of an op is sharded while the op computes.
using FactorAxes = llvm::SmallVector<AxisList, 6>;

/// The shardings of an op's operands and results if it computes with given
/// FactorAxes.
struct OpShardings {
  llvm::SmallVector<TensorSharding, 3> operands;
  /// The results are unreduced along the axes of reduction factors.
  llvm::SmallVector<TensorSharding, 1> results;
};

/// A factor along which an op cannot be sharded.
struct Misfit {
  unsigned factor;
  /// The first tensor with the obstacle, in the order operands, results. If the
  /// obstacle does not depend on a tensor, the first tensor that has the
  /// factor.
  unsigned tensor;
  Obstacle obstacle;
};

/// Computes the shardings of an op's tensors if the op computes with `factors`,
/// which has a list of axes for each factor of the rule:
///
///     ik,kj->ij,  i: "x", k: "y"
///     lhs [{"x"}, {"y"}]   rhs [{"y"}, {}]
///     result [{"x"}, {}], unreduced={"y"}
///
/// Writes them to `shardings` and returns nullopt. If a factor cannot be
/// sharded in this way, returns the first such factor.
std::optional<Misfit> getShardings(const ShardingRule &rule,
                                   llvm::ArrayRef<AxisList> factors,
                                   OpShardings &shardings);

/// Whether `list` starts with `prefix`. The prefix may end with the leading
/// part of an axis: ["x"] starts with ["x":(1)2].
bool startsWith(llvm::ArrayRef<AxisRef> list, llvm::ArrayRef<AxisRef> prefix);

} // namespace tp

#endif // TPOPT_SHARDING_PROJECTION_H
