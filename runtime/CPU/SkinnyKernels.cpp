// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// This file is compiled once for each CPU level. TPRT_SKINNY_KERNELS is the
// name of the table of kernels that the compiled file defines.

#include "runtime/CPU/SkinnyKernels.h"

using namespace tprt;

namespace {

// Sixteen lanes: one register of AVX-512, or two of AVX2, to which the compiler
// distributes them.
constexpr int64_t kLanes = 16;
using Floats = float __attribute__((vector_size(64)));
using Words = uint32_t __attribute__((vector_size(64)));
using Halves = uint16_t __attribute__((vector_size(32)));

/// The number of rows of B that are accumulated in registers before the sums
/// are written back to memory.
constexpr int64_t kDepth = 8;

} // namespace

TPRT_INLINE Floats load(const float *from) {
  Floats value; // memory may be unaligned
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
TPRT_INLINE Floats load(const uint16_t *from) {
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
}
TPRT_INLINE void store(float *to, Floats value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

/// Adds halves, then halves of the sums, and so on.
TPRT_INLINE float sum(Floats v) {
  auto eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
               __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
              __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  auto two = __builtin_shufflevector(four, four, 0, 1) +
             __builtin_shufflevector(four, four, 2, 3);
  return two[0] + two[1];
}

//===----------------------------------------------------------------------===//
// B's rows are contiguous: every element of A scales and adds a row of B
//===----------------------------------------------------------------------===//

/// Accumulates `depth` rows of B into C.
template <typename T, int64_t M>
TPRT_INLINE void addRows(const SkinnyTask &task, const float *a, const T *b,
                         int64_t depth) {
  int64_t j = 0;
  for (; j + kLanes <= task.n; j += kLanes) {
    Floats sums[M];
    for (int64_t i = 0; i < M; ++i)
      sums[i] = load(task.c + i * task.n + j);
    for (int64_t l = 0; l < depth; ++l) {
      Floats row = load(b + l * task.stride + j);
      // The hardware prefetcher cannot follow this many streams by itself.
      __builtin_prefetch(b + (l + kDepth) * task.stride + j, 0, 3);
      for (int64_t i = 0; i < M; ++i)
        sums[i] += a[l * M + i] * row;
    }
    for (int64_t i = 0; i < M; ++i)
      store(task.c + i * task.n + j, sums[i]);
  }
  for (; j < task.n; ++j)
    for (int64_t i = 0; i < M; ++i)
      for (int64_t l = 0; l < depth; ++l)
        task.c[i * task.n + j] +=
            a[l * M + i] * toFloat(b[l * task.stride + j]);
}

template <typename T, int64_t M> static void columnsOf(const SkinnyTask &task) {
  for (int64_t i = 0; i < M * task.n; ++i)
    task.c[i] = 0;
  const float *a = task.a;
  const T *b = static_cast<const T *>(task.b);
  int64_t l = 0;
  for (; l + kDepth <= task.k; l += kDepth) // full depth, unrolled
    addRows<T, M>(task, a + l * M, b + l * task.stride, kDepth);
  addRows<T, M>(task, a + l * M, b + l * task.stride, task.k - l);
}

//===----------------------------------------------------------------------===//
// B's columns are contiguous: every element of C is a dot product
//===----------------------------------------------------------------------===//

/// Computes N columns of C.
template <typename T, int64_t M, int64_t N>
TPRT_INLINE void multiplyTile(const SkinnyTask &task, const T *b, float *c) {
  Floats sums[M][N] = {};
  int64_t l = 0;
  for (; l + kLanes <= task.k; l += kLanes) {
    Floats columns[N];
    for (int64_t j = 0; j < N; ++j) {
      columns[j] = load(b + j * task.stride + l);
      __builtin_prefetch(b + (j + 2 * N) * task.stride + l, 0, 2);
    }
    for (int64_t i = 0; i < M; ++i) {
      Floats row = load(task.a + i * task.k + l);
      for (int64_t j = 0; j < N; ++j)
        sums[i][j] += row * columns[j];
    }
  }
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      float total = sum(sums[i][j]);
      for (int64_t rest = l; rest < task.k; ++rest)
        total += task.a[i * task.k + rest] * toFloat(b[j * task.stride + rest]);
      c[i * task.n + j] = total;
    }
}

template <typename T, int64_t M> static void dotsOf(const SkinnyTask &task) {
  constexpr int64_t width = M <= 4 ? 4 : 2; // M * width sums fit registers
  const T *b = static_cast<const T *>(task.b);
  int64_t j = 0;
  for (; j + width <= task.n; j += width)
    multiplyTile<T, M, width>(task, b + j * task.stride, task.c + j);
  for (; j < task.n; ++j)
    multiplyTile<T, M, 1>(task, b + j * task.stride, task.c + j);
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

static void activate(Activation kind, float *values, int64_t count) {
  applyActivation(kind, values, count);
}

static void widen(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = toFloat(from[i]);
}

/// Rounds to nearest, ties to even; NaNs become quiet.
static void narrow(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Bits bits = {};
    bits.number = from[i];
    uint32_t rounded = (bits.word + 0x7fff + (bits.word >> 16 & 1)) >> 16;
    bool isNaN = (bits.word & 0x7fffffff) > 0x7f800000;
    to[i] = static_cast<uint16_t>(isNaN ? bits.word >> 16 | 0x40 : rounded);
  }
}

static bool narrowExactly(const float *from, uint16_t *to, int64_t count) {
  uint32_t dropped = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits = {};
    bits.number = from[i];
    dropped |= bits.word & 0xffff;
    to[i] = static_cast<uint16_t>(bits.word >> 16);
  }
  return dropped == 0;
}

//===----------------------------------------------------------------------===//
// One version for each number of rows
//===----------------------------------------------------------------------===//

template <typename T> static void columns(const SkinnyTask &task) {
  static constexpr SkinnyKernels::Product kernels[kMaxSkinnyRows] = {
      columnsOf<T, 1>, columnsOf<T, 2>, columnsOf<T, 3>, columnsOf<T, 4>,
      columnsOf<T, 5>, columnsOf<T, 6>, columnsOf<T, 7>, columnsOf<T, 8>};
  kernels[task.m - 1](task);
}

template <typename T> static void dots(const SkinnyTask &task) {
  static constexpr SkinnyKernels::Product kernels[kMaxSkinnyRows] = {
      dotsOf<T, 1>, dotsOf<T, 2>, dotsOf<T, 3>, dotsOf<T, 4>,
      dotsOf<T, 5>, dotsOf<T, 6>, dotsOf<T, 7>, dotsOf<T, 8>};
  kernels[task.m - 1](task);
}

const SkinnyKernels tprt::TPRT_SKINNY_KERNELS = {
    {columns<float>, columns<uint16_t>},
    {dots<float>, dots<uint16_t>},
    activate,
    widen,
    narrow,
    narrowExactly};
