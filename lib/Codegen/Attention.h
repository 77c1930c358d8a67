// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How attention is divided among the threads of a GPU.
///
/// The kernels are those of FlashAttention-2 (Dao, arXiv:2307.08691): a block
/// goes through the keys in tiles, with the maximum and the sum of each row so
/// far in registers, and scores are never written to memory. The queries of all
/// heads that share a key-value head are rows of one problem, so that each key
/// is read once for the group.
///
/// 16-bit floats are multiplied by tensor cores: a warp has one or two times 16
/// rows, a block up to four warps. On Hopper, four warps together have 64 rows
/// where there are many, a block two such *warpgroups*. f32 is multiplied by
/// ordinary instructions, for its precision. Few rows, as there are when tokens
/// are generated, give too few blocks to read the keys at the memory's speed,
/// so their keys are divided among several blocks, the *parts* (Flash-Decoding,
/// Dao et al. 2023):
///
///     getAttentionTiles({1024 rows of bf16, 64 features})  4 warps of 32 rows
///     getAttentionTiles({8 rows of bf16, 128 features})    1 warp of 16 rows
///     getWarpgroupTiles()                                  8 warps of 16 rows
///     getAttentionParts({8 rows, 8 heads, 4096 keys})      32 parts
///     getAttentionParts({8 rows, 512 heads, 8192 keys})    3 parts: 3.9 waves
///
/// The parts are of the keys that are visible when the kernel runs, so that one
/// captured graph serves all positions of a cache. What they leave is put
/// together by a row program.
///
/// Units: sizes are elements, shared memory is bytes.

#ifndef TPOPT_CODEGEN_ATTENTION_H
#define TPOPT_CODEGEN_ATTENTION_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::codegen {

/// What the division depends on.
struct AttentionSize {
  int64_t heads;         ///< Key-value heads of all batch entries.
  int64_t rows;          ///< Queries of one of them: positions by groups.
  int64_t keys;          ///< That a cache has room for.
  int64_t features;      ///< Of a query and a key.
  int64_t valueFeatures; ///< Of a value.
  bool isHalf;           ///< Of 16-bit floats.
};

struct AttentionTiles {
  int64_t warps;    ///< Of a block.
  int64_t warpRows; ///< Rows of a warp.
  int64_t keys;     ///< Of a tile.

  int64_t getRows() const { return warps * warpRows; }
};

AttentionTiles getAttentionTiles(const AttentionSize &size);

/// The chip whose tensor cores warpgroups use, and no later one.
inline constexpr char kWarpgroupChip[] = "sm_90a";
/// Whether the kernel there is that of warpgroups: of 16-bit floats, of 64 or
/// 128 features, and of more rows than one warpgroup has, without a mask, whose
/// places would take more registers than there are.
bool fitsWarpgroups(const AttentionSize &size, bool isMasked);
AttentionTiles getWarpgroupTiles();

/// Of the kernels of warps, how many blocks a multiprocessor of a large GPU has
/// at once, by its registers and its shared memory.
int64_t getBlocksAtOnce(const AttentionSize &size, const AttentionTiles &tiles);

/// Multiprocessors of a large GPU (H100).
inline constexpr int64_t kMultiprocessors = 132;

/// Among how many blocks the keys of a block of rows are divided; 1 if they are
/// not. The waves in which the blocks come, on a GPU with so many
/// multiprocessors, are to be whole.
int64_t getAttentionParts(const AttentionSize &size,
                          int64_t multiprocessors = kMultiprocessors);

/// Numbers of parts that are worth timing, of which the first is that for a
/// large GPU: those for smaller and larger ones, and half as many, whose
/// results are put together with half of the reads.
llvm::SmallVector<int64_t> getAttentionPartChoices(const AttentionSize &size);

} // namespace tp::codegen

#endif // TPOPT_CODEGEN_ATTENTION_H
