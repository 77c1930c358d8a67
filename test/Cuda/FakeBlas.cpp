// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libcublasLt.so.13 on the fake GPU: matmuls by plain loops. It is as strict as
// the real one about layouts, about addresses, which must be aligned as its
// heuristic was told they are, about workspaces and about 8-bit floats. Some of
// what its heuristic proposes cannot be taken, or fails when it is run, and the
// first is not the fastest.

#include "FakeGpu.h"

#include "runtime/CUDA/Blas.h"
#include "runtime/Core/DType.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <sstream>

using namespace fakegpu;
namespace blas = tprt::blas;
using blas::Status;

static constexpr Status kInvalidValue = 7, kExecutionFailed = 13,
                        kInternalError = 14, kNotSupported = 15;

struct blas::Context {};

struct blas::LayoutOpaque {
  int type;
  int64_t rows, columns, ld;
  int32_t batchCount = 1;
  int64_t batchStride = 0;
};

struct blas::DescOpaque {
  int compute;
  bool transA = false, transB = false;
  int32_t epilogue = blas::kEpilogueNone;
  int32_t biasType = blas::kF32;
  int64_t biasStride = 0;
  const void *bias = nullptr;
};

struct blas::PreferenceOpaque {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

/// What the bytes of an algorithm hold.
struct Algorithm {
  uint64_t magic;
  uint64_t number;
  uint32_t alignment[4]; ///< Of A, B, C, D.
  uint32_t biasAlignment;
};
constexpr uint64_t kMagic = 0xfa4eb1a5;

/// What the heuristic proposes, in its order.
struct Proposal {
  blas::Status state;  ///< As it is proposed.
  blas::Status result; ///< As it is run.
  size_t workspace;
  long microseconds; ///< More than any work takes.
};
constexpr Proposal kProposals[] = {
    {blas::kSuccess, blas::kSuccess, 0, 2},
    {kNotSupported, kNotSupported, 0, 0},
    {blas::kSuccess, kExecutionFailed, 0, 0},
    {blas::kSuccess, blas::kSuccess, 4096, 1},
    {blas::kSuccess, blas::kSuccess, 1 << 20, 3},
};
/// Of a workspace.
constexpr size_t kWorkspaceAlignment = 256;

} // namespace

static Status refuseMatmul(const std::string &what) {
  std::lock_guard<std::recursive_mutex> guard(getLock());
  refuse("cuBLASLt: " + what);
  return kInvalidValue;
}

static int64_t getSize(int type) {
  return type == blas::kF32 ? 4 : type == blas::kF8E4M3 ? 1 : 2;
}

static float load(const void *from, int type, int64_t at) {
  if (type == blas::kBF16)
    return static_cast<float>(static_cast<const tprt::BFloat16 *>(from)[at]);
  if (type == blas::kF16)
    return static_cast<float>(static_cast<const tprt::Float16 *>(from)[at]);
  if (type == blas::kF8E4M3)
    return static_cast<float>(
        static_cast<const tprt::Float8E4M3FN *>(from)[at]);
  return static_cast<const float *>(from)[at];
}

static void store(void *to, int type, int64_t at, float value) {
  if (type == blas::kBF16)
    static_cast<tprt::BFloat16 *>(to)[at] = tprt::BFloat16(value);
  else if (type == blas::kF16)
    static_cast<tprt::Float16 *>(to)[at] = tprt::Float16(value);
  else
    static_cast<float *>(to)[at] = value;
}

/// Of an address, up to what the library asks about.
static uint32_t getAlignment(const void *pointer) {
  auto bits = reinterpret_cast<uintptr_t>(pointer) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

/// Whether the memory of a matrix is there.
static bool isThere(const void *matrix, const blas::LayoutOpaque &layout) {
  int64_t last = (layout.columns - 1) * layout.ld + layout.rows +
                 (layout.batchCount - 1) * layout.batchStride;
  return !name(matrix, static_cast<size_t>(last * getSize(layout.type)))
              .empty();
}

/// Why there is no kernel for 8-bit floats; empty if there is one, or these are
/// others. Of what NVIDIA does not document, it has nothing.
static std::string findObstacle(const blas::DescOpaque &desc,
                                const blas::LayoutOpaque &A,
                                const blas::LayoutOpaque &B,
                                const blas::LayoutOpaque &C,
                                const blas::LayoutOpaque &D) {
  constexpr int64_t piece = 16;
  if (A.type != blas::kF8E4M3 && B.type != blas::kF8E4M3)
    return "";
  if (getNumber("TPRT_FAKE_CHIP", 120) < 89)
    return "8-bit floats on this GPU";
  if (A.type != B.type || C.type != D.type || D.type == blas::kF8E4M3)
    return "8-bit floats of other types";
  if (desc.compute != blas::kCompute32F)
    return "8-bit floats that are not computed in f32";
  if (!desc.transA || desc.transB)
    return "8-bit floats that are not TN";
  if (A.rows % piece != 0 || D.rows % piece != 0)
    return "8-bit floats of uneven sizes";
  for (const blas::LayoutOpaque *layout : {&A, &B, &C, &D})
    if (layout->ld * getSize(layout->type) % piece != 0 ||
        (layout->batchCount > 1 &&
         layout->batchStride * getSize(layout->type) % piece != 0))
      return "8-bit floats with columns that are not aligned";
  if (desc.epilogue & blas::kEpilogueGelu)
    return "8-bit floats with gelu";
  bool hasBias = desc.epilogue & blas::kEpilogueBias;
  if (hasBias && (desc.biasType == blas::kF32 || D.batchCount > 1))
    return "8-bit floats with a bias in f32, or in a batch";
  return "";
}

template <typename Value>
static Status read(Value &to, const void *from, size_t size) {
  if (size != sizeof(to))
    return refuseMatmul("an attribute of another size");
  std::memcpy(&to, from, size);
  return blas::kSuccess;
}

static float activate(int32_t epilogue, float x) {
  if (epilogue & blas::kEpilogueRelu)
    return x > 0 ? x : 0;
  if (epilogue & blas::kEpilogueGelu)
    return 0.5f * x *
           (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

/// What every call begins with that can fail, but for those that end something:
/// these may tell of an error of earlier work, and end it all the same.
#define FAIL_IF_TOLD()                                                         \
  if (fakegpu::failsNow(__func__))                                             \
    return kInternalError;

extern "C" {

const char *cublasLtGetStatusString(Status status) {
  return status == kNotSupported      ? "not supported"
         : status == kInternalError   ? "an internal error"
         : status == kExecutionFailed ? "the execution failed"
                                      : "invalid value";
}

size_t cublasLtGetVersion() { return 130100; }

Status cublasLtCreate(blas::Handle *handle) {
  FAIL_IF_TOLD()
  *handle = new blas::Context;
  return blas::kSuccess;
}

Status cublasLtDestroy(blas::Handle handle) {
  Status told = fakegpu::failsNow(__func__) ? kInternalError : blas::kSuccess;
  delete handle;
  return told;
}

Status cublasLtMatmulDescCreate(blas::Desc *desc, int compute, int scale) {
  FAIL_IF_TOLD()
  if (scale != blas::kF32)
    return refuseMatmul("factors that are not f32");
  *desc = new blas::DescOpaque{compute};
  return blas::kSuccess;
}

Status cublasLtMatmulDescDestroy(blas::Desc desc) {
  Status told = fakegpu::failsNow(__func__) ? kInternalError : blas::kSuccess;
  delete desc;
  return told;
}

Status cublasLtMatmulDescSetAttribute(blas::Desc desc, int attribute,
                                      const void *value, size_t size) {
  FAIL_IF_TOLD()
  int32_t number = 0;
  switch (attribute) {
  case blas::kTransA:
  case blas::kTransB: {
    Status status = read(number, value, size);
    (attribute == blas::kTransA ? desc->transA : desc->transB) =
        number == blas::kTranspose;
    return status;
  }
  case blas::kEpilogue:
    return read(desc->epilogue, value, size);
  case blas::kBias:
    return read(desc->bias, value, size);
  case blas::kBiasBatchStride:
    return read(desc->biasStride, value, size);
  case blas::kBiasType:
    return read(desc->biasType, value, size);
  default:
    return refuseMatmul("an unknown attribute of a matmul");
  }
}

Status cublasLtMatrixLayoutCreate(blas::Layout *layout, int type, uint64_t rows,
                                  uint64_t columns, int64_t ld) {
  FAIL_IF_TOLD()
  if (ld < static_cast<int64_t>(rows))
    return refuseMatmul("columns that overlap");
  *layout = new blas::LayoutOpaque{type, static_cast<int64_t>(rows),
                                   static_cast<int64_t>(columns), ld};
  return blas::kSuccess;
}

Status cublasLtMatrixLayoutDestroy(blas::Layout layout) {
  Status told = fakegpu::failsNow(__func__) ? kInternalError : blas::kSuccess;
  delete layout;
  return told;
}

Status cublasLtMatrixLayoutSetAttribute(blas::Layout layout, int attribute,
                                        const void *value, size_t size) {
  FAIL_IF_TOLD()
  if (attribute == blas::kBatchCount)
    return read(layout->batchCount, value, size);
  if (attribute == blas::kBatchStride)
    return read(layout->batchStride, value, size);
  return refuseMatmul("an unknown attribute of a layout");
}

Status cublasLtMatmulPreferenceCreate(blas::Preference *preference) {
  FAIL_IF_TOLD()
  *preference = new blas::PreferenceOpaque;
  return blas::kSuccess;
}

Status cublasLtMatmulPreferenceDestroy(blas::Preference preference) {
  Status told = fakegpu::failsNow(__func__) ? kInternalError : blas::kSuccess;
  delete preference;
  return told;
}

Status cublasLtMatmulPreferenceSetAttribute(blas::Preference preference,
                                            int attribute, const void *value,
                                            size_t size) {
  FAIL_IF_TOLD()
  if (attribute >= blas::kAlignmentA && attribute <= blas::kAlignmentD)
    return read(preference->alignment[attribute - blas::kAlignmentA], value,
                size);
  return attribute == blas::kMaxWorkspace
             ? read(preference->workspace, value, size)
             : refuseMatmul("an unknown preference");
}

Status cublasLtMatmulAlgoGetHeuristic(blas::Handle, blas::Desc desc,
                                      blas::Layout A, blas::Layout B,
                                      blas::Layout C, blas::Layout D,
                                      blas::Preference preference, int wanted,
                                      blas::Heuristic *results, int *count) {
  FAIL_IF_TOLD()
  *count = 0;
  if (desc->biasStride != 0 && !desc->bias)
    return refuseMatmul("a stride from bias to bias, and none");
  if (!findObstacle(*desc, *A, *B, *C, *D).empty())
    return kNotSupported;
  for (uint64_t i = 0; i < std::size(kProposals) && *count < wanted; ++i) {
    if (kProposals[i].workspace > preference->workspace)
      continue;
    Algorithm algorithm = {kMagic, i, {}, 0};
    algorithm.biasAlignment = getAlignment(desc->bias);
    std::memcpy(algorithm.alignment, preference->alignment,
                sizeof(algorithm.alignment));
    blas::Heuristic &result = results[(*count)++];
    result = {};
    std::memcpy(&result.algorithm, &algorithm, sizeof(algorithm));
    result.workspace = kProposals[i].workspace;
    result.state = kProposals[i].state;
  }
  return blas::kSuccess;
}

Status cublasLtMatmulAlgoCheck(blas::Handle, blas::Desc, blas::Layout,
                               blas::Layout, blas::Layout, blas::Layout,
                               const blas::Algorithm *algorithm,
                               blas::Heuristic *result) {
  FAIL_IF_TOLD()
  uint64_t number = algorithm->data[1];
  if (algorithm->data[0] != kMagic || number >= std::size(kProposals))
    return kNotSupported;
  result->workspace = kProposals[number].workspace;
  return kProposals[number].state;
}

Status cublasLtMatmul(blas::Handle, blas::Desc descPointer, const void *alpha,
                      const void *a, blas::Layout layoutA, const void *b,
                      blas::Layout layoutB, const void *betaPointer,
                      const void *c, blas::Layout layoutC, void *d,
                      blas::Layout layoutD, const blas::Algorithm *bytes,
                      void *workspace, size_t workspaceBytes,
                      blas::Stream stream) {
  FAIL_IF_TOLD()
  std::lock_guard<std::recursive_mutex> guard(getLock());
  blas::DescOpaque desc = *descPointer;
  blas::LayoutOpaque A = *layoutA, B = *layoutB, C = *layoutC, D = *layoutD;
  float beta;
  std::memcpy(&beta, betaPointer, sizeof(beta));
  Algorithm algorithm;
  std::memcpy(&algorithm, bytes, sizeof(algorithm));
  int64_t m = D.rows, n = D.columns, k = desc.transA ? A.rows : A.columns;
  if (algorithm.magic != kMagic || algorithm.number >= std::size(kProposals) ||
      kProposals[algorithm.number].state != blas::kSuccess)
    return refuseMatmul("an algorithm that was not proposed");
  Proposal proposal = kProposals[algorithm.number];
  if (proposal.result != blas::kSuccess)
    return proposal.result;
  if (workspaceBytes < proposal.workspace)
    return refuseMatmul("a workspace that is too small");
  if (workspaceBytes > 0 && name(workspace, workspaceBytes).empty())
    return refuseMatmul("a workspace that is not there");
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0)
    return refuseMatmul("a workspace that is not aligned");
  const void *places[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(places[i]) % algorithm.alignment[i] != 0)
      return refuseMatmul("operand " + std::to_string(i) +
                          " is not aligned as was said");
  if ((desc.transA ? A.columns : A.rows) != m ||
      (desc.transB ? B.columns : B.rows) != k ||
      (desc.transB ? B.rows : B.columns) != n || C.rows != m || C.columns != n)
    return refuseMatmul("shapes that do not fit");
  std::string obstacle = findObstacle(desc, A, B, C, D);
  if (!obstacle.empty())
    return refuseMatmul(obstacle);
  bool isFloat8 = A.type == blas::kF8E4M3;
  if (A.type != B.type || C.type != D.type ||
      (!isFloat8 && D.type != blas::kF32 && D.type != A.type) ||
      (desc.compute == blas::kComputeTF32 && A.type != blas::kF32))
    return refuseMatmul("types that do not fit");
  bool hasBias = desc.epilogue & blas::kEpilogueBias;
  if (hasBias && desc.biasType != D.type)
    return refuseMatmul("a bias of another type");
  const void *bias = hasBias ? desc.bias : nullptr;
  if (getAlignment(bias) < algorithm.biasAlignment)
    return refuseMatmul("a bias that is not aligned as was said");
  if (isFloat8) {
    for (const void *place : {a, b, c, static_cast<const void *>(d), bias})
      if (reinterpret_cast<uintptr_t>(place) % 16 != 0)
        return refuseMatmul("8-bit floats at an odd address");
    bool hasRelu = desc.epilogue & blas::kEpilogueRelu;
    if (beta != 0 && (hasBias || hasRelu))
      return refuseMatmul("8-bit floats with a residual and more");
  }
  if (!isThere(a, A) || !isThere(b, B) || !isThere(d, D) ||
      (beta != 0 && !isThere(c, C)) ||
      (hasBias &&
       name(desc.bias, static_cast<size_t>(m * getSize(D.type))).empty()))
    return refuseMatmul("an operand that is not there");
  std::ostringstream line;
  line << "matmul " << m << "x" << n << "x" << k << " batch " << D.batchCount
       << " epilogue " << desc.epilogue << " beta " << beta
       << (desc.compute == blas::kComputeTF32 ? " tf32 " : " ")
       << (isFloat8 ? "fp8 " : "") << name(a) << (desc.transA ? "' " : " ")
       << name(b) << (desc.transB ? "' " : " ");
  if (beta != 0)
    line << name(c) << " ";
  if (hasBias)
    line << name(desc.bias) << " ";
  line << "-> " << name(d) << " on " << name(stream) << " by "
       << algorithm.number;
  record(line.str());
  enqueue(stream, [=] {
    return [=] {
      spend(proposal.microseconds);
      std::memset(workspace, 0xff, proposal.workspace);
      for (int64_t batch = 0; batch < D.batchCount; ++batch)
        for (int64_t column = 0; column < n; ++column)
          for (int64_t row = 0; row < m; ++row) {
            float sum = 0;
            for (int64_t i = 0; i < k; ++i) {
              int64_t atA = desc.transA ? i + row * A.ld : row + i * A.ld;
              int64_t atB = desc.transB ? column + i * B.ld : i + column * B.ld;
              sum += load(a, A.type, batch * A.batchStride + atA) *
                     load(b, B.type, batch * B.batchStride + atB);
            }
            if (beta != 0)
              sum += beta * load(c, C.type,
                                 batch * C.batchStride + row + column * C.ld);
            if (hasBias)
              sum += load(desc.bias, D.type, batch * desc.biasStride + row);
            store(d, D.type, batch * D.batchStride + row + column * D.ld,
                  activate(desc.epilogue & ~blas::kEpilogueBias, sum));
          }
      return true;
    };
  });
  return blas::kSuccess;
}

} // extern "C"
