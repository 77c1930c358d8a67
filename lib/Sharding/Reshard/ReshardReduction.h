// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Expresses a reshard as a reshard of a smaller tensor. Private to the
/// library.
///
/// Many reshards are equivalent. The order of the dimensions does not matter.
/// Without links, a cost is a number of bytes: if a size is a multiple of the
/// number of devices that could share the dimension, the payload of every step
/// is proportional to the size; and a dimension that no axis passes through
/// only scales the cost. On a mesh of "x"=4 and "y"=2, if only the devices
/// along x could share a dimension,
///
///     f32[7, 4096, 512]   [{}, {"x"}, {}] -> [{}, {}, {"x"}]
///
/// is a reshard of f32[4, 4, 7] from [{"x"}, {}, {}] to [{}, {"x"}, {}], and
/// costs 1024 * 128 times as much.

#ifndef TPOPT_LIB_SHARDING_RESHARDREDUCTION_H
#define TPOPT_LIB_SHARDING_RESHARDREDUCTION_H

#include "ReshardSearch.h"

namespace tp::reshard {

class Reduction {
public:
  explicit Reduction(const Problem &problem);

  /// The smaller problem. It refers to this object.
  Problem getProblem() const {
    return {mesh, from, to, shape, elementBytes, evenly};
  }
  /// The cost of the original divided by the cost of the smaller problem.
  double getCopies() const { return copies; }
  /// Converts a layout of the smaller tensor to one of the original.
  TensorSharding expand(const TensorSharding &layout) const;

private:
  const Mesh &mesh;
  unsigned rank; ///< The rank of the original.
  int64_t elementBytes;
  bool evenly;
  double copies = 1;
  TensorSharding from, to;
  llvm::SmallVector<int64_t, 6> shape;
  /// For each dimension of the smaller tensor, the dimension of the original.
  llvm::SmallVector<unsigned, 6> dims;
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDREDUCTION_H
