// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Shrink.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;

/// The size of a piece of an axis on the small mesh.
static int64_t shrinkPiece(int64_t size) { return std::min<int64_t>(size, 3); }

MeshShrinker::MeshShrinker(const Mesh &mesh) : mesh(mesh) {
  for (const Axis &axis : mesh.axes)
    cuts.push_back({1, axis.size});
}

void MeshShrinker::use(const AxisRef &axis) {
  cuts[axis.axis].insert(axis.pre);
  cuts[axis.axis].insert(axis.end());
}

void MeshShrinker::use(const TensorSharding &sharding) {
  for (const AxisRef &axis : sharding.getDimAxes())
    use(axis);
  for (const AxisRef &axis : sharding.unreduced)
    use(axis);
}

/// The size that the part of an axis up to `end` has on the small mesh: the
/// product of the small sizes of its pieces. Returns nullopt if some cut is not
/// a multiple of the cut before it, so that there are no such pieces.
static std::optional<int64_t> shrinkPrefix(const std::set<int64_t> &cuts,
                                           int64_t end) {
  int64_t last = 1, product = 1;
  for (int64_t cut : cuts) {
    if (cut > end)
      break;
    if (cut % last != 0)
      return std::nullopt;
    product *= shrinkPiece(cut / last);
    last = cut;
  }
  return product;
}

const Mesh &MeshShrinker::getMesh() {
  if (small)
    return *small;
  small = mesh;
  small->deviceIds.clear();
  small->hasLinks = false;
  for (auto [index, axis] : llvm::enumerate(small->axes)) {
    axis.link = {};
    if (auto known = resized.find(index); known != resized.end()) {
      axis.size = known->second;
      continue;
    }
    std::optional<int64_t> size = shrinkPrefix(cuts[index], axis.size);
    if (size && !pinned.count(index))
      axis.size = *size;
    else
      pinned.insert(index);
  }
  return *small;
}

AxisRef MeshShrinker::map(const AxisRef &axis) {
  getMesh();
  if (pinned.count(axis.axis))
    return axis;
  if (resized.count(axis.axis))
    return AxisRef::full(*small, axis.axis);
  int64_t pre = *shrinkPrefix(cuts[axis.axis], axis.pre);
  return {axis.axis, pre, *shrinkPrefix(cuts[axis.axis], axis.end()) / pre};
}

TensorSharding MeshShrinker::map(const TensorSharding &sharding) {
  TensorSharding result = sharding.getLayout();
  for (DimSharding &dim : result.dims)
    for (AxisRef &axis : dim.axes)
      axis = map(axis);
  for (AxisRef &axis : result.unreduced)
    axis = map(axis);
  return result;
}

/// Returns true if, for each cut, `n` elements on `cut.devices` devices have
/// the same pattern of blocks as `m` elements on `cut.small` devices.
static bool liesAlike(int64_t n, int64_t m, llvm::ArrayRef<ExtentCut> cuts) {
  for (const ExtentCut &cut : cuts) {
    BlockLayout large{n, cut.devices}, small{m, cut.small};
    if (large.isUneven() != small.isUneven() ||
        (large.valid(cut.devices - 1) == 0) !=
            (small.valid(cut.small - 1) == 0) ||
        (large.block() == 1) != (small.block() == 1))
      return false;
    for (const ExtentCut &part : cuts)
      if (cut.devices % part.devices == 0 && cut.small % part.small == 0 &&
          large.mergesEvenly(cut.devices / part.devices) !=
              small.mergesEvenly(cut.small / part.small))
        return false;
  }
  return true;
}

int64_t tp::shrinkExtent(int64_t n, llvm::ArrayRef<ExtentCut> cuts,
                         int64_t least) {
  llvm::SmallVector<ExtentCut> real;
  int64_t most = least;
  for (const ExtentCut &cut : cuts)
    if (cut.devices > 1) {
      real.push_back(cut);
      most = std::max(most, cut.small);
    }
  if (real.empty())
    return std::min(n, least);
  // Every pattern of blocks occurs in some extent of fewer than eight elements
  // per device. If only n and larger extents have the pattern, keep n.
  for (int64_t m = 1, end = std::min(n, 8 * most); m < end; ++m)
    if (liesAlike(n, m, real))
      return m;
  return n;
}
