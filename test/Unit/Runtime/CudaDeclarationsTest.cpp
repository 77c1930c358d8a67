// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Our declarations of NVIDIA's functions against NVIDIA's own, where these are
// installed.

#include "runtime/CUDA/Blas.h"
#include "runtime/CUDA/Driver.h"
#include "runtime/CUDA/Nccl.h"
#include "runtime/CUDA/ProfilerRange.h"

#include "gtest/gtest.h"

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <type_traits>

namespace {

/// How a value is passed: pointers alike, enumerations as their integers, and
/// structs by their size.
template <typename T> constexpr int getPassing() {
  constexpr int size = sizeof(std::conditional_t<std::is_void_v<T>, char, T>);
  if constexpr (std::is_pointer_v<T>)
    return 1000;
  else if constexpr (std::is_floating_point_v<T>)
    return 2000 + size;
  else if constexpr (std::is_class_v<T>)
    return 3000 + size;
  else
    return size;
}

template <typename... T> struct Types {};

template <typename... A, typename... B>
constexpr bool haveSamePassing(Types<A...>, Types<B...>) {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return ((getPassing<A>() == getPassing<B>()) && ...);
}

template <typename R, typename... A>
constexpr Types<R, A...> getTypes(R (*)(A...)) {
  return {};
}

/// Every function is called as NVIDIA declares it.
#define CHECK_FUNCTION(name, symbol, ...)                                      \
  static_assert(                                                               \
      haveSamePassing(                                                         \
          decltype(getTypes(static_cast<Library::name##Type *>(nullptr))){},   \
          decltype(getTypes(&symbol)){}),                                      \
      "the type of " #symbol);

namespace driver {
using Library = tprt::Driver;
TPRT_DRIVER_FUNCTIONS(CHECK_FUNCTION)
} // namespace driver
namespace blas {
using Library = tprt::Blas;
TPRT_BLAS_FUNCTIONS(CHECK_FUNCTION)
} // namespace blas
namespace nccl {
using Library = tprt::Nccl;
TPRT_NCCL_FUNCTIONS(CHECK_FUNCTION)
TPRT_NCCL_OPTIONAL_FUNCTIONS(CHECK_FUNCTION)
} // namespace nccl

#define CHECK_VALUE(ours, theirs)                                              \
  static_assert(static_cast<long>(tprt::ours) == static_cast<long>(theirs))

CHECK_VALUE(cuda::kSuccess, CUDA_SUCCESS);
CHECK_VALUE(cuda::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
CHECK_VALUE(cuda::kNotReady, CUDA_ERROR_NOT_READY);
CHECK_VALUE(cuda::kCacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
CHECK_VALUE(cuda::kMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
CHECK_VALUE(cuda::kMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
CHECK_VALUE(cuda::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
CHECK_VALUE(cuda::kEventDefault, CU_EVENT_DEFAULT);
CHECK_VALUE(cuda::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
CHECK_VALUE(cuda::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
CHECK_VALUE(cuda::kUseNodePriority,
            CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
CHECK_VALUE(cuda::kMaxDynamicShared,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

CHECK_VALUE(blas::kSuccess, CUBLAS_STATUS_SUCCESS);
CHECK_VALUE(blas::kF32, CUDA_R_32F);
CHECK_VALUE(blas::kF16, CUDA_R_16F);
CHECK_VALUE(blas::kBF16, CUDA_R_16BF);
CHECK_VALUE(blas::kF8E4M3, CUDA_R_8F_E4M3);
CHECK_VALUE(blas::kCompute32F, CUBLAS_COMPUTE_32F);
CHECK_VALUE(blas::kComputeTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
CHECK_VALUE(blas::kTranspose, CUBLAS_OP_T);
CHECK_VALUE(blas::kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
CHECK_VALUE(blas::kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
CHECK_VALUE(blas::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
CHECK_VALUE(blas::kBias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
CHECK_VALUE(blas::kBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
CHECK_VALUE(blas::kBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
CHECK_VALUE(blas::kEpilogueNone, CUBLASLT_EPILOGUE_DEFAULT);
CHECK_VALUE(blas::kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
CHECK_VALUE(blas::kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
CHECK_VALUE(blas::kEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
CHECK_VALUE(blas::kEpilogueRelu | tprt::blas::kEpilogueBias,
            CUBLASLT_EPILOGUE_RELU_BIAS);
CHECK_VALUE(blas::kEpilogueGelu | tprt::blas::kEpilogueBias,
            CUBLASLT_EPILOGUE_GELU_BIAS);
CHECK_VALUE(blas::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
CHECK_VALUE(blas::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
CHECK_VALUE(blas::kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
CHECK_VALUE(blas::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
CHECK_VALUE(blas::kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
CHECK_VALUE(blas::kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
CHECK_VALUE(blas::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(tprt::blas::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(tprt::blas::Heuristic) ==
              sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(tprt::blas::Heuristic, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

CHECK_VALUE(nccl::kSuccess, ncclSuccess);
CHECK_VALUE(nccl::kRemoteError, ncclRemoteError);
CHECK_VALUE(nccl::kInProgress, ncclInProgress);
CHECK_VALUE(nccl::kInt8, ncclInt8);
CHECK_VALUE(nccl::kUint8, ncclUint8);
CHECK_VALUE(nccl::kInt32, ncclInt32);
CHECK_VALUE(nccl::kUint32, ncclUint32);
CHECK_VALUE(nccl::kInt64, ncclInt64);
CHECK_VALUE(nccl::kUint64, ncclUint64);
CHECK_VALUE(nccl::kFloat16, ncclFloat16);
CHECK_VALUE(nccl::kFloat32, ncclFloat32);
CHECK_VALUE(nccl::kFloat64, ncclFloat64);
CHECK_VALUE(nccl::kBfloat16, ncclBfloat16);
CHECK_VALUE(nccl::kSum, ncclSum);
CHECK_VALUE(nccl::kMax, ncclMax);
CHECK_VALUE(nccl::kMin, ncclMin);
CHECK_VALUE(nccl::kWindowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
static_assert(sizeof(tprt::nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(tprt::nccl::Config) <= sizeof(ncclConfig_t));

namespace ranges {
using namespace tprt::nvtx;
static_assert(kCallbacks == NVTX_ETID_CALLBACKS &&
                  kCore == NVTX_CB_MODULE_CORE &&
                  kPush == NVTX_CBID_CORE_RangePushA &&
                  kPop == NVTX_CBID_CORE_RangePop &&
                  kNumCore >= NVTX_CBID_CORE_SIZE,
              "the numbers of NVTX");
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks) &&
                  offsetof(Callbacks, getFunctions) ==
                      offsetof(NvtxExportTableCallbacks,
                               GetModuleFunctionTable),
              "the table of NVTX");
} // namespace ranges

/// The configuration of 2.18 is how that of any later version begins.
TEST(CudaDeclarations, ConfigurationBeginsAsNcclsOwn) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  tprt::nccl::Config ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
#define CHECK_FIELD(mine, their)                                               \
  EXPECT_EQ(offsetof(tprt::nccl::Config, mine), offsetof(ncclConfig_t, their))
  CHECK_FIELD(magic, magic);
  CHECK_FIELD(version, version);
  CHECK_FIELD(blocking, blocking);
  CHECK_FIELD(clusterSize, cgaClusterSize);
  CHECK_FIELD(minBlocks, minCTAs);
  CHECK_FIELD(maxBlocks, maxCTAs);
  CHECK_FIELD(netName, netName);
  CHECK_FIELD(splitShare, splitShare);
}

} // namespace
