// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Small meshes and small tensors on which the same mistakes show.
///
/// A partition of 4096 x 49152 over 64 devices is wrong or right for reasons
/// that have nothing to do with these numbers: which axes cut which dimension,
/// in which order, whether blocks come out even. So a check runs on sizes that
/// keep the reasons and are as small as that allows.
///
///     MeshShrinker small(mesh);                // ["x"=8, "y"=4]
///     small.use(sharding);                     // [{"x":(1)2}, {"y"}]
///     small.getMesh();                         // ["x"=6, "y"=3]
///     small.map(AxisRef{0, 1, 2});             // x:(1)2 of six
///     shrinkExtent(4096, {{4, 3}});            // 6, two rows on each device
///     shrinkExtent(10, {{4, 3}});              // 5, as 10 on 4 is uneven
///
/// **Axes.** An axis is cut where a sharding cuts it, and each piece keeps its
/// size up to 3 and becomes 3 if it is larger: with two devices a swap is its
/// own inverse, with three an error of order shows. Pieces of one size stay
/// pieces of one size.
///
/// **Extents.** What decides how a dimension of n lies on k devices: whether k
/// divides n, whether some device is left with nothing, whether blocks are
/// single rows, and whether blocks of one cut are made of blocks of another.
/// The small extent is the least one that has the same answers for all cuts of
/// the dimension; if there is none below n, it is n.

#ifndef TPOPT_SHARDING_ALGEBRA_SHRINK_H
#define TPOPT_SHARDING_ALGEBRA_SHRINK_H

#include "tpopt/Sharding/Sharding.h"

#include <map>
#include <set>

namespace tp {

class MeshShrinker {
public:
  explicit MeshShrinker(const Mesh &mesh);

  /// Cuts axes where `sharding` does. Before the first getMesh() or map().
  void use(const TensorSharding &sharding);
  void use(const AxisRef &axis);
  /// Keeps the size of a whole axis: something counts on it.
  void pin(unsigned axis) { pinned.insert(axis); }
  /// Gives a whole axis, which nothing cuts or pins, another size.
  void resize(unsigned axis, int64_t size) { resized[axis] = size; }

  /// The small mesh. Links and device numbers are left out.
  const Mesh &getMesh();
  AxisRef map(const AxisRef &axis);
  TensorSharding map(const TensorSharding &sharding);

private:
  const Mesh &mesh;
  std::vector<std::set<int64_t>> cuts; ///< Of every axis, as pre-sizes.
  std::set<unsigned> pinned;
  std::map<unsigned, int64_t> resized;
  std::optional<Mesh> small;
};

/// One way a dimension is cut: over how many devices, and over how many of the
/// small mesh.
struct ExtentCut {
  int64_t devices, small;
};

/// The least extent that lies on the small numbers of devices as `n` lies on
/// the large ones. Without cuts, `least` or n, if that is less.
int64_t shrinkExtent(int64_t n, llvm::ArrayRef<ExtentCut> cuts,
                     int64_t least = 2);

} // namespace tp

#endif // TPOPT_SHARDING_ALGEBRA_SHRINK_H
