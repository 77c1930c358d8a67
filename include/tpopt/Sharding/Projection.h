// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From shardings of dimensions to shardings of factors, and back.
///
/// # Why
///
/// An op's tensors have different dimensions, but they share factors (see
/// Rule.h). Asked in factors, "do these shardings agree?" and "what does this
/// one say about that tensor?" have simple answers, so everything that looks at
/// a whole op, propagation and partitioning above all, first **projects** its
/// tensors onto the factors.
///
/// # Example
///
/// The reshape `(hd)->hd` with h=4, d=8, on the mesh ["x"=8]:
///
///     tensor     sharding              h                d
///     operand    [{"x"}]               "x":(1)4         "x":(4)2
///     result     [{}, {}]              -                -
///
/// The axes of a dimension go to its factors, major first, and are cut by the
/// greatest common divisor where an axis does not stop at a factor's end. So
/// the reshape says the result may be [{"x":(1)4}, {"x":(4)2}], with no data
/// moved.
///
/// # What has no factor sharding
///
/// A dimension of several factors is one row of blocks. Only three things make
/// blocks of it blocks of its factors as well, and all else cannot be said:
///
/// * A factor is cut into pieces that divide it. 4 heads over 3 devices: the
///   blocks of the flat dimension end inside a head. Such axes are kept as
///   **overflow**: the tensor has them, nobody else hears of them.
/// * A factor is cut only if all factors before it are cut down to one element.
///   Otherwise a device would hold many short runs: a strided piece.
/// * The whole dimension divides. (h=4, d=4) over 6 devices gives blocks of 3,
///   and the first three of them end at row 9, not at row 8.
///
/// The first factor may be cut unevenly all the same where the blocks end
/// alike: (h=7, d=3) over 4 devices, in blocks of 6 elements, are 2 heads each
/// and the last one. That is so if ceil(h * d / k) = ceil(h / k) * d.
///
/// A dimension of one factor is free of all this: uneven blocks of the
/// dimension are uneven blocks of the factor. Factors of size 1 do not count.
///
/// After Shardy's `ShardingProjection`, which allows any uneven last factor in
/// a dimension of several, where flat uneven blocks seldom do.

#ifndef TPOPT_SHARDING_PROJECTION_H
#define TPOPT_SHARDING_PROJECTION_H

#include "tpopt/Sharding/Rule.h"

namespace tp {

/// How one tensor is cut along one factor.
struct FactorSharding {
  AxisList axes; ///< Major first, neighbours merged.
  /// What the dimension has behind `axes` that no factor can express.
  AxisList overflow;
  bool closed = false; ///< As the dimension.

  bool operator==(const FactorSharding &o) const {
    return axes == o.axes && overflow == o.overflow && closed == o.closed;
  }
};

/// How one tensor is cut along each factor of the rule; nothing for factors
/// that it does not have.
using TensorProjection = llvm::SmallVector<FactorSharding, 6>;

/// Projects the sharding of tensor `tensor` of `rule` onto the factors.
TensorProjection project(const ShardingRule &rule, unsigned tensor,
                         const TensorSharding &sharding);
/// The same into existing storage.
void project(const ShardingRule &rule, unsigned tensor,
             const TensorSharding &sharding, TensorProjection &projection);

/// The inverse: `sharding` with the axes of `projection` on every dimension
/// that has a factor. After `project` this is the identity but for axes of
/// size 1, which no factor holds. An axis that cannot be expressed (strided, or
/// behind overflow) is left out, and so are those behind it in its dimension.
TensorSharding unproject(const ShardingRule &rule, unsigned tensor,
                         const TensorProjection &projection,
                         const TensorSharding &sharding);

/// Why axes cannot stand on a factor.
enum class Obstacle : uint8_t {
  Closed,          ///< The dimension is closed.
  Overflow,        ///< The factor has overflow axes.
  Replicated,      ///< The tensor says replicated={axis}.
  AxisInUse,       ///< The axis is used elsewhere, or as unreduced.
  NotDivisible,    ///< It would cut one of several factors unevenly.
  Strided,         ///< A more major factor of the dimension is not cut fully.
  WantedWhole,     ///< The op wants the factor whole.
  MixedReductions, ///< The result would be a partial sum and a partial max.
  NotInResult,     ///< Some results have the factor, this one does not.
};

/// The part of some axes that a tensor can take on a factor.
struct Fit {
  AxisList axes;
  /// What ended it before all were taken.
  std::optional<Obstacle> obstacle;
  /// The axis in the way, for Replicated and AxisInUse.
  std::optional<AxisRef> blocker;
};

/// The longest prefix of `extra` that may follow what `factor`, a factor of
/// dimension `dim`, has in the tensor with this projection and sharding.
Fit fitAxes(const ShardingRule &rule, unsigned tensor, unsigned dim,
            unsigned factor, const TensorProjection &projection,
            const TensorSharding &sharding, llvm::ArrayRef<AxisRef> extra);

/// The axes each factor of an op is cut along while it computes.
using FactorAxes = llvm::SmallVector<AxisList, 6>;

/// What an op reads and writes if it computes with given FactorAxes.
struct OpShardings {
  llvm::SmallVector<TensorSharding, 3> operands;
  /// With the axes of reduction factors as unreduced.
  llvm::SmallVector<TensorSharding, 1> results;
};

/// A factor that an op cannot be cut along.
struct Misfit {
  unsigned factor;
  /// The first tensor where it shows, operands first. The first that has the
  /// factor, where the reason is not about one tensor.
  unsigned tensor;
  Obstacle obstacle;
};

/// The layouts of an op's tensors if it computes with `factors`, one list per
/// factor of the rule:
///
///     ik,kj->ij,  i: "x", k: "y"
///     lhs [{"x"}, {"y"}]   rhs [{"y"}, {}]
///     result [{"x"}, {}], unreduced={"y"}
///
/// Returns the first factor that does not work, or nothing and fills
/// `shardings`.
std::optional<Misfit> getShardings(const ShardingRule &rule,
                                   llvm::ArrayRef<AxisList> factors,
                                   OpShardings &shardings);

/// Whether `list` starts with `prefix`: ["x"] starts with ["x":(1)2].
bool startsWith(llvm::ArrayRef<AxisRef> list, llvm::ArrayRef<AxisRef> prefix);

} // namespace tp

#endif // TPOPT_SHARDING_PROJECTION_H
