// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matmuls through cuBLASLt, as the fake of it computes them.

#include "MatmulCases.h"

using namespace tprt;
using namespace tprt::test;

namespace {

/// What of kEpilogues cuBLASLt does not compute; the compiler makes kernels of
/// it.
bool isRefused(const PostOps &epilogue) {
  for (PostOpKind kind : epilogue.kinds)
    if (kind == PostOpKind::Multiply || kind == PostOpKind::GeluErf ||
        kind == PostOpKind::Silu)
      return true;
  return false;
}

void checkOnGpu(const Case &test, const PostOps &epilogue, DType dtype,
                DType cType) {
  SessionOptions options;
  options.backend = "cuda";
  bool refused = false;
  check(test, epilogue, dtype, cType, false, options, &refused);
  EXPECT_EQ(refused, isRefused(epilogue)) << test.name << epilogue.name;
}

/// Operands swapped and transposed, batches merged or called one by one.
TEST(CudaMatmul, EveryLayoutWithEveryEpilogue) {
  for (const Case &test : kCases)
    for (const PostOps &epilogue : kEpilogues)
      checkOnGpu(test, epilogue, DType::F32, DType::F32);
}

TEST(CudaMatmul, BFloat16) {
  for (const Case &test : kCases)
    for (DType cType : {DType::F32, DType::BF16})
      checkOnGpu(test, kEpilogues[3], DType::BF16, cType);
  for (const PostOps &epilogue : kEpilogues)
    checkOnGpu(kCases[0], epilogue, DType::BF16, DType::BF16);
}

/// A bias and a residual and an activation are one call; more are none.
TEST(CudaMatmul, EpiloguesThatCombine) {
  const Case &plain = kCases[0];
  checkOnGpu(plain, {"bias, relu", {PostOpKind::Add, PostOpKind::Relu}, {4}},
             DType::F32, DType::F32);
  checkOnGpu(plain,
             {"accumulate, bias, gelu",
              {PostOpKind::Accumulate, PostOpKind::Add, PostOpKind::GeluTanh},
              {4}},
             DType::F32, DType::F32);
  for (const PostOps &epilogue :
       {PostOps{"two biases", {PostOpKind::Add, PostOpKind::Add}, {4}},
        PostOps{"after relu", {PostOpKind::Relu, PostOpKind::Add}, {4}},
        PostOps{"strided", {PostOpKind::Add}, {3}}}) {
    SessionOptions options;
    options.backend = "cuda";
    bool refused = false;
    check(plain, epilogue, DType::F32, DType::F32, false, options, &refused);
    EXPECT_TRUE(refused) << epilogue.name;
  }
}

} // namespace
