// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matmuls through cuBLASLt, as the fake of it computes them.

#include "MatmulCases.h"

#include "runtime/CUDA/MatmulPlan.h"

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

void checkOnGpu(const MatmulCase &test, const PostOps &epilogue, DType dtype,
                DType cType) {
  SessionOptions options;
  options.backend = "cuda";
  bool refused = false;
  check(test, epilogue, dtype, cType, false, options, &refused);
  EXPECT_EQ(refused, isRefused(epilogue)) << test.name << epilogue.name;
}

/// Operands swapped and transposed, batches merged or called one by one.
TEST(CudaMatmul, EveryLayoutWithEveryEpilogue) {
  for (const MatmulCase &test : kCases)
    for (const PostOps &epilogue : kEpilogues)
      checkOnGpu(test, epilogue, DType::F32, DType::F32);
}

TEST(CudaMatmul, BFloat16) {
  for (const MatmulCase &test : kCases)
    for (DType cType : {DType::F32, DType::BF16})
      checkOnGpu(test, kEpilogues[3], DType::BF16, cType);
  for (const PostOps &epilogue : kEpilogues)
    checkOnGpu(kCases[0], epilogue, DType::BF16, DType::BF16);
}

/// A bias and a residual and an activation are one call; more are none.
TEST(CudaMatmul, EpiloguesThatCombine) {
  const MatmulCase &plain = kCases[0];
  checkOnGpu(plain, {"bias, relu", {PostOpKind::Add, PostOpKind::Relu}, {4}},
             DType::F32, DType::F32);
  checkOnGpu(plain,
             {"accumulate, bias, gelu",
              {PostOpKind::Accumulate, PostOpKind::Add, PostOpKind::GeluTanh},
              {4}},
             DType::F32, DType::F32);
  checkOnGpu(plain, {"bias at an odd place", {PostOpKind::Add}, {4}, 3},
             DType::F32, DType::F32);
  const MatmulCase batched{"batched", {3, 1, 1}, 5,         7,
                           9,         {0, 3, 4}, {0, 3, 4}, {0, 3, 4}};
  checkOnGpu(batched, {"bias of each", {PostOpKind::Add}, {0, 4}}, DType::F32,
             DType::F32);
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

/// 8-bit floats along k, in pieces of 16 bytes; any number of rows will do.
TEST(CudaMatmul, Float8) {
  const MatmulCase cases[] = {
      {"along k", {1, 1, 1}, 5, 32, 48, {3, 4}, {4, 3}, {3, 4}},
      {"one row", {1, 1, 1}, 1, 16, 16, {3, 4}, {4, 3}, {3, 4}},
      {"rows apart", {1, 1, 1}, 7, 16, 32, {3, 4}, {4, 3}, {3, 4}, 16},
      {"heads", {2, 3, 1}, 4, 16, 32, {0, 3, 1, 4}, {0, 1, 4, 3}, {0, 3, 1, 4}},
      {"B shared", {2, 3, 1}, 4, 16, 32, {0, 1, 3, 4}, {0, 4, 3}, {1, 0, 3, 4}},
  };
  const PostOps none = kEpilogues[0], bias = kEpilogues[1],
                residual = kEpilogues[3], accumulateRelu = kEpilogues[7],
                gelu = kEpilogues[8];
  const PostOps relu{"relu", {PostOpKind::Relu}, {}},
      biasRelu{"bias, relu", {PostOpKind::Add, PostOpKind::Relu}, {4}},
      oddBias{"bias at an odd place", {PostOpKind::Add}, {4}, 4},
      accumulate{"accumulate", {PostOpKind::Accumulate}, {}},
      accumulateBias{
          "accumulate, bias", {PostOpKind::Accumulate, PostOpKind::Add}, {4}};
  auto isRefused = [](const MatmulCase &test, const PostOps &epilogue,
                      DType cType) {
    SessionOptions options;
    options.backend = "cuda";
    bool refused = false;
    check(test, epilogue, DType::F8E4M3FN, cType, false, options, &refused);
    return refused;
  };
  for (const MatmulCase &test : cases)
    for (DType cType : {DType::F32, DType::BF16, DType::F16}) {
      for (const PostOps &epilogue : {none, residual, relu, accumulate})
        EXPECT_FALSE(isRefused(test, epilogue, cType));
      for (const PostOps &epilogue : {bias, biasRelu})
        EXPECT_EQ(isRefused(test, epilogue, cType), cType == DType::F32);
      for (const PostOps &epilogue :
           {oddBias, accumulateBias, accumulateRelu, gelu})
        EXPECT_TRUE(isRefused(test, epilogue, cType));
    }
}

/// Each thing that cuBLASLt wants of 8-bit floats, and does not get.
TEST(CudaMatmul, Float8ThatIsRefused) {
  auto artifact = Artifact::fromBytes(TestProgram().finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  MatmulRow right = {};
  std::fill_n(right.batch, kMaxBatch, 1);
  right.m = 3, right.n = 32, right.k = 48;
  right.a.dtype = right.b.dtype = DType::F8E4M3FN;
  right.c.dtype = DType::BF16;
  right.a.strides[kMaxBatch] = right.b.strides[kMaxBatch + 1] = 48;
  right.c.strides[kMaxBatch] = 32;
  right.a.strides[kMaxBatch + 1] = right.b.strides[kMaxBatch] =
      right.c.strides[kMaxBatch + 1] = 1;
  auto plan = planMatmul(**artifact, right);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->first.isTransposed);
  EXPECT_FALSE(plan->second.isTransposed);
  auto isRefused = [&](auto change) {
    MatmulRow row = right;
    change(row);
    return getErrorCode(planMatmul(**artifact, row).status()) ==
           ErrorCode::GpuStep;
  };
  EXPECT_FALSE(isRefused([](MatmulRow &row) { row.m = 1; }));
  // A or B the other way round.
  EXPECT_TRUE(isRefused([](MatmulRow &row) {
    row.a.strides[kMaxBatch] = 1;
    row.a.strides[kMaxBatch + 1] = 16;
  }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) {
    row.b.strides[kMaxBatch] = 32;
    row.b.strides[kMaxBatch + 1] = 1;
  }));
  // Sizes, and where rows, batches and buffers begin.
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.k = 40; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.n = 24; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.a.strides[kMaxBatch] = 56; }));
  EXPECT_TRUE(
      isRefused([](MatmulRow &row) { row.b.strides[kMaxBatch + 1] = 56; }));
  EXPECT_FALSE(
      isRefused([](MatmulRow &row) { row.c.strides[kMaxBatch] = 40; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.c.strides[kMaxBatch] = 36; }));
  EXPECT_FALSE(isRefused([](MatmulRow &row) { row.a.buffer.offset = 16; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.a.buffer.offset = 8; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.b.buffer.offset = 8; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) { row.c.buffer.offset = 8; }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) {
    row.b.buffer.counter = 0;
    row.b.buffer.step = 8;
  }));
  EXPECT_TRUE(isRefused([](MatmulRow &row) {
    row.batch[2] = 2;
    row.a.strides[2] = 152;
  }));
}

/// Algorithms of 8-bit floats are not those of others.
TEST(CudaMatmul, KeysTellTypesApart) {
  MatmulPlan plan = {};
  std::string wide = plan.getKey();
  plan.first.dtype = plan.second.dtype = DType::F8E4M3FN;
  EXPECT_NE(plan.getKey(), wide);
}

} // namespace
