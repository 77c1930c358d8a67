// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What devices need of each other's blocks when rows move along a cut
/// dimension.
///
/// # A worked example
///
/// 16 rows on 4 devices, blocks of 4. Leaving out the first row makes 15 rows,
/// again in blocks of 4, and every row moves up by one:
///
///     place          0            1            2             3
///     had        0 1 2 3      4 5 6 7      8 9 10 11    12 13 14 15
///     wanted     1 2 3|4      5 6 7|8      9 10 11|12   13 14 15
///
/// All devices want rows 1 to 4 of their own block (distance 0) and row 0 of
/// the next one (distance 1): one row crosses. That is the **window** of the
/// piece "15 rows from 1 to 0":
///
///     Window w = *getWindow({16, 4}, {15, 4}, {/*start=*/1, /*at=*/0, 15}, 8);
///     w.lowest       0
///     w.rows         [1, 4), [0, 1)     of the blocks at distances 0 and 1
///     w.offset       0                  first wanted row, in these 3 + 1 rows
///
/// The rows of all distances, one behind the other, are the window's **strip**.
/// Between its first and its last block it has whole blocks, received or not,
/// so that its row r is always one row behind row r - 1 of the tensor. A
/// device's result block is the strip from `offset + place * step` on: blocks
/// of other sizes on both sides (17 rows, 16 rows on 4 devices) make the start
/// depend on the place. `lead` and `tail` rows that mean nothing are put before
/// and behind the strip, so that all starts lie inside.
///
/// Rows are counted; a row is whatever the other dimensions make of it.
/// Distances count places along the axes that cut the dimension.
///
/// Halo exchange is as old as stencil codes on many nodes; GSPMD
/// (arXiv:2105.04663, 4.3) does it for convolutions, with equal blocks.

#ifndef TPOPT_SHARDING_ALGEBRA_HALO_H
#define TPOPT_SHARDING_ALGEBRA_HALO_H

#include "tpopt/Sharding/Sharding.h"

namespace tp {

/// `size` rows of one tensor, from `start` on, that become those of another
/// from `at` on.
struct Piece {
  int64_t start, at, size;
};

/// Rows [begin, end) of a block.
struct BlockRows {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return begin >= end; }
  /// The least rows that have both.
  BlockRows hull(const BlockRows &o) const {
    if (empty() || o.empty())
      return empty() ? o : *this;
    return {std::min(begin, o.begin), std::max(end, o.end)};
  }
  bool operator==(const BlockRows &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// See above.
struct Window {
  int64_t lowest = 0;
  /// What some device needs of the block at distance `lowest` + i. Empty in
  /// between, where nobody needs anything.
  llvm::SmallVector<BlockRows, 2> rows;
  int64_t offset = 0, step = 0;
  int64_t lead = 0, tail = 0;
};

/// The window of `piece` from a tensor in blocks `from` to one in blocks `to`.
/// Both are cut in as many, or `from` is whole, in one block that all devices
/// have. None if blocks at more than `most` distances are needed. The piece is
/// not empty and lies inside on both sides.
std::optional<Window> getWindow(BlockLayout from, BlockLayout to,
                                const Piece &piece, size_t most);

} // namespace tp

#endif // TPOPT_SHARDING_ALGEBRA_HALO_H
