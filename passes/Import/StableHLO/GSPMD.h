// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Shardings of GSPMD as strings, and the mesh that they imply.
///
/// Before Shardy, XLA's shardings (GSPMD, arXiv:2105.04663) did not name mesh
/// axes: a string says how many tiles each dimension has, and which device
/// holds which tile. On 8 devices,
///
///     {devices=[4,1,2]<=[8] last_tile_dim_replicate}
///
/// splits the first of two dimensions in four; tile number i, counted row-major
/// over [4, 1, 2], belongs to device i, and the tiles of the last dimension are
/// copies. `<=[2,4]T(1,0)` counts devices in a different order, and `0,2,1,3`
/// lists them.
///
/// A dimension of tiles is a mixed-radix digit of the device number n: above,
/// the four tiles are `n / 2 % 4`, the digit of stride 2 and size 4, and the
/// two copies are `n % 2`. The digits of all strings in a module split the
/// device number into the axes of a mesh, here `["_axis_0"=4, "_axis_1"=2]`.
/// The sharding above is then `[{"_axis_0"}, {}]`.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_GSPMD_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_GSPMD_H

#include "tpopt/Sharding/Mesh.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tp::stablehlo {

/// Returns the product of sizes; nullopt if a size is below 1 or the product is
/// above `kMaxDevices`.
std::optional<int64_t> getNumDevices(llvm::ArrayRef<int64_t> sizes);

/// The kind of a dimension of tiles that is not a dimension of the tensor.
/// These dimensions come last.
enum class Subgroup : uint8_t { Replicated, Manual, Unreduced };

/// A mixed-radix digit of a device number: number / stride % size.
struct Digit {
  int64_t size, stride;
  bool operator==(const Digit &o) const {
    return size == o.size && stride == o.stride;
  }
};

/// One sharding.
struct TileSharding {
  enum Kind : uint8_t {
    Replicated,
    Maximal, ///< On one device alone.
    Manual,
    Unknown,
    Tiled
  };
  Kind kind = Unknown;
  /// Entry i belongs to dimension i of the tiles. It lists the digits of the
  /// device number that give the tile's index along this dimension, the most
  /// significant digit first. The last entries, as many as `subgroups` has,
  /// belong to dimensions that the tensor does not have.
  llvm::SmallVector<llvm::SmallVector<Digit>> dims;
  llvm::SmallVector<Subgroup> subgroups;
  int64_t numDevices = 1;
};

/// Reads one sharding, `{..}`, or a list for several values, `{{..}, {..}}`.
/// Returns nullopt if the text has a different form, or if the order of device
/// numbers along a dimension is irregular.
std::optional<llvm::SmallVector<TileSharding>>
parseTileShardings(llvm::StringRef text);

/// Finds digits that describe `numbers`, a row-major tensor of shape `shape`:
/// each dimension's index is split into digits, and the number at an index is
/// the first number plus the sum of the digits times their strides. Returns the
/// digits of each dimension; nullopt if the numbers cannot be described in this
/// way.
std::optional<llvm::SmallVector<llvm::SmallVector<Digit>>>
findDigits(llvm::ArrayRef<int64_t> numbers, llvm::ArrayRef<int64_t> shape);

/// Finds axes that split device numbers such that every digit consists of whole
/// axes.
class AxisFactors {
public:
  void add(const Digit &digit);
  /// Returns the sizes of the axes, major first; nullopt if no axes fit all
  /// digits.
  std::optional<llvm::SmallVector<int64_t>> getSizes() const;

private:
  /// Contains 1 and, for every digit, `stride` and `stride * size`, in
  /// ascending order. Two neighbours a and b stand for an axis of stride a and
  /// size b / a.
  llvm::SmallVector<int64_t> bounds = {1};
};

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_GSPMD_H
