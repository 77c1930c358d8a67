// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Small meshes and small tensors on which a wrong partition shows the
/// same errors as on large ones.
///
/// A partition of 4096 x 49152 over 64 devices is wrong or right for reasons
/// that have nothing to do with these numbers: which axes shard which
/// dimension, in which order, and whether blocks are even. So a check runs on
/// the smallest sizes that preserve these properties. Below, `x:(1)2` is the
/// major sub-axis of x with 2 devices.
///
///     MeshShrinker small(mesh);                // ["x"=8, "y"=4]
///     small.use(sharding);                     // [{"x":(1)2}, {"y"}]
///     small.getMesh();                         // ["x"=6, "y"=3]
///     small.map(AxisRef{0, 1, 2});             // x:(1)2 of six
///     shrinkExtent(4096, {{4, 3}});            // 6, two rows on each device
///     shrinkExtent(10, {{4, 3}});              // 5, as 10 on 4 is uneven
///
/// **Axes.** An axis is cut where a sharding cuts it. Each piece keeps its size
/// up to 3, and larger pieces become 3: with two devices, a swap is its own
/// inverse; with three, a wrong order is detected. Pieces of equal size remain
/// equal.
///
/// **Extents.** Four properties decide how a dimension of n elements is laid
/// out on k devices: whether k divides n, whether some device is left with
/// nothing, whether blocks are single rows, and whether blocks of one cut
/// consist of whole blocks of another. The small extent is the smallest one
/// with the same properties for all cuts of the dimension; if there is none
/// below n, it is n.

#ifndef TPOPT_SHARDING_ALGEBRA_SHRINK_H
#define TPOPT_SHARDING_ALGEBRA_SHRINK_H

#include "tpopt/Sharding/Sharding.h"

#include <map>
#include <set>

namespace tp {

class MeshShrinker {
public:
  explicit MeshShrinker(const Mesh &mesh);

  /// Cuts axes where `sharding` does. Must precede the first getMesh() or
  /// map().
  void use(const TensorSharding &sharding);
  void use(const AxisRef &axis);
  /// Exempts a whole axis from shrinking, because something depends on its
  /// size.
  void pin(unsigned axis) { pinned.insert(axis); }
  /// Changes the size of a whole axis, which must be neither cut nor pinned.
  void resize(unsigned axis, int64_t size) { resized[axis] = size; }

  /// The small mesh. Links and device numbers are left out.
  const Mesh &getMesh();
  AxisRef map(const AxisRef &axis);
  TensorSharding map(const TensorSharding &sharding);

private:
  const Mesh &mesh;
  std::vector<std::set<int64_t>> cuts; ///< Cuts of every axis, as pre-sizes.
  std::set<unsigned> pinned;
  std::map<unsigned, int64_t> resized;
  std::optional<Mesh> small;
};

/// One way to shard a dimension: its number of blocks on the original mesh, and
/// on the small mesh.
struct ExtentCut {
  int64_t devices, small;
};

/// The smallest extent that forms the same pattern of blocks, on the small
/// numbers of devices in `cuts`, as `n` forms on the original numbers. If no
/// cut has several devices, the smaller of `least` and n.
int64_t shrinkExtent(int64_t n, llvm::ArrayRef<ExtentCut> cuts,
                     int64_t least = 2);

} // namespace tp

#endif // TPOPT_SHARDING_ALGEBRA_SHRINK_H
