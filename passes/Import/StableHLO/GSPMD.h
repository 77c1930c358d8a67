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
/// Device numbers are read as digits: a dimension of four tiles at stride 2 is
/// a digit of size 4 and stride 2. The digits of all strings in a module split
/// the device number into the axes of a mesh: with the strides 1, 2 and 8
/// above, `["_axis_0"=4, "_axis_1"=2]`, and the sharding is `[{"_axis_0"},
/// {}]`.

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

/// The meaning of a dimension of tiles that follows the tensor's own
/// dimensions.
enum class Subgroup : uint8_t { Replicated, Manual, Unreduced };

/// A part of a device's number.
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
  /// The digits of each dimension of tiles, major first. The last dimensions,
  /// one for each subgroup, are not dimensions of the tensor.
  llvm::SmallVector<llvm::SmallVector<Digit>> dims;
  llvm::SmallVector<Subgroup> subgroups;
  int64_t numDevices = 1;
};

/// Reads `{..}`, or `{{..}, {..}}` for several values. Returns nullopt if the
/// text has a different form, or if the devices of a dimension do not have a
/// regular order.
std::optional<llvm::SmallVector<TileSharding>>
parseTileShardings(llvm::StringRef text);

/// Returns the digits that `numbers`, row-major in `shape`, have in each
/// dimension: the element at an index is the sum of the index's digits times
/// their strides. Returns nullopt if there are no such digits.
std::optional<llvm::SmallVector<llvm::SmallVector<Digit>>>
findDigits(llvm::ArrayRef<int64_t> numbers, llvm::ArrayRef<int64_t> shape);

/// The axes into which digits split device numbers.
class AxisFactors {
public:
  void add(const Digit &digit);
  /// Returns the sizes of the axes, major first; nullopt if digits overlap
  /// partially.
  std::optional<llvm::SmallVector<int64_t>> getSizes() const;

private:
  /// Strides at which an axis begins or ends, ascending.
  llvm::SmallVector<int64_t> bounds = {1};
};

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_GSPMD_H
