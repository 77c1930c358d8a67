// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Attention.h"

#include "llvm/Support/MathExtras.h"

using namespace tp;
using namespace tp::codegen;

/// Rows that tensor cores multiply at once.
static constexpr int64_t kMatrixRows = 16;
static constexpr int64_t kMaxWarps = 4;
/// Rows that a warpgroup multiplies at once.
static constexpr int64_t kWarpgroupRows = 64;
/// Multiprocessors of other large GPUs: H20, A100 and B200.
static constexpr int64_t kOtherMultiprocessors[] = {78, 108, 148};
/// Registers and shared memory of each multiprocessor of a large GPU (H100).
static constexpr int64_t kRegisters = 64 << 10, kSharedBytes = 228 << 10;
/// The largest number of part numbers that are worth timing.
static constexpr size_t kMaxPartChoices = 3;
/// The bytes of shared memory that CUDA reserves for each block.
static constexpr int64_t kReservedBytes = 1 << 10;
/// The minimum number of keys in a part: for fewer keys, a block is not
/// worthwhile. The maximum number of parts: combining more would take too many
/// reads.
static constexpr int64_t kMinPartKeys = 128, kMaxParts = 32;

AttentionTiles tp::codegen::getAttentionTiles(const AttentionSize &size) {
  int64_t features = std::max(size.features, size.valueFeatures);
  AttentionTiles tiles;
  // A thread's share of a tile's scores and of a row's result must fit into its
  // registers.
  if (!size.isHalf) {
    tiles.warpRows = 4;
    tiles.keys = 32;
  } else {
    bool isSmall = features <= 64 && size.rows > kMaxWarps * kMatrixRows;
    tiles.warpRows = isSmall ? 2 * kMatrixRows : kMatrixRows;
    tiles.keys = features <= 128 ? 64 : 32;
  }
  auto warps = int64_t(llvm::divideCeil(size.rows, tiles.warpRows));
  tiles.warps = std::min(warps, kMaxWarps);
  return tiles;
}

bool tp::codegen::fitsTwoWarps(const AttentionSize &size) {
  return size.isHalf && size.rows <= step::kMaxTwoWarpRows;
}

AttentionTiles tp::codegen::getTwoWarpTiles(const AttentionSize &size) {
  AttentionTiles tiles = getAttentionTiles(size);
  tiles.warps = tiles.keyWarps = 2;
  return tiles;
}

bool tp::codegen::fitsWarpgroups(const AttentionSize &size, bool isMasked) {
  auto isWide = [](int64_t features) {
    return features == 64 || features == 128;
  };
  return size.isHalf && isWide(size.features) && isWide(size.valueFeatures) &&
         size.rows > kWarpgroupRows && !isMasked;
}

AttentionTiles tp::codegen::getWarpgroupTiles() {
  AttentionTiles tiles;
  tiles.warps = 2 * kWarpgroupRows / kMatrixRows;
  tiles.warpRows = kMatrixRows;
  tiles.keys = 128;
  return tiles;
}

int64_t tp::codegen::getBlocksAtOnce(const AttentionSize &size,
                                     const AttentionTiles &tiles) {
  // Two tiles of keys and two of values. Each row is padded by 16 bytes.
  constexpr int64_t pieceBytes = 16;
  int64_t rowBytes =
      (size.features + size.valueFeatures) * (size.isHalf ? 2 : 4) +
      2 * pieceBytes;
  int64_t sharedBytes = 2 * tiles.keys * rowBytes + kReservedBytes;
  int64_t registers =
      std::max(size.features, size.valueFeatures) <= 128 ? 168 : 255;
  int64_t threads = tiles.warps * 32;
  return std::max<int64_t>(1, std::min(kSharedBytes / sharedBytes,
                                       kRegisters / (threads * registers)));
}

int64_t tp::codegen::getAttentionParts(const AttentionSize &size,
                                       int64_t multiprocessors) {
  AttentionTiles tiles = getAttentionTiles(size);
  if (size.rows > tiles.getRows())
    return 1;
  int64_t blocks = multiprocessors * getBlocksAtOnce(size, tiles);
  int64_t allTiles = llvm::divideCeil(size.keys, tiles.keys);
  int64_t most = std::clamp<int64_t>(size.keys / kMinPartKeys, 1, kMaxParts);
  // Times are in units of the time for one tile. Blocks run in waves. A wave
  // takes the time of one part, plus half a tile for starting up and writing
  // results. Combining parts takes the last block about as long as a tile.
  auto getTime = [&](int64_t parts) {
    int64_t waves = llvm::divideCeil(size.heads * parts, blocks);
    int64_t partTiles = llvm::divideCeil(allTiles, parts);
    return double(waves) * (double(partTiles) + 0.5) + (parts > 1 ? 1 : 0);
  };
  double shortest = getTime(1);
  for (int64_t parts = 2; parts <= most; ++parts)
    shortest = std::min(shortest, getTime(parts));
  // More parts take more memory, so accept a time slightly above the shortest.
  constexpr double worth = 1.05;
  int64_t parts = 1;
  while (getTime(parts) > worth * shortest)
    ++parts;
  return parts;
}

llvm::SmallVector<AttentionChoice>
tp::codegen::getAttentionChoices(const AttentionSize &size) {
  int64_t parts = getAttentionParts(size);
  llvm::SmallVector<AttentionChoice> choices{{parts}};
  auto add = [&](AttentionChoice choice) {
    if (choices.size() < kMaxPartChoices &&
        !llvm::is_contained(choices, choice))
      choices.push_back(choice);
  };
  // Another choice worth timing: half as many parts as in the first choice.
  if (parts > 1)
    add({parts / 2});
  for (int64_t multiprocessors : kOtherMultiprocessors)
    add({getAttentionParts(size, multiprocessors)});
  if (fitsTwoWarps(size) && size.keys >= kMinPartKeys)
    choices.push_back({parts, /*hasTwoWarps=*/true});
  return choices;
}
