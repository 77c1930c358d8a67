// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The rows that devices need from each other's blocks when rows move
/// along a sharded dimension.
///
/// # A worked example
///
/// 16 rows on 4 devices, blocks of 4. The place of a device is its index along
/// the axes that shard the rows. A slice removes the first row. It leaves 15
/// rows, again in blocks of 4, and every row moves up by one:
///
///     place          0            1            2             3
///     has         0 1 2 3      4 5 6 7      8 9 10 11    12 13 14 15
///     needs       1 2 3|4      5 6 7|8      9 10 11|12   13 14 15
///
/// Every device needs rows 1 to 3 of its own block (distance 0) and, unless it
/// is the last, row 0 of the next block (distance 1). These rows are the
/// **window** of the piece "15 rows, moved from row 1 to row 0":
///
///     Window w = *getWindow({16, 4}, {15, 4}, {/*start=*/1, /*at=*/0, 15}, 8);
///     w.lowest       0
///     w.rows         [1, 4), [0, 1)     of the blocks at distances 0 and 1
///     w.offset       0                  first needed row, in these 3 + 1 rows
///
/// The rows of all distances in order are the window's **strip**. It contains
/// the blocks between its first and its last one completely, whether they are
/// received or not, so that adjacent rows of the strip are adjacent in the
/// tensor. A device's result block starts at `offset + place * step` of the
/// strip: if source and result have blocks of different sizes (17 rows become
/// 16, on 4 devices), the start depends on the place. `lead` undefined rows
/// precede the strip and `tail` undefined rows follow it, so that what each
/// device reads is inside.
///
/// # Strides, taps, interior padding
///
/// The rows of a piece need not be adjacent: result row i comes from source row
/// `start + i * stride`. `x[::2]` of 16 rows in blocks of 4 needs nothing from
/// other devices, as result blocks have 2 rows. With `taps`, each result row
/// takes several source rows, `dilation` apart, as a convolution does. Result
/// rows are `spread` apart, and the rows in between have no source row, as in
/// interior padding and transposed convolutions. Rows outside of [0, n) are not
/// sent.
///
/// A negative stride reads backwards. Its window is **mirrored**: it is the
/// window of the reversed tensor, whose block at place p is the block at place
/// k - 1 - p read backwards. 8 rows on 4 devices, reversed:
///
///     place            0      1      2      3
///     has             0 1    2 3    4 5    6 7
///     needs           7 6    5 4    3 2    1 0    distance 0, mirrored
///
/// Everything is counted in rows, whatever the size of a row in the other
/// dimensions. Distances count places along the axes that shard the dimension.
///
/// Halo exchange comes from stencil codes. GSPMD (arXiv:2105.04663, 4.3) uses
/// it for convolutions with equal blocks.

#ifndef TPOPT_SHARDING_ALGEBRA_HALO_H
#define TPOPT_SHARDING_ALGEBRA_HALO_H

#include "tpopt/Sharding/Sharding.h"

namespace tp {

/// Rows [0, n) on k devices in blocks of `size` rows. The size does not follow
/// from n and k: if a reshape splits 576 features into 9 heads, blocks of 5
/// heads are blocks of 320 features. By default, blocks are those of
/// BlockLayout.
struct Blocks {
  int64_t n, k, size;

  Blocks(int64_t n, int64_t k, int64_t size) : n(n), k(k), size(size) {}
  Blocks(int64_t n, int64_t k) : Blocks(BlockLayout{n, k}) {}
  Blocks(const BlockLayout &layout)
      : Blocks(layout.n, layout.k, layout.block()) {}

  /// First row of block `i`, at most n.
  int64_t begin(int64_t i) const { return std::min(n, i * size); }
};

/// Rows of one tensor that become rows of another: result row `at + i * spread`
/// comes from source rows `start + i * stride + t * dilation`, for i < `size`
/// and t < `taps`. At most one of `stride` and `spread` differs from 1 (a
/// stride of -1 counts as 1).
struct Piece {
  int64_t start, at, size;
  int64_t stride = 1; ///< Not 0; negative reads backwards.
  int64_t spread = 1; ///< At least 1.
  int64_t taps = 1, dilation = 1;

  /// One past the last result row of the piece.
  int64_t getEnd() const { return at + (size - 1) * spread + 1; }
};

/// Rows [begin, end) of a block.
struct BlockRows {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return begin >= end; }
  /// The smallest range that contains both ranges.
  BlockRows hull(const BlockRows &o) const {
    if (empty() || o.empty())
      return empty() ? o : *this;
    return {std::min(begin, o.begin), std::max(end, o.end)};
  }
  bool operator==(const BlockRows &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// A window, as explained in the file comment. If `mirrored`, source rows and
/// positions are those of the reversed tensor, padded to whole blocks.
struct Window {
  bool mirrored = false;
  int64_t lowest = 0;
  /// Entry i holds the rows that some device needs of the block at distance
  /// `lowest` + i. An entry is empty if no device needs rows at this distance.
  llvm::SmallVector<BlockRows, 2> rows;
  /// The spread strip is the strip with `spread` - 1 rows of fill after each
  /// row. In the spread strip, the device at `place` reads its first result row
  /// at row `offset + place * step`. It reads each further result row |stride|
  /// rows later, or 1 row later if the piece is spread.
  int64_t offset = 0, step = 0;
  /// The number of undefined rows before and after the strip, counted before
  /// the strip is spread.
  int64_t lead = 0, tail = 0;
};

/// Returns the window of `piece`: the rows that devices need from each other if
/// the piece moves from a tensor in blocks `from` to one in blocks `to`. Both
/// tensors have the same number of blocks, or `from` is a single block that
/// every device has. Returns nullopt if blocks at more than `most` distances
/// are needed. The piece must have rows, all its result rows must be in range,
/// and so must at least one of its source rows.
std::optional<Window> getWindow(const Blocks &from, const Blocks &to,
                                const Piece &piece, size_t most);

} // namespace tp

#endif // TPOPT_SHARDING_ALGEBRA_HALO_H
