// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Who exchanges with whom, as StableHLO writes it.
///
/// A StableHLO program runs on replicas times partitions, its processes; a
/// device is the process of number `replica * partitions + partition`. The
/// `replica_groups` of an operation name processes in one of these ways:
///
/// | written | in groups of |
/// | --- | --- |
/// | `dense<[[0, 1], [2, 3]]>` | as listed, of what the table below says |
/// | `"[2,2]<=[2,2]T(1,0)"`, `"{{0,2},{1,3}}"` | the same, as XLA's text has it |
/// | `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [..]>` | devices along axes of a mesh |
///
/// | channel | `use_global_device_ids` | numbers are |
/// | --- | --- | --- |
/// | yes | yes | devices |
/// | yes | no | replicas, each with all its partitions; for all_to_all and collective_permute, partitions |
/// | no | | replicas, each partition by itself |
///
/// With one replica, which is how programs are written today, numbers that are
/// no replicas are devices whatever is said of channels.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H

#include "GSPMD.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::stablehlo {

/// How many processes a module says that it is for.
struct Processes {
  int64_t replicas = 1, partitions = 1;

  /// What the module's attributes say; one of each by default.
  static Processes read(mlir::ModuleOp module);
  /// The same replicas on `devices`, if they divide them.
  Processes on(int64_t devices) const;
  int64_t getNumDevices() const { return replicas * partitions; }
};

/// Groups of one size, in which each of `devices` stands once.
struct DeviceGroups {
  llvm::SmallVector<int64_t> devices; ///< Group after group.
  int64_t size = 1;                   ///< Of each group.
};

/// Whether `op` exchanges something with other devices, or asks which of them
/// it is on.
bool isExchange(mlir::Operation *op);

/// The groups of an exchange among `devices`; emits what is wrong.
mlir::FailureOr<DeviceGroups> readGroups(mlir::Operation *op, int64_t devices);

/// The pairs of a collective_permute, sources and targets in turn, as devices.
mlir::FailureOr<llvm::SmallVector<int64_t>> readPairs(mlir::Operation *op,
                                                      int64_t devices);

/// The axes of `mesh` along which all groups stand, in the groups' order; none
/// if they do not follow axes. `groups` are of all devices of the mesh; where
/// devices stand in them does not matter unless they are `ordered`.
std::optional<AxisList> findAxes(DeviceGroups groups, const Mesh &mesh,
                                 bool ordered = true);

/// A digit of places as axes or parts of them, major first; none if the mesh
/// has none for it. On ["x"=2, "y"=4], size 4 at stride 2 is "x" and the upper
/// half of "y".
std::optional<AxisList> toAxes(const Digit &digit, const Mesh &mesh);

/// The place in the mesh of each device, by number.
llvm::SmallVector<int64_t> getPlaces(const Mesh &mesh);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H
