// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Expresses a reshard along many axes as one along few. Private to the
/// library.
///
/// Ten axes can be arranged in more ways than a search can look at, yet most of
/// them move together. From [{"a", "b", "c", "d"}, {}] to [{"a", "b"}, {"d"}],
/// b follows a on both sides, so the two can be treated as one axis. Axes that
/// are unreduced, or idle, on one side need not be adjacent there.
///
/// A plan for the bundles is also a plan for the axes, but perhaps not the best
/// one: if links differ, splitting a bundle may be cheaper.

#ifndef TPOPT_LIB_SHARDING_RESHARDBUNDLES_H
#define TPOPT_LIB_SHARDING_RESHARDBUNDLES_H

#include "ReshardSearch.h"

#include <vector>

namespace tp::reshard {

/// Converts a reshard problem to a problem on a mesh whose axes are bundles. A
/// bundle is a group of digits that move together.
class Bundles {
public:
  /// Both sides of `problem` must be written in digits of `system`.
  Bundles(const Problem &problem, const DigitSystem &system);

  /// The bundled problem. It refers to this object and to the shape of the
  /// original problem.
  Problem getProblem() const {
    return {mesh, from, to, shape, elementBytes, evenly};
  }
  size_t size() const { return members.size(); }
  /// Rewrites a layout of whole bundles in the axes of the original.
  TensorSharding expand(const TensorSharding &layout) const;

private:
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  bool evenly;
  Mesh mesh;
  std::vector<AxisList> members; ///< The digits of each axis of `mesh`.
  TensorSharding from, to;
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDBUNDLES_H
