// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The inner loops of products with few rows, in a version for each
/// level of the CPU. Only plain pointers cross this border: an inline function
/// of a header, compiled for AVX-512 here, could become the one that the rest
/// of the runtime calls on a machine without it.

#ifndef TPRT_CPU_SKINNYKERNELS_H
#define TPRT_CPU_SKINNYKERNELS_H

#include <cstdint>

namespace tprt {

/// Rows whose sums fit the registers of AVX-512.
inline constexpr int64_t kMaxSkinnyRows = 8;

/// c[m, n] = sum_k a[m, k] b[k, n], all in f32 but b; c is dense, m at most
/// kMaxSkinnyRows.
struct SkinnyTask {
  int64_t m, n, k;
  /// Dense: [k, m] for `columns`, [m, k] for `dots`.
  const float *a;
  /// Columns: b[k * stride + n]. Dots: b[n * stride + k].
  const void *b;
  int64_t stride;
  float *c;
};

enum class SkinnyActivation { Relu, GeluErf, GeluTanh, Silu };

struct SkinnyKernels {
  using Product = void (*)(const SkinnyTask &task);
  /// For b of f32 and of bf16.
  Product columns[2], dots[2];
  void (*activate)(SkinnyActivation kind, float *values, int64_t count);
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  void (*narrow)(const float *from, uint16_t *to, int64_t count);
};

extern const SkinnyKernels kSkinnyKernels; ///< For every CPU.
#ifdef __x86_64__
extern const SkinnyKernels kSkinnyKernelsV3; ///< AVX2 and FMA.
extern const SkinnyKernels kSkinnyKernelsV4; ///< AVX-512.
#endif

} // namespace tprt

#endif // TPRT_CPU_SKINNYKERNELS_H
