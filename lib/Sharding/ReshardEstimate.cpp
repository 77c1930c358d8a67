// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/ReshardEstimate.h"

#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

struct Dim {
  const AxisList *from, *to;
  int64_t size;

  bool isSpare() const { return from->empty() && to->empty(); }
};

} // namespace

static bool isLess(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const AxisRef &x, const AxisRef &y) {
                                        return std::tie(x.axis, x.pre, x.size) <
                                               std::tie(y.axis, y.pre, y.size);
                                      });
}

/// How many devices may come to share a dimension on the way.
static int64_t getMostParts(const Mesh &mesh, const TensorSharding &from,
                            const TensorSharding &to) {
  SmallVector<bool> used(mesh.axes.size(), false);
  for (const TensorSharding *side : {&from, &to}) {
    for (const DimSharding &dim : side->dims)
      for (const AxisRef &axis : dim.axes)
        used[axis.axis] = true;
    for (const AxisRef &axis : side->unreduced)
      used[axis.axis] = true;
  }
  int64_t parts = 1;
  for (auto [axis, isUsed] : llvm::zip_equal(mesh.axes, used))
    if (isUsed)
      parts *= axis.size;
  return parts;
}

unsigned ReshardEstimator::getNumber(const TensorSharding &sharding) {
  auto [it, isNew] =
      numbers.try_emplace(sharding.getLayout(), unsigned(layouts.size()));
  if (isNew)
    layouts.push_back(&it->first);
  return it->second;
}

ReshardEstimator::Shape ReshardEstimator::getShape(ArrayRef<int64_t> sizes,
                                                   int64_t elementBytes) {
  Kind kind{SmallVector<int64_t, 4>(sizes), elementBytes};
  double copies = 1;
  if (!mesh.hasLinks) {
    for (int64_t &size : kind.sizes)
      if (size > 0 && size % numDevices == 0)
        copies *= double(std::exchange(size, numDevices) / numDevices);
    copies *= double(std::exchange(kind.elementBytes, 1));
  }
  auto [it, isNew] =
      kindNumbers.try_emplace(std::move(kind), unsigned(kinds.size()));
  if (isNew)
    kinds.push_back(&it->first);
  return {it->second, copies};
}

ReshardEstimator::Estimate ReshardEstimator::get(unsigned from, unsigned to,
                                                 Shape shape) {
  if (from == to)
    return {};
  auto [it, isNew] = known.try_emplace({from, to, shape.number});
  if (isNew)
    it->second = compute(*layouts[from], *layouts[to], *kinds[shape.number]);
  return {it->second.cost * shape.copies, it->second.launches};
}

ReshardEstimator::Estimate ReshardEstimator::compute(const TensorSharding &from,
                                                     const TensorSharding &to,
                                                     const Kind &kind) {
  // How many copies of a simpler question this one is.
  double copies = 1;
  SmallVector<Dim, 6> dims;
  int64_t parts = getMostParts(mesh, from, to);
  bool isLinear = !mesh.hasLinks;
  for (auto [dim, size] : llvm::enumerate(kind.sizes)) {
    dims.push_back({&from.dims[dim].axes, &to.dims[dim].axes, size});
    if (!isLinear || size == 0 || size % parts != 0)
      continue;
    copies *= double(size / parts);
    dims.back().size = parts;
  }
  // Spare dimensions last, those first that the search would use.
  llvm::sort(dims, [&](const Dim &a, const Dim &b) {
    if (a.isSpare() || b.isSpare()) {
      auto rank = [&](const Dim &dim) {
        return std::tuple(dim.isSpare(), dim.size % parts != 0, -dim.size);
      };
      return rank(a) < rank(b);
    }
    if (*a.from != *b.from)
      return isLess(*a.from, *b.from);
    if (*a.to != *b.to)
      return isLess(*a.to, *b.to);
    return a.size < b.size;
  });
  if (isLinear) {
    unsigned spare = llvm::count_if(dims, [](Dim d) { return d.isSpare(); });
    for (; spare > reshard::maxSpareDims; --spare) {
      copies *= double(dims.back().size);
      dims.pop_back();
    }
  }
  TensorSharding source, target;
  SmallVector<int64_t, 6> sizes;
  for (const Dim &dim : dims) {
    source.dims.push_back({*dim.from, /*open=*/false, std::nullopt});
    target.dims.push_back({*dim.to, /*open=*/false, std::nullopt});
    sizes.push_back(dim.size);
  }
  source.unreduced = from.unreduced;
  source.kind = from.kind;
  target.unreduced = to.unreduced;
  target.kind = to.kind;
  const ReshardPlan &plan =
      planner.plan(source, target, sizes, kind.elementBytes);
  return {plan.cost * copies, plan.launches};
}
