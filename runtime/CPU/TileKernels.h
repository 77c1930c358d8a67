// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The inner loops of bf16 products. With AMX, Intel's Advanced Matrix
/// Extensions, a tile register holds 16 rows of 64 bytes; one instruction
/// multiplies 16 x 32 elements of A by 32 x 16 elements of B and adds the
/// products to 16 x 16 sums in f32. AVX-512 with bf16 reads the same layout:
/// one instruction multiplies a pair of elements along k by 16 pairs of B.
///
/// The interface has only plain pointers, for the reason that SkinnyKernels.h
/// gives.

#ifndef TPRT_CPU_TILEKERNELS_H
#define TPRT_CPU_TILEKERNELS_H

#include "runtime/CPU/Activations.h"

#include <cstdint>

namespace tprt {

inline constexpr int64_t kTileRows = 16;  ///< Of A; columns of B's tiles.
inline constexpr int64_t kTileDepth = 32; ///< Elements along k.
inline constexpr int64_t kTileBytes = 1024;
/// A kernel computes this many rows and columns of C at a time, from two tiles
/// of A and two of B at each step along k.
inline constexpr int64_t kTileBlock = 2 * kTileRows;

/// Part of a bf16 matrix: lines of contiguous elements.
struct TileSource {
  const uint16_t *from;
  int64_t stride; ///< Elements from one line to the next.
  bool isAlongK;  ///< Each line has consecutive k; if not, k counts the lines.
  /// The rows of A, or columns of B, that exist, and the elements along k. The
  /// rest of the tile becomes zero.
  int64_t rows, depth;
};

/// A block of C, and where its tiles of A and B are.
struct TileBlock {
  int64_t steps; ///< Tiles along k.
  bool isTall;   ///< 32 rows; if not, 16.
  /// Bytes between rows of a tile of A, between the upper and the lower tile,
  /// and between steps.
  const char *a;
  int64_t rowBytes, lowerBytes, stepBytes;
  const char *b; ///< Packed; each step's two tiles lie side by side.
  /// Memory that a later block reads, and how many cache lines of it to fetch
  /// with each step.
  const char *next;
  int64_t nextLines;
  float *c;
  int64_t cRowBytes;
};

struct TilePostOp {
  enum class Kind { Add, Multiply, Activate } kind;
  Activation activation;
  /// The other operand of Add or Multiply. Points to the first of its elements
  /// that the block uses.
  const char *data;
  bool isNarrow; ///< bf16; if not, f32.
  int64_t rowStride, columnStride;
};

/// What turns a block of sums into a block of C.
struct TileEpilogue {
  float *sums; ///< [32, 32], dense.
  int64_t rows, columns;
  const TilePostOp *postOps;
  int64_t numPostOps;
  char *c;
  bool isNarrow; ///< C is bf16; if not, f32.
  int64_t rowStride;
};

struct TileKernels {
  /// Called on each thread before and after calls of `multiply`.
  void (*start)();
  void (*stop)();
  /// Write one tile, in the layout that `multiply` reads.
  void (*packA)(const TileSource &source, char *tile);
  void (*packB)(const TileSource &source, char *tile);
  void (*multiply)(const TileBlock &block);
  void (*finish)(const TileEpilogue &epilogue);
};

#ifdef __x86_64__
extern const TileKernels kTileKernels; ///< AMX.
extern const TileKernels kDotKernels;  ///< AVX-512 with bf16.
#endif

} // namespace tprt

#endif // TPRT_CPU_TILEKERNELS_H
