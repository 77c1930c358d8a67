// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reads from StableHLO operations which devices exchange data.
///
/// A StableHLO program runs as one process for each pair of a replica and a
/// partition. The device number of a process is `replica * partitions +
/// partition`. The `replica_groups` of an operation name processes in one of
/// these ways:
///
/// | written | in groups of |
/// | --- | --- |
/// | `dense<[[0, 1], [2, 3]]>` | as listed; the table below says what the numbers are |
/// | `"[2,2]<=[2,2]T(1,0)"`, `"{{0,2},{1,3}}"` | the same, in XLA's text form |
/// | `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [..]>` | devices along axes of a mesh |
///
/// | channel | `use_global_device_ids` | numbers are |
/// | --- | --- | --- |
/// | yes | yes | devices |
/// | yes | no | replicas, each with all its partitions; for all_to_all and collective_permute, partitions |
/// | no | | replicas, each partition by itself |
///
/// With one replica, as in most programs today, numbers that are not valid
/// replicas are taken as devices, whatever the channel is.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H

#include "GSPMD.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

namespace tp::stablehlo {

/// The numbers of replicas and partitions that a module is written for.
struct Processes {
  int64_t replicas = 1, partitions = 1;

  /// Reads the numbers of replicas and partitions from the module's attributes.
  /// Each is 1 if its attribute is absent.
  static Processes read(mlir::ModuleOp module);
  /// Returns the numbers of replicas and partitions on `devices` devices. Keeps
  /// `replicas` if it divides `devices`; otherwise there is one replica.
  Processes on(int64_t devices) const;
  int64_t getNumDevices() const { return replicas * partitions; }
};

/// Groups of equal size, in which each device occurs once.
struct DeviceGroups {
  llvm::SmallVector<int64_t> devices; ///< Group after group.
  int64_t size = 1;                   ///< Of each group.
};

/// Returns true if `op` exchanges data with other devices, or asks which device
/// it runs on.
bool isExchange(mlir::Operation *op);

/// Returns the groups of an exchange among `devices` devices; emits an error on
/// failure.
mlir::FailureOr<DeviceGroups> readGroups(mlir::Operation *op, int64_t devices);

/// Returns the pairs of a collective_permute as devices, alternating sources
/// and targets.
mlir::FailureOr<llvm::SmallVector<int64_t>> readPairs(mlir::Operation *op,
                                                      int64_t devices);

/// Returns axes of `mesh` such that every group consists of the devices that
/// differ only along these axes; nullopt if there are no such axes. `groups`
/// must contain all devices of the mesh. If `ordered`, devices must be in the
/// same order in a group as along the returned axes.
std::optional<AxisList> findAxes(DeviceGroups groups, const Mesh &mesh,
                                 bool ordered = true);

/// Returns the axes, or parts of axes, along which a digit of the mesh position
/// runs, major first; nullopt if there are none. On ["x"=2, "y"=4], the digit
/// of size 4 and stride 2 runs along "x" and the major half of "y".
std::optional<AxisList> toAxes(const Digit &digit, const Mesh &mesh);

/// Returns the position in the mesh of each device, by device number.
llvm::SmallVector<int64_t> getPlaces(const Mesh &mesh);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_GROUPS_H
