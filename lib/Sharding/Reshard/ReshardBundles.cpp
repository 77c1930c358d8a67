// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardBundles.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Used instead of a dimension for digits that do not shard a dimension.
static constexpr int kUnreduced = -1, kIdle = -2;

/// The position of a digit in a layout: a dimension and an index in its list.
/// Unreduced and idle digits have no order and hence no index.
static std::pair<int, int> getPlace(const AxisRef &digit,
                                    const TensorSharding &layout,
                                    const DigitSystem &system) {
  for (auto [dim, sharding] : llvm::enumerate(layout.dims)) {
    int position = 0;
    for (const AxisRef &axis : sharding.axes)
      for (const AxisRef &other : system)
        if (axis.contains(other)) {
          if (other == digit)
            return {int(dim), position};
          ++position;
        }
  }
  return {overlap(layout.unreduced, digit) ? kUnreduced : kIdle, 0};
}

Bundles::Bundles(const Problem &problem, const DigitSystem &system)
    : shape(problem.shape), elementBytes(problem.elementBytes),
      evenly(problem.evenly) {
  mesh.hasLinks = problem.mesh.hasLinks;
  struct Digit {
    AxisRef axis;
    std::pair<int, int> from, to;
  };
  SmallVector<Digit, 8> digits;
  for (const AxisRef &axis : system)
    digits.push_back({axis, getPlace(axis, problem.from, system),
                      getPlace(axis, problem.to, system)});
  // Sort by position in the lists, so that digits that can share a bundle are
  // adjacent.
  llvm::sort(digits, [](const Digit &a, const Digit &b) {
    return std::tie(a.from, a.to, a.axis) < std::tie(b.from, b.to, b.axis);
  });
  auto isNext = [](std::pair<int, int> a, std::pair<int, int> b) {
    return a.first == b.first && (a.first < 0 || a.second + 1 == b.second);
  };
  int64_t rest = problem.mesh.getNumDevices();
  for (auto [number, digit] : llvm::enumerate(digits)) {
    const Link &link = problem.mesh.axes[digit.axis.axis].link;
    rest /= digit.axis.size;
    if (number > 0 && isNext(digits[number - 1].from, digit.from) &&
        isNext(digits[number - 1].to, digit.to)) {
      // A bundle is as slow as its slowest axis, like collectives over several
      // axes.
      Axis &bundle = mesh.axes.back();
      bundle.size *= digit.axis.size;
      bundle.link.alpha = std::max(bundle.link.alpha, link.alpha);
      bundle.link.beta = std::max(bundle.link.beta, link.beta);
      members.back().push_back(digit.axis);
      continue;
    }
    mesh.axes.push_back({/*name=*/"", digit.axis.size, link});
    members.push_back({digit.axis});
  }
  // The last axis stands for all axes that the reshard does not use.
  mesh.axes.push_back({/*name=*/"", rest, Link()});

  auto bundle = [&](const TensorSharding &layout) {
    TensorSharding bundled = TensorSharding::replicate(layout.getRank());
    bundled.kind = layout.kind;
    for (auto [number, parts] : llvm::enumerate(members)) {
      int dim = getPlace(parts.front(), layout, system).first;
      if (dim == kUnreduced)
        bundled.unreduced.push_back(AxisRef::full(mesh, number));
      else if (dim != kIdle)
        bundled.dims[dim].axes.push_back(AxisRef::full(mesh, number));
    }
    for (auto [dim, sharding] : llvm::enumerate(bundled.dims))
      llvm::sort(sharding.axes, [&](const AxisRef &a, const AxisRef &b) {
        return getPlace(members[a.axis].front(), layout, system) <
               getPlace(members[b.axis].front(), layout, system);
      });
    return bundled;
  };
  from = bundle(problem.from);
  to = bundle(problem.to);
}

TensorSharding Bundles::expand(const TensorSharding &layout) const {
  TensorSharding expanded = TensorSharding::replicate(layout.getRank());
  expanded.kind = layout.kind;
  for (auto [dim, sharding] : llvm::zip_equal(expanded.dims, layout.dims))
    for (const AxisRef &bundle : sharding.axes)
      for (const AxisRef &axis : members[bundle.axis])
        appendMerged(dim.axes, axis);
  AxisList unreduced;
  for (const AxisRef &bundle : layout.unreduced)
    llvm::append_range(unreduced, members[bundle.axis]);
  expanded.unreduced = getMerged(unreduced);
  return expanded;
}
