// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How a tensor lies on the devices.
///
/// # The notation
///
/// A mesh names the directions of the device grid, say `["x"=2, "y"=4]`: eight
/// devices. A sharding says, for every dimension of a tensor, which axes cut
/// it. `[{"x"}, {}]` of an 8x6 tensor: rows are cut in two along x, columns are
/// whole, and because y is not named, the four devices along y hold copies.
///
///     [{"x"}, {}]            y=0     y=1     y=2     y=3
///                     x=0   0..3    0..3    0..3    0..3      (rows held)
///                     x=1   4..7    4..7    4..7    4..7
///
/// Several axes on one dimension are ordered, major first. `[{"x","y"}, {}]`
/// numbers the devices x * 4 + y and gives each one row; `[{"y","x"}, {}]`
/// numbers them y * 2 + x: the same pieces on other devices.
///
/// **Sub-axes.** Two key-value heads on the 4 devices of y can be cut in two
/// only: `{"y":(1)2}` uses the more significant half of y (devices 0,1 | 2,3)
/// and leaves `"y":(2)2` for something else. See AxisRef.
///
/// **Open and closed.** A closed dimension stays as written. An open one, `?`,
/// may get further axes from propagation. `p1` gives what stands in the braces
/// a priority: lower numbers propagate first.
///
/// **Replicated.** `replicated={"x"}` forbids propagation to use x on this
/// tensor.
///
/// **Unreduced.** `unreduced={"x"}`: every device along x holds an addend of
/// the full size, and the tensor's value is their sum. Contracting a dimension
/// that is cut along x gives such a value, and nothing has been sent yet. It
/// becomes an ordinary value by an all-reduce, or a cut one by a
/// reduce-scatter, at half the price. Max and min work alike.
///
/// **Uneven sizes are flat blocks.** With k devices along the axes of a
/// dimension of size n, blocks have b = ceil(n/k) rows and device i holds rows
/// [i*b, min(n, (i+1)*b)) in a buffer of b: 10 rows on 4 devices are 3, 3,
/// 3, 1. The last devices may hold less, or nothing; what a buffer holds behind
/// that is padding and means nothing. A consequence: halving 4 blocks of 10
/// rows (3,3,3,1) gives (6,4), but 10 rows on 2 devices are (5,5). Such blocks
/// do not coincide, and going from one to the other moves rows. See
/// BlockLayout.
///
/// The notation is Shardy's (github.com/openxla/shardy), so that a JAX user can
/// read it; unreduced values and flat uneven blocks are ours.

#ifndef TPOPT_SHARDING_SHARDING_H
#define TPOPT_SHARDING_SHARDING_H

#include "tpopt/Sharding/Mesh.h"
#include "tpopt/Support/ErrorCodes.h"

#include <utility>

namespace tp {

/// How partial values combine into the value.
enum class ReduceKind : uint8_t { Sum, Max, Min };

/// `sum`, `max`, `min`.
llvm::StringRef stringify(ReduceKind kind);

/// One dimension: its axes, major first, and whether propagation may add more.
struct DimSharding {
  AxisList axes;
  bool open = false;
  /// Lower propagates first. None means 0.
  std::optional<int64_t> priority;

  bool operator==(const DimSharding &o) const {
    return axes == o.axes && open == o.open && priority == o.priority;
  }
};

/// A tensor's layout over a mesh, see the essay above.
struct TensorSharding {
  llvm::SmallVector<DimSharding, 4> dims;
  /// Axes that propagation may not use here. Sorted.
  AxisList replicated;
  /// Axes along which devices hold partial values. Sorted.
  AxisList unreduced;
  ReduceKind kind = ReduceKind::Sum;

  /// Every dimension empty; open if `open`.
  static TensorSharding replicate(unsigned rank, bool open = false);

  bool operator==(const TensorSharding &o) const {
    return dims == o.dims && replicated == o.replicated &&
           unreduced == o.unreduced && (unreduced.empty() || kind == o.kind);
  }
  bool operator!=(const TensorSharding &o) const { return !(*this == o); }

  unsigned getRank() const { return dims.size(); }
  /// No dimension is cut and nothing is unreduced.
  bool isReplicated() const;
  /// All axes on dimensions, in dimension order.
  AxisList getDimAxes() const;
  /// Whether `axis` overlaps one in use on a dimension or as unreduced.
  bool uses(const AxisRef &axis) const;
  /// Same pieces on the same devices: open, priorities and replicated do not
  /// count, and neither do axes of size 1.
  bool sameLayout(const TensorSharding &other) const;
  /// Just the layout: everything closed, nothing replicated explicitly.
  TensorSharding getLayout() const;

  /// `[{"x", ?}p1, {}], unreduced={"y"}`, as inside `#spmd.sharding<@mesh,
  /// ..>`.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
  std::string str(const Mesh &mesh) const;
};

llvm::hash_code hash_value(const AxisRef &axis);
llvm::hash_code hash_value(const TensorSharding &sharding);

/// What is wrong with a sharding, for whoever can say where it stands.
struct ShardingError {
  ErrorCode code;
  std::string message;
};

/// Checks `sharding` on its own and against a tensor of `rank`: one entry per
/// dimension, no axis overlapping another or used twice, sub-axes that divide
/// their axis and coexist, neighbours merged, no priority on an empty closed
/// dimension.
std::optional<ShardingError> verify(const TensorSharding &sharding,
                                    const Mesh &mesh, unsigned rank);

/// A dimension of `n` elements over `k` devices, as flat blocks.
struct BlockLayout {
  int64_t n, k;

  /// Elements per buffer: ceil(n / k).
  int64_t block() const { return n == 0 ? 0 : (n + k - 1) / k; }
  /// First element of block `i`, at most n.
  int64_t begin(int64_t i) const { return std::min(n, i * block()); }
  /// Elements of block `i` that are real, from 0 to block().
  int64_t valid(int64_t i) const { return begin(i + 1) - begin(i); }
  /// Whether some buffer has padding.
  bool isUneven() const { return block() * k != n; }
  /// Whether every `s` consecutive blocks of this layout together are exactly a
  /// block of the layout over k / s devices, so that gathering s blocks, or
  /// cutting one in s, is one step. Always true when all k come together.
  bool mergesEvenly(int64_t s) const {
    return s == k || BlockLayout{n, k / s}.block() == s * block();
  }
};

/// Sizes of a device's buffer: ceil(n/k) in every dimension.
llvm::SmallVector<int64_t> getLocalShape(const TensorSharding &sharding,
                                         llvm::ArrayRef<int64_t> shape);

/// Whether some buffer of a tensor of this shape has padding.
bool hasPadding(const TensorSharding &sharding, llvm::ArrayRef<int64_t> shape);

} // namespace tp

#endif // TPOPT_SHARDING_SHARDING_H
