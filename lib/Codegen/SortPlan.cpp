// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Sort.h"

#include "GpuFunction.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace tp;
using namespace tp::codegen;

/// The bytes of the largest tile. A block may use 48 KiB by default.
static constexpr int64_t kTileBytes = 32 << 10;
/// A row that does not fit into the largest tile is processed one tile after
/// another only if a run of the elements to keep fits into such a tile at least
/// this many times. Then most elements of each tile are new, and few elements
/// are left to combine when all parts are done.
static constexpr int64_t kMinRuns = 8;
/// The number of blocks that keeps a large GPU busy: two for each of 132
/// multiprocessors.
static constexpr int64_t kBusyBlocks = 264;
/// The number of runs that one launch merges. With two, more launches would be
/// needed; with eight, the binary searches would take more steps.
static constexpr int64_t kWays = 4;
/// The instructions with which a warp compares the elements of its threads with
/// one element, and those of one round of the sorting network. The work before
/// and after all rounds counts as two rounds.
static constexpr int64_t kCountInstructions = 12, kRoundInstructions = 110,
                         kOtherRounds = 2;

int64_t SortTile::getThreads() const { return std::max(kWarp, getGroups()); }

/// The number of words in the largest tile.
static int64_t getMaxWords(int64_t width) { return kTileBytes * 8 / width; }

SortTile tp::codegen::getSortTile(int64_t columns, int64_t width) {
  auto all = int64_t(llvm::PowerOf2Ceil(columns));
  SortTile tile;
  tile.width =
      llvm::PowerOf2Ceil(std::max<int64_t>(32, width + llvm::Log2_64(all)));
  tile.words =
      std::clamp<int64_t>(all, 8 * kSortGroup, getMaxWords(tile.width));
  return tile;
}

int64_t tp::codegen::getSortRun(const SortTile &tile, int64_t kept) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(kept), kSortGroup, tile.words);
}

int64_t tp::codegen::permuteSlot(const SortTile &tile, int64_t slot) {
  int64_t above = slot & tile.getPermutedBits();
  return slot ^ (above >> 3) ^ (above >> 6);
}

/// The number of times that the threads of a tile's block exchange words.
static int64_t getRounds(const SortTile &tile, int64_t kept) {
  int64_t run = getSortRun(tile, kept), last = llvm::Log2_64(run), rounds = 1;
  for (int64_t phase = 4; phase <= last; ++phase)
    rounds += llvm::divideCeil(phase, 3);
  return rounds + llvm::Log2_64(tile.words / run) * llvm::divideCeil(last, 3);
}

/// Returns true if `kept`, the number of elements to keep of a row, is so small
/// that a row can be processed one tile after another.
static bool isLittle(int64_t kept, int64_t wordWidth) {
  return int64_t(llvm::PowerOf2Ceil(kept)) * kMinRuns <= getMaxWords(wordWidth);
}

SortForm tp::codegen::getSortForm(int64_t columns, int64_t kept,
                                  int64_t width) {
  SortTile tile = getSortTile(columns, width);
  if (columns > tile.words)
    return isLittle(kept, tile.width) ? SortForm::Tile : SortForm::Count;
  int64_t counting = columns * columns / kWarp * kCountInstructions;
  int64_t sorting = tile.getThreads() / kWarp *
                    (getRounds(tile, kept) + kOtherRounds) * kRoundInstructions;
  return counting <= sorting ? SortForm::Count : SortForm::Tile;
}

SortPlan tp::codegen::getSortPlan(int64_t rows, int64_t columns, int64_t kept,
                                  int64_t width) {
  SortTile tile = getSortTile(columns, width);
  if (columns <= tile.words)
    return {columns, kept, 1};
  if (!isLittle(kept, tile.width)) {
    // An index within a tile needs few bits, so narrower words suffice.
    int64_t part = getSortTile(getMaxWords(32), width).words;
    return {part, part, kWays};
  }
  int64_t parts = std::min(llvm::divideCeil(kBusyBlocks, rows),
                           llvm::divideCeil(columns, tile.words));
  int64_t part = llvm::divideCeil(columns, parts);
  return {part, kept, int64_t(llvm::divideCeil(columns, part))};
}

SortTile tp::codegen::getMergeTile(int64_t columns, int64_t run,
                                   int64_t width) {
  int64_t room = std::max<int64_t>(kSortGroup, llvm::PowerOf2Ceil(run));
  return getSortTile(llvm::divideCeil(columns, run) * room, width);
}

bool tp::codegen::mergesInTile(int64_t columns, int64_t run, int64_t ways,
                               int64_t kept, int64_t width) {
  return kept <= run && columns <= run * ways &&
         isLittle(run, getMergeTile(columns, run, width).width);
}
