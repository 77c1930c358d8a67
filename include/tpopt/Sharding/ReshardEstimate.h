// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What reshards cost, for choosing among many layouts.
///
/// Partition prices every pair of layouts of every tensor, and most of these
/// are one question asked again:
///
/// * The order of the dimensions does not matter, nor which of those that
///   neither side cuts is which.
/// * Without links a cost is a number of bytes. Where a dimension is a multiple
///   of the number of devices that could share it, every step's payload is a
///   multiple, too.
///
/// On a mesh of 2 x 4, all of
///
///     f32[4096, 512]      [{"x"}, {}] -> [{}, {"x"}]
///     bf16[16, 4096]      [{}, {"x"}] -> [{"x"}, {}]
///     f32[7, 64, 32]      [{}, {"x"}, {}] -> [{}, {}, {"x"}]
///
/// are an exchange of one byte per element of [2, 2] from [{"x"}, {}] to
/// [{}, {"x"}], times 4194304, 32768 and 14336 * 4.

#ifndef TPOPT_SHARDING_RESHARDESTIMATE_H
#define TPOPT_SHARDING_RESHARDESTIMATE_H

#include "tpopt/Sharding/Reshard.h"

namespace tp {

/// Not thread-safe. The mesh must outlive the estimator and not change.
class ReshardEstimator {
public:
  explicit ReshardEstimator(const Mesh &mesh)
      : mesh(mesh), planner(mesh, PlanEffort::Estimate) {}

  struct Estimate {
    double cost = 0; ///< Bytes per device, or seconds on a mesh with links.
    int64_t launches = 0;
  };
  /// Of a way from `from` to `to`, valid shardings of a tensor of this shape.
  /// Seldom more than the best way costs, never less.
  Estimate get(const TensorSharding &from, const TensorSharding &to,
               llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

private:
  const Mesh &mesh;
  ReshardPlanner planner;
};

} // namespace tp

#endif // TPOPT_SHARDING_RESHARDESTIMATE_H
