// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How a tensor is distributed over the devices.
///
/// # The notation
///
/// A mesh names the axes of the device grid, for example `["x"=2, "y"=4]` for
/// eight devices. A sharding lists the axes that shard each dimension of a
/// tensor. `[{"x"}, {}]` of an 8x6 tensor: rows are split in two along x, and
/// columns are whole. Because y is not used, the four devices along y hold
/// copies.
///
///     [{"x"}, {}]            y=0     y=1     y=2     y=3
///                     x=0   0..3    0..3    0..3    0..3      (rows held)
///                     x=1   4..7    4..7    4..7    4..7
///
/// Several axes on one dimension are ordered, major first. `[{"x","y"}, {}]`
/// numbers the devices x * 4 + y and gives each one row; `[{"y","x"}, {}]`
/// numbers them y * 2 + x: the same blocks, but on different devices.
///
/// **Sub-axes.** Two key-value heads can only be split in two, but y has 4
/// devices: `{"y":(1)2}` uses the more significant half of y (devices 0,1 |
/// 2,3) and leaves `"y":(2)2` for other uses. See AxisRef.
///
/// **Open and closed.** A closed dimension stays as written. An open one, `?`,
/// may get further axes from propagation. `p1` after the braces sets the
/// priority of the dimension's axes: lower numbers propagate first.
///
/// **Replicated.** `replicated={"x"}` prevents propagation from using x on this
/// tensor.
///
/// **Unreduced.** `unreduced={"x"}`: every device along x holds an addend of
/// the full size, and the tensor's value is their sum. Contracting a dimension
/// that is sharded along x gives such a value, without communication. An
/// all-reduce turns it into an ordinary value; a reduce-scatter, at half the
/// cost, into a sharded one. Max and min work in the same way.
///
/// **Uneven sizes are flat blocks.** With k devices along the axes of a
/// dimension of size n, blocks have b = ceil(n/k) rows and device i holds rows
/// [i*b, min(n, (i+1)*b)) in a buffer of b: 10 rows on 4 devices are 3, 3, 3,
/// 1. The last devices may hold fewer rows, or none; the rest of their buffers
/// is padding, whose contents are meaningless. Consequently, merging the 4
/// blocks of 10 rows (3,3,3,1) in pairs gives (6,4), but 10 rows on 2 devices
/// are (5,5). These blocks do not coincide, so a reshard between them moves
/// rows. See BlockLayout.
///
/// The notation is Shardy's (github.com/openxla/shardy), so JAX users can read
/// it. Unreduced values and flat uneven blocks are additions of this project.

#ifndef TPOPT_SHARDING_SHARDING_H
#define TPOPT_SHARDING_SHARDING_H

#include "tpopt/Sharding/Mesh.h"
#include "tpopt/Support/ErrorCodes.h"

#include <utility>

namespace tp {

/// How partial values are combined.
enum class ReduceKind : uint8_t { Sum, Max, Min };

/// `sum`, `max`, `min`.
llvm::StringRef stringify(ReduceKind kind);

/// One dimension: its axes, major first, and whether propagation may add more.
struct DimSharding {
  AxisList axes;
  bool open = false;
  /// Axes on dimensions with lower priority numbers propagate first. A
  /// dimension without a priority number is treated as if its number were 0.
  std::optional<int64_t> priority;

  bool operator==(const DimSharding &o) const {
    return axes == o.axes && open == o.open && priority == o.priority;
  }
};

/// The layout of a tensor on a mesh; see the file comment.
struct TensorSharding {
  llvm::SmallVector<DimSharding, 4> dims;
  /// Axes that propagation must not use on this tensor. Sorted.
  AxisList replicated;
  /// Axes along which devices hold partial values. Sorted.
  AxisList unreduced;
  ReduceKind kind = ReduceKind::Sum;

  /// A sharding with no axes on any dimension; dimensions are open if `open`.
  static TensorSharding replicate(unsigned rank, bool open = false);

  bool operator==(const TensorSharding &o) const {
    return dims == o.dims && replicated == o.replicated &&
           unreduced == o.unreduced && (unreduced.empty() || kind == o.kind);
  }
  bool operator!=(const TensorSharding &o) const { return !(*this == o); }

  unsigned getRank() const { return dims.size(); }
  /// No dimension is sharded and nothing is unreduced.
  bool isReplicated() const;
  /// All axes that shard dimensions, in the order of the dimensions.
  AxisList getDimAxes() const;
  /// Whether `axis` overlaps an axis that is on a dimension or is unreduced.
  bool uses(const AxisRef &axis) const;
  /// Whether the blocks on all devices are the same. Open dimensions,
  /// priorities, `replicated` and axes of size 1 do not matter.
  bool sameLayout(const TensorSharding &other) const;
  /// Returns the layout alone: all dimensions are closed, and `replicated` is
  /// empty.
  TensorSharding getLayout() const;

  /// Prints `[{"x", ?}p1, {}], unreduced={"y"}`, the notation of
  /// `#spmd.sharding<@mesh, ..>`.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
  std::string str(const Mesh &mesh) const;
};

llvm::hash_code hash_value(const AxisRef &axis);
llvm::hash_code hash_value(const TensorSharding &sharding);

/// What is wrong with a sharding. The caller adds the location.
struct ShardingError {
  ErrorCode code;
  std::string message;
};

/// Checks that `sharding` is valid and fits a tensor of `rank`: it has one
/// entry per dimension, no axis overlaps another or is used twice, sub-axes
/// divide their axis and can coexist, neighbours are merged, and no empty
/// closed dimension has a priority.
std::optional<ShardingError> verify(const TensorSharding &sharding,
                                    const Mesh &mesh, unsigned rank);

/// How `n` elements are split over `k` devices: into flat blocks of ceil(n / k)
/// elements, of which the last may hold fewer or none.
struct BlockLayout {
  int64_t n, k;

  /// Elements per buffer: ceil(n / k).
  int64_t block() const { return n == 0 ? 0 : (n + k - 1) / k; }
  /// The first element of block `i`, at most n.
  int64_t begin(int64_t i) const { return std::min(n, i * block()); }
  /// The number of elements of block `i` without padding, from 0 to block().
  int64_t valid(int64_t i) const { return begin(i + 1) - begin(i); }
  /// Whether some buffer has padding.
  bool isUneven() const { return block() * k != n; }
  /// Whether each block of the layout over k / s devices consists of `s`
  /// consecutive blocks of this layout. If so, a single step can join `s`
  /// blocks to one, or split one into `s`. Always true if s is k.
  bool mergesEvenly(int64_t s) const {
    return s == k || BlockLayout{n, k / s}.block() == s * block();
  }
};

/// The sizes of a device's buffer: ceil(n/k) in every dimension.
llvm::SmallVector<int64_t> getLocalShape(const TensorSharding &sharding,
                                         llvm::ArrayRef<int64_t> shape);

/// Whether some buffer of a tensor of this shape has padding.
bool hasPadding(const TensorSharding &sharding, llvm::ArrayRef<int64_t> shape);

} // namespace tp

#endif // TPOPT_SHARDING_SHARDING_H
