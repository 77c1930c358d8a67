// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How rows are sorted on a GPU.
///
/// A row is sorted in one of four ways, depending on its length and on how much
/// of it is kept:
///
///     getSortForm(32, 8, 32)              // Count
///     getSortForm(256, 8, 32)             // Tile
///     getSortPlan(1, 131072, 50, 32)      // 32 parts of 4096, then first 50
///     getSortPlan(1, 131072, 131072, 32)  // 32 parts of 4096, merged in fours
///
/// *Count*, for short rows: the rank of an element is the number of elements
/// that come before it. That takes n^2 comparisons, by n threads that need not
/// wait for each other.
///
/// *Tile*, for rows that fit into a tile, 32 KiB of a block's shared memory.
/// There, an element and its index form one unsigned number, a *word*, so that
/// a single comparison decides which element comes first; among equal elements,
/// the one with the lower index does. A bitonic network (Batcher 1968) compares
/// and exchanges pairs of words. The choice of pairs does not depend on the
/// data. A thread computes three stages at a time in registers. If k of n
/// elements are kept, words are sorted in runs of k only; then pairs of runs
/// are repeatedly reduced to the first k words of both. That takes n log^2 k
/// comparisons (Shanbhag, Pirk, Madden 2018).
///
/// *Parts*, for longer rows if little is kept, such as a sampler's top_k of a
/// vocabulary: a row is divided into parts, so that there are enough blocks to
/// fill a GPU. Each block goes through its part tile by tile and writes the
/// first k elements; another block then keeps the first k of all these. So each
/// element of the row is read once, and in between only k elements per part are
/// written.
///
/// *Merge*, for longer rows if much is kept: tiles are sorted, and then merged
/// four at a time. The rank of an element in the merged run is the sum of its
/// ranks in the four runs, which its thread finds by bisection. A merge takes 3
/// log n probes per element, and t tiles take log4 t merges.
///
/// Sizes are numbers of elements, and widths are bits.

#ifndef TPOPT_CODEGEN_SORT_H
#define TPOPT_CODEGEN_SORT_H

#include <cstdint>

namespace tp::codegen {

/// The number of words of a tile that a thread processes at a time.
inline constexpr int64_t kSortGroup = 8;

struct SortTile {
  int64_t width; ///< Bits of a word: 32, 64 or 128.
  int64_t words; ///< A power of two; at least 64.

  int64_t getGroups() const { return words / kSortGroup; }
  /// A mask of three bits of a slot's number. Three bits suffice to number the
  /// eight words of a group. The bits of the mask are directly above the bits
  /// that locate a word within 128 bytes, and 128 bytes contain each bank once.
  int64_t getPermutedBits() const { return (kSortGroup - 1) * 128 * 8 / width; }
  /// Threads of the tile's block: one per group, rounded up to whole warps.
  int64_t getThreads() const;
};

/// The tile for rows of `columns` elements of `width` bits; the rows may be
/// longer than the tile.
SortTile getSortTile(int64_t columns, int64_t width);

/// The length of the runs into which a tile is sorted if `kept` elements are
/// kept: a power of two.
int64_t getSortRun(const SortTile &tile, int64_t kept);

/// The position of slot `slot` in the tile's memory. The slots of the words of
/// a group differ in three bits. Whichever bits these are: if each lane
/// accesses one word of its own group, the words of all lanes are in different
/// banks. The function is linear: f(a ^ b) = f(a) ^ f(b).
int64_t permuteSlot(const SortTile &tile, int64_t slot);

enum class SortForm {
  Count,
  Tile, ///< One tile, or tile after tile.
};

/// How one kernel sorts rows, or parts of rows, and keeps the first `kept`
/// elements.
SortForm getSortForm(int64_t columns, int64_t kept, int64_t width);

/// How rows are sorted by several kernels. The first kernel sorts parts of
/// `part` elements, and keeps `kept` elements of each part as a run. Each
/// further kernel merges `ways` runs into one. If one kernel does everything,
/// the row is a single part.
struct SortPlan {
  int64_t part, kept, ways;
};

SortPlan getSortPlan(int64_t rows, int64_t columns, int64_t kept,
                     int64_t width);

/// The tile in which runs of a row are merged. The room for each run is a power
/// of two.
SortTile getMergeTile(int64_t columns, int64_t run, int64_t width);

/// Returns true if runs are merged in a tile, two at a time, and false if they
/// are merged by bisection. Runs can be merged in a tile if they are short, if
/// all of them become a single run, and if at most `run` elements are kept.
bool mergesInTile(int64_t columns, int64_t run, int64_t ways, int64_t kept,
                  int64_t width);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_SORT_H
