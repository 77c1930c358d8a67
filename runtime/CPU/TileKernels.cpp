// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled for AVX-512 with bf16, and AMX; see TileMatmul for when it is
// called.

#include "runtime/CPU/TileKernels.h"

#include <immintrin.h>

using namespace tprt;

namespace {

constexpr int64_t kLineBytes = 64;

/// The data of the instruction `ldtilecfg` (Intel's manual, volume 1, 18.3):
/// all eight tiles have 16 rows of 64 bytes. A constant, because GCC 12 does
/// not see that the instruction reads all of it.
struct TileConfiguration {
  uint8_t palette = 1, startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {kTileRows, kTileRows, kTileRows, kTileRows,
                      kTileRows, kTileRows, kTileRows, kTileRows};
};
static_assert(sizeof(TileConfiguration) == 64);
constexpr TileConfiguration kConfiguration;

} // namespace

static void start() { _tile_loadconfig(&kConfiguration); }

static void stop() { _tile_release(); }

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Loads a tile as 16 x 16 pairs along k: [row of A or column of B, pair] if
/// lines are along k, and [pair, row or column] if not.
TPRT_INLINE void loadPairs(const TileSource &source, __m512i *pairs) {
  if (source.isAlongK) {
    auto mask = static_cast<__mmask32>((uint64_t{1} << source.depth) - 1);
    for (int64_t i = 0; i < kTileRows; ++i)
      pairs[i] =
          i < source.rows
              ? _mm512_maskz_loadu_epi16(mask, source.from + i * source.stride)
              : _mm512_setzero_si512();
    return;
  }
  auto mask = static_cast<__mmask16>((1u << source.rows) - 1);
  auto load = [&](int64_t k) {
    return k < source.depth ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(
                                  mask, source.from + k * source.stride))
                            : _mm512_setzero_si512();
  };
  for (int64_t i = 0; i < kTileDepth / 2; ++i)
    pairs[i] =
        _mm512_or_si512(load(2 * i), _mm512_slli_epi32(load(2 * i + 1), 16));
}

/// Transposes 16 x 16 words of 32 bits.
TPRT_INLINE void transpose(__m512i *rows) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // In row 4 g + c, lane l now has column 4 l + c of the original rows 4 g to
  // 4 g + 3.
  for (int c = 0; c < 4; ++c) {
    __m512i low = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0x88);
    __m512i high = _mm512_shuffle_i32x4(rows[c], rows[4 + c], 0xdd);
    __m512i lowNext = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0x88);
    __m512i highNext = _mm512_shuffle_i32x4(rows[8 + c], rows[12 + c], 0xdd);
    t[c] = _mm512_shuffle_i32x4(low, lowNext, 0x88);
    t[8 + c] = _mm512_shuffle_i32x4(low, lowNext, 0xdd);
    t[4 + c] = _mm512_shuffle_i32x4(high, highNext, 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(high, highNext, 0xdd);
  }
  for (int i = 0; i < 16; ++i)
    rows[i] = t[i];
}

TPRT_INLINE void pack(const TileSource &source, bool isTransposed, char *tile) {
  __m512i pairs[16];
  loadPairs(source, pairs);
  if (isTransposed)
    transpose(pairs);
  for (int i = 0; i < 16; ++i)
    _mm512_storeu_si512(tile + i * 64, pairs[i]);
}

static void packA(const TileSource &source, char *tile) {
  pack(source, !source.isAlongK, tile);
}
static void packB(const TileSource &source, char *tile) {
  pack(source, source.isAlongK, tile);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Tiles 0 to 3 are sums, 4 and 5 are A's, 6 and 7 are B's.
template <bool isTall> static void multiplyBlock(const TileBlock &block) {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (isTall) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const char *a = block.a, *b = block.b, *next = block.next;
  for (int64_t step = 0; step < block.steps; ++step) {
    _tile_loadd(6, b, 64);
    _tile_loadd(4, a, block.rowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kTileBytes, 64);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (isTall) {
      _tile_loadd(5, a + block.lowerBytes, block.rowBytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    for (int64_t i = 0; i < block.nextLines; ++i, next += kLineBytes)
      _mm_prefetch(next, _MM_HINT_T1);
    a += block.stepBytes;
    b += 2 * kTileBytes;
  }
  float *right = block.c + kTileRows;
  _tile_stored(0, block.c, block.cRowBytes);
  _tile_stored(1, right, block.cRowBytes);
  if constexpr (isTall) {
    int64_t lower = kTileRows * block.cRowBytes;
    _tile_stored(2, reinterpret_cast<char *>(block.c) + lower, block.cRowBytes);
    _tile_stored(3, reinterpret_cast<char *>(right) + lower, block.cRowBytes);
  }
}

static void multiply(const TileBlock &block) {
  if (block.isTall)
    multiplyBlock<true>(block);
  else
    multiplyBlock<false>(block);
}

//===----------------------------------------------------------------------===//
// Products without AMX
//===----------------------------------------------------------------------===//

/// Rows whose sums are in registers: 16 registers of 32 hold sums, and 2 hold a
/// row of B's tiles.
static constexpr int64_t kDotRows = 8;

/// Computes kDotRows rows from row `first` on. A step multiplies 16 pairs along
/// k one after another: a pair of each row of A by a row of B's two tiles.
static void multiplyRows(const TileBlock &block, int64_t first) {
  __m512 sums[kDotRows][2] = {};
  const char *a = block.a + first % kTileRows * block.rowBytes +
                  first / kTileRows * block.lowerBytes;
  const char *b = block.b;
  for (int64_t step = 0; step < block.steps; ++step) {
    for (int64_t pair = 0; pair < kTileDepth / 2; ++pair) {
      auto load = [&](int64_t tile) {
        return reinterpret_cast<__m512bh>(
            _mm512_loadu_si512(b + tile * kTileBytes + pair * kLineBytes));
      };
      __m512bh left = load(0), right = load(1);
      for (int64_t i = 0; i < kDotRows; ++i) {
        int32_t both;
        __builtin_memcpy(&both, a + i * block.rowBytes + pair * 4, 4);
        auto repeated = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
        sums[i][0] = _mm512_dpbf16_ps(sums[i][0], repeated, left);
        sums[i][1] = _mm512_dpbf16_ps(sums[i][1], repeated, right);
      }
    }
    a += block.stepBytes;
    b += 2 * kTileBytes;
  }
  char *c = reinterpret_cast<char *>(block.c) + first * block.cRowBytes;
  for (int64_t i = 0; i < kDotRows; ++i, c += block.cRowBytes) {
    _mm512_storeu_ps(c, sums[i][0]);
    _mm512_storeu_ps(c + kLineBytes, sums[i][1]);
  }
}

static void multiplyDots(const TileBlock &block) {
  int64_t rows = block.isTall ? kTileBlock : kTileRows;
  for (int64_t first = 0; first < rows; first += kDotRows)
    multiplyRows(block, first);
}

static void doNothing() {}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Reads row `i` of a post-op's operand as floats.
template <typename T>
TPRT_INLINE void readRow(const TilePostOp &postOp, int64_t i, int64_t columns,
                         float *row) {
  const T *from =
      reinterpret_cast<const T *>(postOp.data) + i * postOp.rowStride;
  if (postOp.columnStride == 1) {
    for (int64_t j = 0; j < columns; ++j)
      row[j] = toFloat(from[j]);
    return;
  }
  for (int64_t j = 0; j < columns; ++j)
    row[j] = toFloat(from[j * postOp.columnStride]);
}

TPRT_INLINE void combine(const TileEpilogue &epilogue,
                         const TilePostOp &postOp) {
  float row[kTileBlock];
  for (int64_t i = 0; i < epilogue.rows; ++i) {
    float *sums = epilogue.sums + i * kTileBlock;
    if (postOp.isNarrow)
      readRow<uint16_t>(postOp, i, epilogue.columns, row);
    else
      readRow<float>(postOp, i, epilogue.columns, row);
    if (postOp.kind == TilePostOp::Kind::Add)
      for (int64_t j = 0; j < epilogue.columns; ++j)
        sums[j] += row[j];
    else
      for (int64_t j = 0; j < epilogue.columns; ++j)
        sums[j] *= row[j];
  }
}

static void finish(const TileEpilogue &epilogue) {
  for (int64_t i = 0; i < epilogue.numPostOps; ++i) {
    const TilePostOp &postOp = epilogue.postOps[i];
    if (postOp.kind == TilePostOp::Kind::Activate)
      applyActivation(postOp.activation, epilogue.sums,
                      epilogue.rows * kTileBlock);
    else
      combine(epilogue, postOp);
  }
  auto mask = static_cast<__mmask32>((uint64_t{1} << epilogue.columns) - 1);
  auto low = static_cast<__mmask16>(mask);
  auto high = static_cast<__mmask16>(mask >> 16);
  for (int64_t i = 0; i < epilogue.rows; ++i) {
    __m512 left = _mm512_loadu_ps(epilogue.sums + i * kTileBlock);
    __m512 right = _mm512_loadu_ps(epilogue.sums + i * kTileBlock + 16);
    if (epilogue.isNarrow) {
      auto *c =
          reinterpret_cast<uint16_t *>(epilogue.c) + i * epilogue.rowStride;
      auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left));
      _mm512_mask_storeu_epi16(c, mask, both);
    } else {
      float *c = reinterpret_cast<float *>(epilogue.c) + i * epilogue.rowStride;
      _mm512_mask_storeu_ps(c, low, left);
      _mm512_mask_storeu_ps(c + 16, high, right);
    }
  }
}

const TileKernels tprt::kTileKernels = {start, stop,     packA,
                                        packB, multiply, finish};
const TileKernels tprt::kDotKernels = {doNothing, doNothing,    packA,
                                       packB,     multiplyDots, finish};
