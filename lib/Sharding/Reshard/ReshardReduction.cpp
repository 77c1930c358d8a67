// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardReduction.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

struct Dim {
  const AxisList *from, *to;
  int64_t size;
  unsigned position;

  bool isSpare() const { return from->empty() && to->empty(); }
};

} // namespace

/// The largest number of devices that may share a dimension during the reshard.
static int64_t getMostParts(const Problem &problem) {
  SmallVector<bool> used(problem.mesh.axes.size(), false);
  for (const TensorSharding *side : {&problem.from, &problem.to}) {
    for (const DimSharding &dim : side->dims)
      for (const AxisRef &axis : dim.axes)
        used[axis.axis] = true;
    for (const AxisRef &axis : side->unreduced)
      used[axis.axis] = true;
  }
  int64_t parts = 1;
  for (auto [axis, isUsed] : llvm::zip_equal(problem.mesh.axes, used))
    if (isUsed)
      parts *= axis.size;
  return parts;
}

Reduction::Reduction(const Problem &problem)
    : mesh(problem.mesh), rank(problem.shape.size()),
      elementBytes(problem.elementBytes), evenly(problem.evenly) {
  SmallVector<Dim, 6> sorted;
  int64_t parts = getMostParts(problem);
  bool isLinear = !mesh.hasLinks;
  for (auto [dim, size] : llvm::enumerate(problem.shape)) {
    sorted.push_back({&problem.from.dims[dim].axes, &problem.to.dims[dim].axes,
                      size, unsigned(dim)});
    if (!isLinear || size == 0 || size % parts != 0)
      continue;
    copies *= double(size / parts);
    sorted.back().size = parts;
  }
  // Unsharded dimensions come last, in the order in which a search uses them.
  llvm::sort(sorted, [&](const Dim &a, const Dim &b) {
    if (a.isSpare() || b.isSpare()) {
      auto rank = [&](const Dim &dim) {
        return std::tuple(dim.isSpare(), dim.size % parts != 0, -dim.size,
                          dim.position);
      };
      return rank(a) < rank(b);
    }
    return std::tie(*a.from, *a.to, a.size, a.position) <
           std::tie(*b.from, *b.to, b.size, b.position);
  });
  if (isLinear) {
    size_t numSpare = llvm::count_if(sorted, [](Dim d) { return d.isSpare(); });
    size_t numCut = sorted.size() - numSpare;
    size_t kept =
        numCut + countUsefulDims(getCoarseSystems(problem), numCut, numSpare);
    for (const Dim &dim : ArrayRef(sorted).drop_front(kept))
      copies *= double(dim.size);
    sorted.truncate(kept);
  }
  for (const Dim &dim : sorted) {
    from.dims.push_back({*dim.from, /*open=*/false, std::nullopt});
    to.dims.push_back({*dim.to, /*open=*/false, std::nullopt});
    shape.push_back(dim.size);
    dims.push_back(dim.position);
  }
  from.unreduced = problem.from.unreduced;
  from.kind = problem.from.kind;
  to.unreduced = problem.to.unreduced;
  to.kind = problem.to.kind;
}

TensorSharding Reduction::expand(const TensorSharding &layout) const {
  TensorSharding expanded = TensorSharding::replicate(rank);
  expanded.kind = layout.kind;
  expanded.unreduced = layout.unreduced;
  for (auto [dim, sharding] : llvm::zip_equal(dims, layout.dims))
    expanded.dims[dim] = sharding;
  return expanded;
}
