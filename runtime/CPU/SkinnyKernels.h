// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The inner loops of products with few rows, with one version for each
/// CPU level. The interface has only plain pointers: if it used inline
/// functions from headers, the linker could pick a copy that was compiled for
/// AVX-512 here, and the rest of the runtime would call it on a machine without
/// AVX-512.

#ifndef TPRT_CPU_SKINNYKERNELS_H
#define TPRT_CPU_SKINNYKERNELS_H

#include "runtime/CPU/Activations.h"

#include <cstdint>

namespace tprt {

/// The most rows whose sums fit the registers of AVX-512.
inline constexpr int64_t kMaxSkinnyRows = 8;

/// c[m, n] = sum_k a[m, k] b[k, n]. Everything but b is f32; c is dense, and m
/// is at most kMaxSkinnyRows.
struct SkinnyTask {
  int64_t m, n, k;
  /// Dense. Its layout is [k, m] for the kernels `columns`, and [m, k] for the
  /// kernels `dots`.
  const float *a;
  /// For `columns`, b[k * stride + n]; for `dots`, b[n * stride + k].
  const void *b;
  int64_t stride;
  float *c;
};

struct SkinnyKernels {
  using Product = void (*)(const SkinnyTask &task);
  /// Each pair contains the kernel for f32 b, then the kernel for bf16 b.
  Product columns[2], dots[2];
  void (*activate)(Activation kind, float *values, int64_t count);
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  void (*narrow)(const float *from, uint16_t *to, int64_t count);
  /// Narrows without rounding. Returns false, with `to` unspecified, if a
  /// number is not exact in bf16.
  bool (*narrowExactly)(const float *from, uint16_t *to, int64_t count);
};

extern const SkinnyKernels kSkinnyKernels; ///< For every CPU.
#ifdef __x86_64__
extern const SkinnyKernels kSkinnyKernelsV3; ///< AVX2 and FMA.
extern const SkinnyKernels kSkinnyKernelsV4; ///< AVX-512.
#endif

} // namespace tprt

#endif // TPRT_CPU_SKINNYKERNELS_H
