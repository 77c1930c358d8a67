// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How rows are sorted on a GPU.
///
/// A row is sorted in one of four ways, by its length and how much of it is
/// kept:
///
///     getSortForm(32, 8, 32)              // Count
///     getSortForm(256, 8, 32)             // Tile
///     getSortPlan(1, 131072, 50, 32)      // 32 parts of 4096, then their best
///     getSortPlan(1, 131072, 131072, 32)  // 32 parts of 4096, merged by fours
///
/// *Count*, of short rows: an element's place is how many others stand before
/// it. That is n^2 comparisons, by n threads that need not wait for each other.
///
/// *Tile*, of rows that fit into a tile, 32 KiB of the memory that a block
/// shares. An element and its index are one unsigned number there, a *word*, so
/// that one comparison says which comes first, of equal elements the one in
/// front. A bitonic network (Batcher 1968) compares and exchanges words: which
/// ones does not depend on the data, and a thread takes three of its stages at
/// a time, in registers. Where k are kept of n, words are sorted in runs of k
/// only, and then one of two runs has the first k of both: n log^2 k
/// comparisons (Shanbhag, Pirk, Madden 2018).
///
/// *Parts*, of longer rows of which little is kept, as a sampler's top_k of a
/// vocabulary is: as many blocks as fill a GPU have a part of a row each, go
/// through it tile by tile, and leave its first k, of which another block keeps
/// the first. Each element is read once, and n / k times as many as are written
/// between the two.
///
/// *Merge*, of longer rows of which much is kept: tiles are sorted, and then
/// merged by fours. An element's place in what four runs become is where it
/// would stand in each, which its thread finds by bisection: 3 log n probes for
/// a merge, of which there are log4 of the number of tiles.
///
/// Sizes are numbers of elements, and widths bits.

#ifndef TPOPT_CODEGEN_SORT_H
#define TPOPT_CODEGEN_SORT_H

#include <cstdint>

namespace tp::codegen {

/// Words of a tile that a thread has at a time.
inline constexpr int64_t kSortGroup = 8;

struct SortTile {
  int64_t width; ///< Of a word: 32, 64 or 128.
  int64_t words; ///< A power of two; at least 64.

  int64_t getGroups() const { return words / kSortGroup; }
  /// Of a slot, the bits above those that say where in 128 bytes, which is all
  /// banks once, its word lies; as many as a group has to itself.
  int64_t getPermutedBits() const { return (kSortGroup - 1) * 128 * 8 / width; }
  /// Threads of its block: one for each group, and whole warps.
  int64_t getThreads() const;
};

/// The tile for rows of so many elements of `width`; they may be longer.
SortTile getSortTile(int64_t columns, int64_t width);

/// Into how long runs a tile is sorted for so many to be kept: a power of two.
int64_t getSortRun(const SortTile &tile, int64_t kept);

/// Where in its memory the tile has the word of a slot. Words that lanes access
/// together, each of its group, lie in different banks, wherever a group has
/// its three bits of the slot. Linear: of a sum without carries, the exclusive
/// or.
int64_t permuteSlot(const SortTile &tile, int64_t slot);

enum class SortForm {
  Count,
  Tile, ///< Or tile after tile.
};

/// How one kernel sorts rows, or parts of rows, of which it keeps the first
/// `kept`.
SortForm getSortForm(int64_t columns, int64_t kept, int64_t width);

/// How rows are sorted by several kernels: one for parts of `part`, which
/// leaves `kept` of each, and one for each time that `ways` runs of these are
/// merged. There is but one part where one kernel does all.
struct SortPlan {
  int64_t part, kept, ways;
};

SortPlan getSortPlan(int64_t rows, int64_t columns, int64_t kept,
                     int64_t width);

/// The tile that merges rows of runs; each has room for a power of two.
SortTile getMergeTile(int64_t columns, int64_t run, int64_t width);

/// Whether runs are merged in a tile, two by two, and not by bisection: if
/// they are short and become one, which is not to be longer.
bool mergesInTile(int64_t columns, int64_t run, int64_t ways, int64_t kept,
                  int64_t width);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_SORT_H
