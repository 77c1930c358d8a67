// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The devices as a grid with named axes, and the axes and sub-axes that
/// shardings are written with.

#ifndef TPOPT_SHARDING_MESH_H
#define TPOPT_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace tp {

/// The cost of communication along a mesh axis: T(bytes) = alpha + beta *
/// bytes.
struct Link {
  double alpha = 0; ///< Seconds of latency per launch.
  double beta = 1;  ///< Seconds per byte sent by a device.
  bool operator==(const Link &other) const {
    return alpha == other.alpha && beta == other.beta;
  }
};

/// One axis of the mesh: one dimension of the device grid.
struct Axis {
  std::string name;
  int64_t size = 1;
  Link link;
};

/// The most devices of a mesh: more than any machine has, but few enough that
/// products of sizes do not overflow. StableHLO's lists and artifacts have the
/// same limit.
inline constexpr int64_t kMaxDevices = int64_t(1) << 20;

/// A grid of devices with named axes. A position in the grid is a *place*.
/// Places are numbered in row-major order, with the first axis slowest: on
/// `["x"=2, "y"=4]`, the place (x=1, y=2) has number 6. The device at this
/// place is device 6, or `deviceIds[6]` if the list is not empty. The compiler
/// uses only the numbers of places. Hosts, ranks and users use the numbers of
/// devices.
///
/// If the mesh has no links, plans use alpha = 0 and the same beta on all axes.
struct Mesh {
  std::string name;
  llvm::SmallVector<Axis, 3> axes;
  llvm::SmallVector<int64_t> deviceIds;
  bool hasLinks = false;

  int64_t getNumDevices() const;
  /// The number of the device at place number `place` of the grid.
  int64_t getDevice(int64_t place) const {
    return deviceIds.empty() ? place : deviceIds[place];
  }
  /// The index of the axis called `name`, if there is one.
  std::optional<unsigned> find(llvm::StringRef name) const;
  /// The coordinates of place `number` of the grid along every axis.
  llvm::SmallVector<int64_t> getCoordinates(int64_t number) const;
  /// The inverse of getCoordinates.
  int64_t getNumber(llvm::ArrayRef<int64_t> coordinates) const;
};

/// An axis, or a part of one. An axis of size n = pre * size * post can be read
/// as a grid of pre x size x post devices; the sub-axis written `"x":(pre)size`
/// is the middle one. The whole axis has pre = 1 and size = n.
///
///   x of size 8 as 2 x 2 x 2:   device   0 1 2 3 4 5 6 7
///                               x:(1)2   0 0 0 0 1 1 1 1     most significant
///                               x:(2)2   0 0 1 1 0 0 1 1
///                               x:(4)2   0 1 0 1 0 1 0 1     least significant
struct AxisRef {
  unsigned axis = 0; ///< Index into Mesh::axes.
  int64_t pre = 1;
  int64_t size = 1;

  static AxisRef full(const Mesh &mesh, unsigned axis) {
    return {axis, 1, mesh.axes[axis].size};
  }
  bool isFull(const Mesh &mesh) const {
    return pre == 1 && size == mesh.axes[axis].size;
  }
  /// The `pre` of a sub-axis that directly follows this one.
  int64_t end() const { return pre * size; }

  bool operator==(const AxisRef &o) const {
    return axis == o.axis && pre == o.pre && size == o.size;
  }
  bool operator!=(const AxisRef &o) const { return !(*this == o); }
  /// Compares axes by their order in the mesh, and parts of the same axis from
  /// most significant to least significant.
  bool operator<(const AxisRef &o) const {
    return std::tie(axis, pre, size) < std::tie(o.axis, o.pre, o.size);
  }

  /// Whether `other` is a part of this axis: x contains x:(2)2, x:(1)4 contains
  /// x:(2)2, x:(1)2 does not contain x:(2)2.
  bool contains(const AxisRef &other) const;
  /// Whether `other` is a leading part of this axis: x:(1)4 has the prefix
  /// x:(1)2.
  bool hasPrefix(const AxisRef &other) const;
  /// Whether this axis (or sub-axis) and `other` have a part in common.
  bool overlaps(const AxisRef &other) const;
  /// Whether the axis can be split so that both are parts of it, as is required
  /// of any two sub-axes in one sharding. x:(1)2 and x:(1)3 of an axis of 6
  /// cannot coexist.
  bool canCoexist(const AxisRef &other) const;
  /// The part that this axis and `other` have in common; none if they have
  /// none. The two must be able to coexist.
  std::optional<AxisRef> getOverlap(const AxisRef &other) const;
  /// Whether `other` directly follows this sub-axis, so that both can be
  /// merged: x:(1)2 and x:(2)4 make x:(1)8.
  bool canMerge(const AxisRef &other) const {
    return axis == other.axis && end() == other.pre;
  }
  AxisRef merge(const AxisRef &other) const {
    return {axis, pre, size * other.size};
  }
  /// The longest leading part of this axis that does not overlap `other`: this
  /// whole axis, or the part that ends where `other` starts. None if there is
  /// no such part.
  std::optional<AxisRef> getPrefixWithoutOverlap(const AxisRef &other) const;

  /// Prints an axis as `"x"` and a sub-axis as `"x":(1)2`. If `quoted` is
  /// false, omits the quotes, as in the report.
  void print(llvm::raw_ostream &os, const Mesh &mesh, bool quoted = true) const;
};

using AxisList = llvm::SmallVector<AxisRef, 2>;

/// The number of devices along a list of axes: the product of their sizes.
int64_t getSize(llvm::ArrayRef<AxisRef> axes);

/// Merges `axis` with the last entry of `axes` if it directly follows this
/// entry, and appends it otherwise.
void appendMerged(AxisList &axes, AxisRef axis);

/// The longest list of axes that both lists start with. If the lists diverge
/// inside an axis, it ends with a part of that axis: for [x:(1)4] and [x:(1)2,
/// y] it is [x:(1)2].
AxisList getCommonPrefix(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The axes of `list` after `prefix`, with which it must start.
AxisList dropPrefix(llvm::ArrayRef<AxisRef> list,
                    llvm::ArrayRef<AxisRef> prefix);

/// The axes of `list` before `suffix`. If the suffix starts inside an axis,
/// that axis is split: [y, x:(1)4] less [x:(2)2] is [y, x:(1)2]. None if `list`
/// does not end with `suffix`.
std::optional<AxisList> dropSuffix(llvm::ArrayRef<AxisRef> list,
                                   llvm::ArrayRef<AxisRef> suffix);

/// Returns `axes` in mesh order, with neighbours merged and without axes of
/// size 1. This is the normal form of a set of axes.
AxisList getMerged(llvm::ArrayRef<AxisRef> axes);

/// Removes `part` from `axes`. Both are merged sets of axes, see getMerged().
/// Returns none if `axes` does not contain `part`.
std::optional<AxisList> subtract(llvm::ArrayRef<AxisRef> axes,
                                 llvm::ArrayRef<AxisRef> part);

/// Whether any axis of `a` overlaps any of `b`.
bool overlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The position of place `number` along `axes`, as one number with the first
/// axis most significant. If `axes` shard a dimension, this is the number of
/// the block that the device at the place holds.
int64_t getPosition(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes,
                    int64_t number);

/// Groups the places of the grid: the places of a group differ only in their
/// position along `axes`. A group is ordered by this position, and the groups
/// are ordered by their first place.
llvm::SmallVector<llvm::SmallVector<int64_t>>
getGroups(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// Prints a list of axes, for example `{"x", "y":(1)2}`.
void printAxes(llvm::raw_ostream &os, const Mesh &mesh,
               llvm::ArrayRef<AxisRef> axes, bool quoted = true);

} // namespace tp

#endif // TPOPT_SHARDING_MESH_H
