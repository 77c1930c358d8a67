// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatmulCases.h"

using namespace tprt;
using namespace tprt::test;

namespace {

/// With few rows, and with so many that the matrix library computes.
std::vector<MatmulCase> getMatmulCases() {
  std::vector<MatmulCase> cases(std::begin(kCases), std::end(kCases));
  for (MatmulCase test : kCases) {
    test.m += 8;
    cases.push_back(test);
  }
  return cases;
}

/// The cases, each with so many more rows, columns and depth.
std::vector<MatmulCase> getLargerCases(int64_t m, int64_t n, int64_t k) {
  std::vector<MatmulCase> cases(std::begin(kCases), std::end(kCases));
  for (MatmulCase &test : cases)
    test.m += m, test.n += n, test.k += k;
  return cases;
}

TEST(Matmul, EveryLayoutWithEveryEpilogue) {
  for (const MatmulCase &test : getMatmulCases())
    for (const PostOps &epilogue : kEpilogues)
      for (bool constantB : {false, true})
        check(test, epilogue, DType::F32, DType::F32, constantB);
}

TEST(Matmul, EveryLayoutInBFloat16) {
  for (const MatmulCase &test : getMatmulCases())
    for (DType cType : {DType::F32, DType::BF16})
      for (bool constantB : {false, true})
        check(test, kEpilogues[3], DType::BF16, cType, constantB);
}

TEST(Matmul, EveryEpilogueInBFloat16) {
  for (int64_t m : {5, 13}) {
    MatmulCase test = kCases[0];
    test.m = m;
    for (const PostOps &epilogue : kEpilogues)
      check(test, epilogue, DType::BF16, DType::BF16, true);
  }
}

/// Every count of rows that has a kernel of its own, with columns and depths
/// around the widths of its tiles, computed by more threads than one.
TEST(Matmul, FewRowsOfEverySize) {
  SessionOptions options;
  options.threads = 3;
  for (int64_t m = 1; m <= 9; ++m)
    for (int64_t n : {1, 15, 16, 67, 1100})
      for (int64_t k : {1, 8, 33})
        for (const std::vector<int> &b :
             {std::vector<int>{3, 4}, std::vector<int>{4, 3}})
          for (DType dtype : {DType::F32, DType::BF16})
            check({"few rows", {1, 1, 1}, m, n, k, {3, 4}, b, {3, 4}},
                  kEpilogues[0], dtype, DType::F32, false, options);
}

/// Products of as many rows as tiles of bf16 have, and a few more or less, in
/// every layout, computed by more threads than one.
TEST(Matmul, TilesOfEverySize) {
  SessionOptions options;
  options.threads = 3;
  using Order = std::vector<int>;
  for (int64_t m : {9, 16, 17, 32, 48, 100})
    for (int64_t n : {1, 16, 33, 130})
      for (int64_t k : {1, 31, 32, 33, 64, 100})
        for (const Order &a : {Order{3, 4}, Order{4, 3}})
          for (const Order &b : {Order{3, 4}, Order{4, 3}})
            check({"tiles", {1, 1, 1}, m, n, k, a, b, {3, 4}, 3}, kEpilogues[0],
                  DType::BF16, DType::F32, m % 2, options);
}

TEST(Matmul, BatchesOfTiles) {
  SessionOptions options;
  options.threads = 3;
  for (const MatmulCase &test : getLargerCases(24, 36, 30)) {
    for (size_t epilogue : {0, 3, 4, 7})
      check(test, kEpilogues[epilogue], DType::BF16,
            epilogue % 2 ? DType::BF16 : DType::F32, false, options);
  }
}

/// Tiles of B that take more memory than is packed at once, with epilogues that
/// have a part for each piece: cut by batches, and by columns.
TEST(Matmul, TilesInPieces) {
  check({"batches", {2, 1, 1}, 9, 2100, 1100, {0, 3, 4}, {0, 3, 4}, {0, 3, 4}},
        kEpilogues[4], DType::BF16, DType::F32, false);
  check({"columns", {1, 1, 1}, 9, 4033, 1100, {3, 4}, {4, 3}, {3, 4}},
        kEpilogues[7], DType::BF16, DType::BF16, false);
}

/// Products that threads share are cut: by rows, where the last piece may have
/// fewer, by the columns of a weight, and by batches, of which a piece has one
/// or several.
TEST(Matmul, PiecesForThreads) {
  SessionOptions options;
  options.threads = 3;
  for (const MatmulCase &test : getLargerCases(100, 20, 10)) {
    for (size_t epilogue : {0, 3, 4, 7})
      check(test, kEpilogues[epilogue], DType::F32, DType::F32,
            epilogue % 2 == 0, options);
  }
  for (int64_t batch : {7, 24, 36})
    check(
        {"batches", {batch, 1, 1}, 9, 40, 33, {0, 3, 4}, {0, 4, 3}, {3, 0, 4}},
        kEpilogues[0], DType::F32, DType::F32, false, options);
  check({"columns", {1, 1, 1}, 70, 1536, 31, {3, 4}, {4, 3}, {3, 4}, 3},
        kEpilogues[4], DType::F32, DType::F32, true, options);
}

TEST(Matmul, BFloat16PiecesForThreads) {
  SessionOptions options;
  options.threads = 3;
  for (const MatmulCase &test : getLargerCases(100, 20, 10)) {
    for (size_t epilogue : {0, 3, 7})
      check(test, kEpilogues[epilogue], DType::BF16,
            epilogue ? DType::BF16 : DType::F32, epilogue == 3, options);
  }
}

/// A weight so wide that it is computed in pieces, with an epilogue that has a
/// part for each.
TEST(Matmul, WideWeight) {
  check({"wide", {1, 1, 1}, 10, 3 * 4096, 5, {3, 4}, {3, 4}, {3, 4}},
        kEpilogues[1], DType::F32, DType::F32, true);
}

} // namespace
