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
/// Blocks that keep a large GPU busy: two for each of 132 multiprocessors.
static constexpr int64_t kBusyBlocks = 264;
/// Keys that are worth a block, and parts that are put together with few reads.
static constexpr int64_t kMinPartKeys = 128, kMaxParts = 32;

AttentionTiles tp::codegen::getAttentionTiles(const AttentionSize &size) {
  int64_t features = std::max(size.features, size.valueFeatures);
  AttentionTiles tiles;
  // What a thread holds of a tile's scores and of a row's result must fit into
  // its registers.
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

int64_t tp::codegen::getAttentionParts(const AttentionSize &size) {
  if (size.rows > getAttentionTiles(size).getRows())
    return 1;
  auto wanted = int64_t(llvm::divideCeil(kBusyBlocks, size.heads));
  return std::max<int64_t>(
      1, std::min({wanted, size.keys / kMinPartKeys, kMaxParts}));
}
