// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a device can do, and what work on it costs.
///
/// Two units. With links on the mesh, everything is in seconds. Without, costs
/// are bytes sent per device, and a plan is chosen for its bytes alone; then
/// compute must be weighed in bytes, too: a contraction costs one byte for every
/// 64 operations, so that a product is not repeated on every device to save a
/// few bytes, nor a small one cut at the price of sending its result. Everything
/// that is not a contraction only breaks ties: it never buys a launch.
///
/// Roofline after Williams et al. (CACM 2009): an op takes as long as the longer
/// of its arithmetic and its memory traffic.

#ifndef TPOPT_COST_MACHINE_H
#define TPOPT_COST_MACHINE_H

#include "tpopt/Sharding/Rule.h"

namespace tp {

/// One device.
struct Machine {
  std::string name;
  double flops = 0;           ///< Operations per second of a 16-bit product.
  double memoryBandwidth = 0; ///< Bytes per second, read plus written.
  double memoryBytes = 0;     ///< Capacity; 0 if unknown.
  Link link;                  ///< For axes whose links the mesh does not give.
};

/// Work of one op on one device.
struct Work {
  double flops = 0;
  double bytes = 0; ///< Read plus written.
  bool contraction = false;
};

/// Whether an op with this rule multiplies along a factor that its operands
/// share and its results lack.
bool isContraction(const ShardingRule &rule);

class CostModel {
public:
  /// Costs on `mesh`, which has links if a machine is given.
  CostModel(const Mesh &mesh, std::optional<Machine> machine)
      : mesh(mesh), machine(std::move(machine)) {}

  /// Seconds if there are links, else bytes.
  double getCompute(const Work &work) const;
  /// Whether padded elements count as work. Without a machine they do not: who
  /// cuts 3 heads over 2 devices wants that, not a gather that evens it out.
  bool countsPadding() const;
  /// What one launch on a tensor of `tensorBytes` costs on top of what it sends,
  /// so that plans of equal bytes go to the one with fewer launches. In
  /// proportion to the tensor: a constant would be lost among large ones and
  /// outweigh small ones.
  double getLaunchPenalty(double tensorBytes) const;

private:
  const Mesh &mesh;
  std::optional<Machine> machine;
};

} // namespace tp

#endif // TPOPT_COST_MACHINE_H
