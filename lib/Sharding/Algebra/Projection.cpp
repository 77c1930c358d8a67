// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <utility>

using namespace tp;
using llvm::ArrayRef;

bool tp::startsWith(ArrayRef<AxisRef> list, ArrayRef<AxisRef> prefix) {
  if (prefix.empty())
    return true;
  if (list.size() < prefix.size())
    return false;
  return list.take_front(prefix.size() - 1) == prefix.drop_back() &&
         list[prefix.size() - 1].hasPrefix(prefix.back());
}

/// Returns true if the dimension has factors other than `factor`, so that the
/// blocks of `factor` have to line up with theirs.
static bool isShared(const ShardingRule &rule, const DimFactors &dim,
                     unsigned factor) {
  return llvm::any_of(
      dim, [&](unsigned f) { return f != factor && rule.factors[f].size > 1; });
}

/// Returns true if `pieces` blocks of `factor` are blocks of the dimension,
/// provided that minor factors are whole and major factors are split into
/// single elements. Uneven blocks of `factor` are not blocks of the dimension
/// if any factor of more than one element precedes `factor`.
static bool haveSameBlocks(const ShardingRule &rule, const DimFactors &dim,
                           unsigned factor, int64_t pieces) {
  int64_t size = rule.factors[factor].size;
  if (size % pieces == 0)
    return true;
  int64_t behind = 1;
  bool isBehind = false;
  for (unsigned f : dim) {
    if (f == factor)
      isBehind = true;
    else if (isBehind)
      behind *= rule.factors[f].size;
    else if (rule.factors[f].size > 1)
      return false;
  }
  return BlockLayout{size * behind, pieces}.block() ==
         BlockLayout{size, pieces}.block() * behind;
}

/// Returns true if the op's local form can turn blocks of the dimension into
/// `pieces` blocks of `factor`. Returns false if half of the devices would have
/// no elements: other ways to shard are better in that case.
static bool canMoveBlocks(const ShardingRule &rule, const DimFactors &dim,
                          unsigned factor, int64_t pieces) {
  const auto *first =
      llvm::find_if(dim, [&](unsigned f) { return rule.factors[f].size > 1; });
  return rule.movesBlocks && *first == factor &&
         pieces < 2 * rule.factors[factor].size;
}

/// Moves the leading part of `axes` that divides `size` to `taken`, and splits
/// an axis if only a part of it divides. Returns whether everything was moved.
static bool takeDivisible(int64_t size, AxisList &axes, AxisList &taken) {
  int64_t rest = size / getSize(taken);
  size_t i = 0;
  for (; i < axes.size(); ++i) {
    AxisRef axis = axes[i];
    int64_t common = std::gcd(axis.size, rest);
    appendMerged(taken, {axis.axis, axis.pre, common});
    rest /= common;
    axes[i] = {axis.axis, axis.pre * common, axis.size / common};
    if (axes[i].size > 1)
      break;
  }
  axes.erase(axes.begin(), axes.begin() + i);
  return axes.empty();
}

/// Distributes the axes of a dimension among its factors.
static void projectShared(const ShardingRule &rule, const DimFactors &dim,
                          ArrayRef<AxisRef> dimAxes,
                          TensorProjection &projection) {
  AxisList axes;
  int64_t size = 1;
  for (const AxisRef &axis : dimAxes)
    appendMerged(axes, axis);
  for (unsigned f : dim)
    size *= rule.factors[f].size;
  bool divides = size % getSize(axes) == 0, isFirst = true;
  for (unsigned f : dim) {
    if (rule.factors[f].size <= 1)
      continue;
    FactorSharding &factor = projection[f];
    if (std::exchange(isFirst, false) &&
        haveSameBlocks(rule, dim, f, getSize(axes))) {
      factor.axes = axes;
      return;
    }
    if (divides && takeDivisible(rule.factors[f].size, axes, factor.axes))
      return;
    if (getSize(factor.axes) != rule.factors[f].size) {
      factor.overflow = axes;
      return;
    }
  }
}

void tp::project(const ShardingRule &rule, unsigned tensor,
                 const TensorSharding &sharding, TensorProjection &projection) {
  projection.resize(rule.factors.size());
  for (FactorSharding &factor : projection) {
    factor.axes.clear();
    factor.overflow.clear();
    factor.closed = false;
  }
  for (auto [dim, dimSharding] :
       llvm::zip_equal(rule.getTensor(tensor), sharding.dims)) {
    for (unsigned f : dim)
      projection[f].closed = !dimSharding.open;
    if (dimSharding.axes.empty())
      continue;
    const auto *factor = llvm::find_if(
        dim, [&](unsigned f) { return rule.factors[f].size > 1; });
    if (factor == dim.end())
      continue;
    if (isShared(rule, dim, *factor))
      projectShared(rule, dim, dimSharding.axes, projection);
    else
      for (const AxisRef &axis : dimSharding.axes)
        appendMerged(projection[*factor].axes, axis);
  }
}

TensorProjection tp::project(const ShardingRule &rule, unsigned tensor,
                             const TensorSharding &sharding) {
  TensorProjection projection;
  project(rule, tensor, sharding, projection);
  return projection;
}

TensorSharding tp::unproject(const ShardingRule &rule, unsigned tensor,
                             const TensorProjection &projection,
                             const TensorSharding &sharding) {
  TensorSharding result = sharding;
  for (auto [dim, out] : llvm::zip_equal(rule.getTensor(tensor), result.dims)) {
    if (llvm::none_of(dim,
                      [&](unsigned f) { return rule.factors[f].size > 1; }))
      continue;
    out.axes.clear();
    for (unsigned f : dim) {
      const FactorSharding &factor = projection[f];
      for (const AxisRef &axis : factor.axes)
        appendMerged(out.axes, axis);
      for (const AxisRef &axis : factor.overflow)
        appendMerged(out.axes, axis);
      if (!factor.overflow.empty() ||
          getSize(factor.axes) != rule.factors[f].size)
        break;
    }
  }
  return result;
}

/// The leading part of `axis` that does not overlap anything in `taken`.
static std::optional<AxisRef> avoid(AxisRef axis, ArrayRef<AxisRef> taken,
                                    Obstacle obstacle, Fit &fit) {
  for (const AxisRef &other : taken) {
    if (axis.canCoexist(other) && !axis.overlaps(other))
      continue;
    fit.obstacle = obstacle;
    fit.blocker = other;
    std::optional<AxisRef> prefix = axis.canCoexist(other)
                                        ? axis.getPrefixWithoutOverlap(other)
                                        : std::nullopt;
    if (!prefix || prefix->size == 1)
      return std::nullopt;
    axis = *prefix;
  }
  return axis;
}

/// Returns the longest prefix of `axes` that can shard `factor` after the axes
/// `have`, in a dimension with several factors. The last axis of the prefix may
/// be a sub-axis.
static AxisList getFittingPrefix(const ShardingRule &rule,
                                 const DimFactors &dim, unsigned factor,
                                 ArrayRef<AxisRef> have,
                                 ArrayRef<AxisRef> axes) {
  AxisList prefix, longest;
  for (const AxisRef &axis : axes) {
    int64_t taken = getSize(have) * getSize(prefix);
    for (int64_t part = axis.size; part > 1; --part)
      if (axis.size % part == 0 &&
          haveSameBlocks(rule, dim, factor, taken * part)) {
        longest = prefix;
        appendMerged(longest, {axis.axis, axis.pre, part});
        break;
      }
    appendMerged(prefix, axis);
  }
  return longest;
}

Fit tp::fitAxes(const ShardingRule &rule, unsigned tensor, unsigned dim,
                unsigned factor, const TensorProjection &projection,
                const TensorSharding &sharding, ArrayRef<AxisRef> extra) {
  Fit fit;
  const FactorSharding &current = projection[factor];
  const DimFactors &dimFactors = rule.getTensor(tensor)[dim];
  auto blocked = [&](Obstacle obstacle) {
    fit.obstacle = obstacle;
    fit.blocker.reset();
    return fit;
  };
  if (current.closed)
    return blocked(Obstacle::Closed);
  if (!current.overflow.empty())
    return blocked(Obstacle::Overflow);

  AxisList free;
  for (const AxisRef &axis : extra) {
    std::optional<AxisRef> part =
        avoid(axis, sharding.replicated, Obstacle::Replicated, fit);
    if (part)
      part = avoid(*part, sharding.unreduced, Obstacle::AxisInUse, fit);
    for (const DimSharding &other : sharding.dims)
      if (part)
        part = avoid(*part, other.axes, Obstacle::AxisInUse, fit);
    if (part)
      appendMerged(free, *part);
    if (part != axis)
      break;
  }
  if (!isShared(rule, dimFactors, factor)) {
    fit.axes = free;
    return fit;
  }

  // An axis that is already in use is a stronger reason than strided blocks, so
  // it is reported first.
  if (free.empty())
    return fit;
  for (unsigned f : dimFactors) {
    if (f == factor)
      break;
    if (getSize(projection[f].axes) != rule.factors[f].size)
      return blocked(Obstacle::Strided);
  }
  fit.axes = getFittingPrefix(rule, dimFactors, factor, current.axes, free);
  if (fit.axes != free) {
    fit.obstacle = Obstacle::NotDivisible;
    fit.blocker.reset();
  }
  return fit;
}

std::optional<Misfit> tp::getShardings(const ShardingRule &rule,
                                       ArrayRef<AxisList> factors,
                                       OpShardings &shardings) {
  auto firstTensorWith = [&](unsigned f) {
    for (unsigned t = 0; t < rule.getNumTensors(); ++t)
      if (rule.hasFactor(t, f))
        return t;
    return 0u;
  };
  // A device has only one coordinate along an axis, so the axis can select
  // blocks of one factor, but not of two.
  AxisList unreduced;
  std::optional<ReduceKind> kind;
  for (unsigned f = 0; f < factors.size(); ++f) {
    const Factor &factor = rule.factors[f];
    if (getSize(factors[f]) == 1)
      continue;
    for (unsigned g = 0; g < f; ++g)
      for (const AxisRef &axis : factors[f])
        for (const AxisRef &other : factors[g])
          if (axis.overlaps(other) || !axis.canCoexist(other))
            return Misfit{f, firstTensorWith(f), Obstacle::AxisInUse};
    if (factor.kind == FactorKind::Whole)
      return Misfit{f, firstTensorWith(f), Obstacle::WantedWhole};
    if (factor.kind != FactorKind::Reduction)
      continue;
    if (kind && *kind != factor.reduce)
      return Misfit{f, firstTensorWith(f), Obstacle::MixedReductions};
    kind = factor.reduce;
    unreduced.append(factors[f]);
  }
  llvm::sort(unreduced);

  shardings.operands.clear();
  shardings.results.clear();
  for (unsigned t = 0; t < rule.getNumTensors(); ++t) {
    bool isResult = t >= rule.operands.size();
    TensorSharding sharding =
        TensorSharding::replicate(rule.getTensor(t).size());
    for (auto [dim, out] : llvm::zip_equal(rule.getTensor(t), sharding.dims)) {
      bool full = true;
      for (unsigned f : dim) {
        int64_t size = rule.factors[f].size;
        int64_t pieces = getSize(factors[f]);
        if (pieces > 1 && isShared(rule, dim, f)) {
          if (!full)
            return Misfit{f, t, Obstacle::Strided};
          if (!haveSameBlocks(rule, dim, f, pieces) &&
              !canMoveBlocks(rule, dim, f, pieces))
            return Misfit{f, t, Obstacle::NotDivisible};
        }
        full &= pieces == size;
        for (const AxisRef &axis : factors[f])
          appendMerged(out.axes, axis);
      }
    }
    if (isResult) {
      for (unsigned f = 0; f < factors.size(); ++f)
        if (getSize(factors[f]) > 1 && !rule.hasFactor(t, f) &&
            rule.factors[f].kind == FactorKind::PassThrough)
          return Misfit{f, t, Obstacle::NotInResult};
      for (const AxisRef &axis : unreduced)
        appendMerged(sharding.unreduced, axis);
      sharding.kind = kind.value_or(ReduceKind::Sum);
    }
    if (isResult)
      shardings.results.push_back(std::move(sharding));
    else
      shardings.operands.push_back(std::move(sharding));
  }
  return std::nullopt;
}
