// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How attention is divided among the threads of a GPU.
///
/// The kernels are those of FlashAttention-2 (Dao, arXiv:2307.08691): a block
/// goes through the keys in tiles and keeps the running maximum and sum of each
/// row in registers, so scores are never written to memory. The queries of all
/// heads that share a key-value head are rows of one problem, so that each key
/// is read once for the group.
///
/// 16-bit floats are multiplied by tensor cores: a warp has 16 or 32 rows, a
/// block up to four warps. On Hopper, if there are many rows, four warps form a
/// *warpgroup* with 64 rows, and a block has two warpgroups. f32 is multiplied
/// by ordinary instructions, for its precision. While tokens are generated,
/// there are so few rows that there are too few blocks to read the keys at full
/// memory bandwidth. Therefore the keys are divided among several blocks, the
/// *parts* (Flash-Decoding, Dao et al. 2023):
///
///     getAttentionTiles({1024 rows of bf16, 64 features})  4 warps of 32 rows
///     getAttentionTiles({8 rows of bf16, 128 features})    1 warp of 16 rows
///     getTwoWarpTiles({8 rows of bf16, 128 features})      2 warps of the same
///     getWarpgroupTiles()                                  8 warps of 16 rows
///     getAttentionParts({8 rows, 8 heads, 4096 keys})      32 parts
///     getAttentionParts({8 rows, 512 heads, 8192 keys})    3 parts: 3.9 waves
///
/// Keys are divided when the kernel runs, according to how many are visible, so
/// that one captured graph works for all positions of a cache. The block that
/// ends last combines the results of the parts.
///
/// A block with so few rows has one warp, or two that have the same rows and
/// half of the keys of a tile each, and merge their results in the end.
///
/// Sizes are in elements, shared memory is in bytes.

#ifndef TPOPT_CODEGEN_ATTENTION_H
#define TPOPT_CODEGEN_ATTENTION_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::codegen {

/// The sizes on which the division of attention among threads depends.
struct AttentionSize {
  int64_t heads;         ///< Key-value heads of all batch entries.
  int64_t rows;          ///< Queries per key-value head: positions * groups.
  int64_t keys;          ///< Capacity of the cache.
  int64_t features;      ///< Features of a query and of a key.
  int64_t valueFeatures; ///< Features of a value.
  bool isHalf;           ///< The element type is a 16-bit float.
};

struct AttentionTiles {
  int64_t warps;        ///< Per block.
  int64_t warpRows;     ///< Rows per warp.
  int64_t keys;         ///< Per tile.
  int64_t keyWarps = 1; ///< Warps with the same rows, which share the keys.

  int64_t getRows() const { return warps / keyWarps * warpRows; }
  int64_t getWarpKeys() const { return keys / keyWarps; }
};

AttentionTiles getAttentionTiles(const AttentionSize &size);

/// Returns true if a block may have two warps with the same rows.
bool fitsTwoWarps(const AttentionSize &size);
AttentionTiles getTwoWarpTiles(const AttentionSize &size);

/// The only GPU architecture with warpgroup instructions for tensor cores:
/// later architectures do not have them.
inline constexpr char kWarpgroupChip[] = "sm_90a";
/// Returns true if the warpgroup kernel can compute an attention of this size.
/// The kernel needs 16-bit floats, 64 or 128 features, and more rows than one
/// warpgroup processes. The kernel does not support masks: computing the
/// addresses of a mask would take more registers than a thread has.
bool fitsWarpgroups(const AttentionSize &size, bool isMasked);
AttentionTiles getWarpgroupTiles();

/// The number of blocks of the kernel without warpgroups that one
/// multiprocessor of a large GPU runs at the same time. Registers and shared
/// memory limit this number.
int64_t getBlocksAtOnce(const AttentionSize &size, const AttentionTiles &tiles);

/// Multiprocessors of a large GPU (H100).
inline constexpr int64_t kMultiprocessors = 132;

/// The number of blocks among which the keys of a block of rows are divided; 1
/// if they are not divided. It is chosen so that the blocks fill whole waves on
/// a GPU with the given number of multiprocessors.
int64_t getAttentionParts(const AttentionSize &size,
                          int64_t multiprocessors = kMultiprocessors);

/// One way to divide an attention of few rows.
struct AttentionChoice {
  int64_t parts;
  bool hasTwoWarps = false;

  bool operator==(const AttentionChoice &other) const {
    return parts == other.parts && hasTwoWarps == other.hasTwoWarps;
  }
};

/// Ways that are worth timing. The first has the number of parts for a large
/// GPU. The second has half of it: combining the results then reads half as
/// much. Others have the numbers for smaller and larger GPUs. The last has the
/// first number, and two warps for the same rows, so that twice as many threads
/// copy keys and combine parts.
llvm::SmallVector<AttentionChoice>
getAttentionChoices(const AttentionSize &size);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_ATTENTION_H
