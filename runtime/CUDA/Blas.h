// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The part of cuBLASLt that the runtime uses, for CUDA 12 or 13.

#ifndef TPRT_CUDA_BLAS_H
#define TPRT_CUDA_BLAS_H

#include "runtime/CUDA/Library.h"

#include <cstddef>
#include <cstdint>

struct CUstream_st; // NOLINT(readability-identifier-naming): NVIDIA's

namespace tprt {

namespace blas {
using Status = int;
struct Context;
struct DescOpaque;
struct LayoutOpaque;
struct PreferenceOpaque;
using Handle = Context *;
using Desc = DescOpaque *;
using Layout = LayoutOpaque *;
using Preference = PreferenceOpaque *;
using Stream = CUstream_st *;

/// A way to compute a matmul, as plain data from the library. Other versions of
/// the library do not accept this data.
struct Algorithm {
  uint64_t data[8];
};

struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

inline constexpr Status kSuccess = 0;

// Types of elements (cudaDataType) and of computations (cublasComputeType_t).
inline constexpr int kF32 = 0, kF16 = 2, kBF16 = 14, kF8E4M3 = 28;
inline constexpr int kCompute32F = 68, kComputeTF32 = 77;
inline constexpr int kTranspose = 1; ///< cublasOperation_t

// Attributes of a matmul descriptor.
inline constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8,
                     kBiasBatchStride = 10, kBiasType = 26;
inline constexpr int kEpilogueNone = 1, kEpilogueRelu = 2, kEpilogueBias = 4,
                     kEpilogueGelu = 32;
// Attributes of a layout.
inline constexpr int kBatchCount = 5, kBatchStride = 6;
// Attributes of a preference.
inline constexpr int kMaxWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6,
                     kAlignmentC = 7, kAlignmentD = 8;
} // namespace blas

// clang-format off
#define TPRT_BLAS_FUNCTIONS(F)                                                 \
  F(getStatusString, cublasLtGetStatusString, const char *(blas::Status))      \
  F(getVersion, cublasLtGetVersion, size_t())                                  \
  F(create, cublasLtCreate, blas::Status(blas::Handle *))                      \
  F(destroy, cublasLtDestroy, blas::Status(blas::Handle))                      \
  F(createDesc, cublasLtMatmulDescCreate, blas::Status(blas::Desc *, int, int)) \
  F(destroyDesc, cublasLtMatmulDescDestroy, blas::Status(blas::Desc))          \
  F(setDesc, cublasLtMatmulDescSetAttribute, blas::Status(blas::Desc, int, const void *, size_t)) \
  F(createLayout, cublasLtMatrixLayoutCreate, blas::Status(blas::Layout *, int, uint64_t, uint64_t, int64_t)) \
  F(destroyLayout, cublasLtMatrixLayoutDestroy, blas::Status(blas::Layout))    \
  F(setLayout, cublasLtMatrixLayoutSetAttribute, blas::Status(blas::Layout, int, const void *, size_t)) \
  F(createPreference, cublasLtMatmulPreferenceCreate, blas::Status(blas::Preference *)) \
  F(destroyPreference, cublasLtMatmulPreferenceDestroy, blas::Status(blas::Preference)) \
  F(setPreference, cublasLtMatmulPreferenceSetAttribute, blas::Status(blas::Preference, int, const void *, size_t)) \
  F(getHeuristics, cublasLtMatmulAlgoGetHeuristic, blas::Status(blas::Handle, blas::Desc, blas::Layout, blas::Layout, blas::Layout, blas::Layout, blas::Preference, int, blas::Heuristic *, int *)) \
  F(checkAlgorithm, cublasLtMatmulAlgoCheck, blas::Status(blas::Handle, blas::Desc, blas::Layout, blas::Layout, blas::Layout, blas::Layout, const blas::Algorithm *, blas::Heuristic *)) \
  F(matmul, cublasLtMatmul, blas::Status(blas::Handle, blas::Desc, const void *, const void *, blas::Layout, const void *, blas::Layout, const void *, const void *, blas::Layout, void *, blas::Layout, const blas::Algorithm *, void *, size_t, blas::Stream))
// clang-format on

struct Blas {
  TPRT_BLAS_FUNCTIONS(TPRT_LIBRARY_MEMBER)

  absl::Status check(blas::Status result, absl::string_view what) const;
};

absl::StatusOr<const Blas *> openBlas();

} // namespace tprt

#endif // TPRT_CUDA_BLAS_H
