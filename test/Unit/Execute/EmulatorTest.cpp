// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the emulator promises of kernels that are right, and says of others.

#include "test/Emulation/Emulator.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

using namespace emulation;

static float *getShared(int64_t floats) {
  return static_cast<float *>(
      tpEmulatedSharedMemory(floats * int64_t(sizeof(float))));
}

/// Reverses 256 numbers of each block, through what the block shares.
static int32_t reverse(void *const *operands, const int64_t *, int64_t block,
                       int64_t thread) {
  float *shared = getShared(256), *data = static_cast<float *>(operands[0]);
  shared[thread] = data[block * 256 + thread];
  tpEmulatedBarrier();
  data[block * 256 + thread] = shared[255 - thread];
  return 0;
}

static std::vector<float> getNumbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = float(i);
  return numbers;
}

// A barrier holds the threads of a block, in either order, and several threads
// of the process may launch at once.
TEST(Emulator, BarriersAndSharedMemory) {
  auto check = [](Order order) {
    std::vector<float> numbers = getNumbers(1024);
    void *operands[] = {numbers.data()};
    absl::Status status = launch(reverse, operands, nullptr, {4, 256}, order);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i], float(i / 256 * 256 + 255 - i % 256));
  };
  std::thread other([&] {
    for (int i = 0; i < 20; ++i)
      check(Order::Descending);
  });
  for (int i = 0; i < 20; ++i)
    check(Order::Ascending);
  other.join();
}

/// Appends the number of the block to a list that begins with its length.
static int32_t listBlock(void *const *operands, const int64_t *, int64_t block,
                         int64_t thread) {
  auto *list = static_cast<int64_t *>(operands[0]);
  if (thread == 0)
    list[++list[0]] = block;
  return 0;
}

// Every order has all blocks, and no two orders are the same.
TEST(Emulator, OrdersOfBlocks) {
  std::vector<std::vector<int64_t>> lists;
  for (Order order : kOrders) {
    std::vector<int64_t> list(17);
    void *operands[] = {list.data()};
    ASSERT_TRUE(launch(listBlock, operands, nullptr, {16, 32}, order).ok());
    for (const std::vector<int64_t> &other : lists)
      EXPECT_NE(list, other);
    lists.push_back(list);
    std::sort(list.begin() + 1, list.end());
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(list[i + 1], i);
  }
  EXPECT_TRUE(std::is_sorted(lists[0].begin() + 1, lists[0].end()));
  EXPECT_TRUE(std::is_sorted(lists[1].rbegin(), lists[1].rend() - 1));
}

/// `reverse` of one block, without a barrier.
static int32_t race(void *const *operands, const int64_t *, int64_t,
                    int64_t thread) {
  float *shared = getShared(256), *data = static_cast<float *>(operands[0]);
  shared[thread] = 1;
  data[thread] = shared[255 - thread];
  return 0;
}

// What reads memory too early reads what is not a number.
TEST(Emulator, ForgottenBarriersShow) {
  for (Order order : {Order::Ascending, Order::Descending}) {
    std::vector<float> numbers(256);
    void *operands[] = {numbers.data()};
    ASSERT_TRUE(launch(race, operands, nullptr, {1, 256}, order).ok());
    EXPECT_TRUE(std::isnan(numbers[0]) || std::isnan(numbers[255]));
  }
}

/// A copy that is read before (scalar 0) or after it has been waited for.
static int32_t copyAcross(void *const *operands, const int64_t *scalars,
                          int64_t, int64_t thread) {
  float *shared = getShared(4 * 32), *data = static_cast<float *>(operands[0]);
  tpEmulatedCopyAsync(shared + 4 * thread, data + 4 * thread, 16, 12);
  tpEmulatedCommitCopies();
  tpEmulatedCommitCopies(); // an empty group
  tpEmulatedWaitForCopies(scalars[0] ? 1 : 2);
  tpEmulatedBarrier();
  for (int64_t i = 0; i < 4; ++i)
    data[4 * (31 - thread) + i] = shared[4 * (31 - thread) + i];
  return 0;
}

// A copy arrives when its group is waited for, with zeros behind what it takes;
// until then there is nothing.
TEST(Emulator, CopiesArriveWhenWaitedFor) {
  for (int64_t waits : {0, 1}) {
    std::vector<float> numbers(128, 5);
    void *operands[] = {numbers.data()};
    ASSERT_TRUE(launch(copyAcross, operands, &waits, {1, 32}).ok());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (waits)
        EXPECT_EQ(numbers[i], i % 4 == 3 ? 0 : 5);
      else
        EXPECT_TRUE(std::isnan(numbers[i]));
    }
  }
}

/// Matrices A [16, 16], B [16, 8] and C [16, 8] as a kernel holds them: A and
/// B come through shared memory, B transposed on the way.
static int32_t multiply(void *const *operands, const int64_t *scalars, int64_t,
                        int64_t lane) {
  auto *shared = static_cast<uint16_t *>(tpEmulatedSharedMemory(768));
  std::memcpy(shared + lane * 8, static_cast<char *>(operands[0]) + lane * 16,
              16);
  if (lane < 16)
    std::memcpy(shared + 256 + lane * 8,
                static_cast<char *>(operands[1]) + lane * 16, 16);
  tpEmulatedBarrier();
  int32_t words[10];
  tpEmulatedLoadMatrices(shared + lane % 16 * 16 + lane / 16 * 8, words, 4, 0);
  tpEmulatedLoadMatrices(shared + 256 + lane % 16 * 8, words + 4, 2, 1);
  auto *c = static_cast<float *>(operands[2]);
  auto at = [&](int i) -> float & {
    return c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
  };
  for (int i = 0; i < 4; ++i)
    std::memcpy(words + 6 + i, &at(i), 4);
  tpEmulatedMultiplyMatrices(words, int32_t(scalars[0]));
  for (int i = 0; i < 4; ++i)
    std::memcpy(&at(i), words + 6 + i, 4);
  return 0;
}

// Fragments that are loaded as the PTX manual says give the product.
TEST(Emulator, ProductsOfMatrices) {
  for (Half half : {Half::F16, Half::BF16}) {
    // Small integers have their bits in the upper part of both formats.
    auto toBits = [&](int value) {
      float number = float(value);
      uint32_t bits;
      std::memcpy(&bits, &number, 4);
      if (half == Half::BF16 || value == 0)
        return uint16_t(bits >> 16);
      return uint16_t((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
                      (bits >> 13 & 1023));
    };
    int a[16][16], b[16][8];
    uint16_t aBits[16][16], bBits[16][8];
    float c[16][8];
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j)
        aBits[i][j] = toBits(a[i][j] = (i * 5 + j * 3) % 11 - 5);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        bBits[i][j] = toBits(b[i][j] = (i * 7 + j * 2) % 13 - 6);
        c[i][j] = float(i - j);
      }
    void *operands[] = {aBits, bBits, c};
    int64_t scalar = int64_t(half);
    absl::Status status = launch(multiply, operands, &scalar, {1, 32});
    ASSERT_TRUE(status.ok()) << status;
    // Rows of 32 bytes have their halves in the same banks; rows of 16 do not.
    EXPECT_EQ(getNumBankConflicts(), 4);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        int sum = i - j;
        for (int k = 0; k < 16; ++k)
          sum += a[i][k] * b[k][j];
        EXPECT_EQ(c[i][j], float(sum)) << i << " " << j;
      }
  }
}

// A lane gets the word of the lane that differs by the bits of the distance.
TEST(Emulator, Shuffles) {
  std::vector<int32_t> words(64);
  void *operands[] = {words.data()};
  emulation::Kernel kernel = [](void *const *operands, const int64_t *, int64_t,
                                int64_t thread) {
    static_cast<int32_t *>(operands[0])[thread] =
        tpEmulatedShuffle(int32_t(thread), 5);
    return 0;
  };
  ASSERT_TRUE(launch(kernel, operands, nullptr, {1, 64}).ok());
  for (int32_t i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], i ^ 5);
}

/// What a kernel must not do, by number.
static int32_t misbehave(void *const *, const int64_t *scalars, int64_t,
                         int64_t thread) {
  float *shared = getShared(16);
  switch (scalars[0]) {
  case 0:
    if (thread != 5)
      tpEmulatedBarrier();
    break;
  case 1:
    if (thread < 40)
      tpEmulatedShuffle(1, 1);
    break;
  case 2:
    if (thread % 2)
      tpEmulatedShuffle(1, 1);
    else
      tpEmulatedLoadMatrices(shared, nullptr, 1, 0);
    break;
  case 3:
    shared[16 + 4] = 1; // behind the 16 declared and the 4 of the launch
    break;
  case 4:
    tpEmulatedSharedMemory(300 << 10);
    break;
  }
  return 0;
}

// Waiting for what never comes, a warp at two places, and too much memory are
// errors that say where.
TEST(Emulator, Misbehaviour) {
  const char *const reasons[] = {
      "in block 0, thread 0 waits at a barrier and thread 5 has ended",
      "in block 0, thread 32 waits for its warp and thread 0 has ended",
      "in block 0, thread 1 is at a shuffle and others of its warp at ldmatrix",
      "block 0 writes 0 bytes behind the 80 that it shares",
      "a block shares 307216 bytes, more than the 232448 that there are"};
  for (auto &reason : reasons) {
    int64_t scalar = &reason - reasons;
    absl::Status status =
        launch(misbehave, nullptr, &scalar, {2, 64, /*sharedBytes=*/16});
    EXPECT_EQ(status.message(), reason);
  }
  int64_t scalar = 9;
  EXPECT_TRUE(launch(misbehave, nullptr, &scalar, {2, 64}).ok());
  EXPECT_EQ(launch(misbehave, nullptr, &scalar, {2, 63}).message(),
            "a block has whole warps and at most 1024 threads, not 63");
}

// A file that has no kernels is told from one that has.
TEST(Emulator, Libraries) {
  EXPECT_EQ(KernelLibrary::open("/no/such/file").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(KernelLibrary::open("libm.so.6").status().code(),
            absl::StatusCode::kInvalidArgument);
}

//===----------------------------------------------------------------------===//
// Products of warpgroups
//===----------------------------------------------------------------------===//

/// Rows of 64 elements of 16 bits, which a product of depth 16 has by one of
/// their quarters if they lie along the depth.
static constexpr int64_t kRowBytes = 128, kAtomBytes = 1024;

/// Begins to copy this thread's rows of [rows, 64] to a swizzled panel.
static void copyPanel(char *panel, const char *from, int64_t rows,
                      int64_t thread) {
  for (int64_t row = thread; row < rows; row += 128)
    for (int64_t piece = 0; piece < 8; ++piece)
      tpEmulatedCopyAsync(panel + row * kRowBytes + (piece ^ row % 8) * 16,
                          from + row * kRowBytes + piece * 16, 16, 16);
  tpEmulatedCommitCopies();
}

static int64_t getDescriptor(const char *place) {
  auto address = int64_t(reinterpret_cast<uintptr_t>(place) & 0x3ffff);
  return address >> 4 | kAtomBytes >> 4 << 32 | int64_t(1) << 62;
}

static constexpr int32_t kBF16 = int32_t(ProductFlag::BF16);
static constexpr int32_t kAdds = int32_t(ProductFlag::Adds);
static constexpr int32_t kHasFragment = int32_t(ProductFlag::HasFragment);
static constexpr int32_t kByColumnsB = int32_t(ProductFlag::ByColumnsB);

/// X Y^T and (X Y^T) Z for X [64, 64], Y [16, 64] and Z [16, 64], of bf16. What
/// is left out on the way is the scalar.
enum Omission : int64_t {
  Nothing,
  FenceProxy,
  Barrier,
  Fence,
  Wait,
  LastWait,
  LateCopy,
};
static int32_t multiplyTwice(void *const *operands, const int64_t *scalars,
                             int64_t, int64_t thread) {
  char *shared = static_cast<char *>(tpEmulatedSharedMemory(3 * 8192));
  char *x = shared, *y = shared + 8192, *z = shared + 2 * 8192;
  int64_t omission = scalars[0];
  copyPanel(x, static_cast<const char *>(operands[0]), 64, thread);
  copyPanel(y, static_cast<const char *>(operands[1]), 16, thread);
  copyPanel(z, static_cast<const char *>(operands[2]), 16, thread);
  tpEmulatedWaitForCopies(0);
  if (omission != FenceProxy)
    tpEmulatedFenceProxy();
  if (omission != Barrier)
    tpEmulatedBarrier();
  if (omission != Fence)
    tpEmulatedFenceProducts();
  int32_t scores[8], sums[32] = {};
  for (int64_t k = 0; k < 4; ++k)
    tpEmulatedMultiplyWarpgroup(scores, nullptr, getDescriptor(x + 32 * k),
                                getDescriptor(y + 32 * k), 16,
                                kBF16 | (k ? kAdds : 0));
  tpEmulatedCommitProducts();
  if (omission == LateCopy)
    copyPanel(y, static_cast<const char *>(operands[1]), 16, thread);
  tpEmulatedWaitForProducts(scores, 8, omission == Wait ? 1 : 0);
  int32_t fragment[4];
  for (int i = 0; i < 4; ++i) // columns 2 j, 2 j + 1, of both halves
    fragment[i] = int32_t(uint32_t(scores[2 * i]) >> 16 |
                          (uint32_t(scores[2 * i + 1]) & 0xffff0000));
  tpEmulatedFenceProducts();
  tpEmulatedMultiplyWarpgroup(sums, fragment, 0, getDescriptor(z), 64,
                              kBF16 | kAdds | kHasFragment | kByColumnsB);
  tpEmulatedCommitProducts();
  if (omission != LastWait)
    tpEmulatedWaitForProducts(sums, 32, 0);
  auto *result = static_cast<float *>(operands[3]);
  for (int64_t i = 0; i < 32; ++i) {
    int64_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
    std::memcpy(&result[row * 64 + i / 4 * 8 + thread % 4 * 2 + i % 2],
                &sums[i], 4);
  }
  return 0;
}

/// Runs it on small integers, whose products and sums are exact.
static absl::Status runTwice(int64_t omission, bool &isRight,
                             int64_t threads = 128) {
  auto toBits = [](int value) {
    auto number = float(value);
    uint32_t bits;
    std::memcpy(&bits, &number, 4);
    return uint16_t(bits >> 16);
  };
  std::vector<uint16_t> x(64 * 64), y(16 * 64), z(16 * 64);
  auto getX = [](int i, int k) { return (i + 3 * k) % 8 == 0 ? 1 : 0; };
  auto getY = [](int j, int k) { return (j * 5 + k) % 3 - 1; };
  auto getZ = [](int j, int n) { return (j * 7 + n * 2) % 13 - 6; };
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < 64; ++k)
      x[i * 64 + k] = toBits(getX(i, k));
  for (int j = 0; j < 16; ++j)
    for (int k = 0; k < 64; ++k) {
      y[j * 64 + k] = toBits(getY(j, k));
      z[j * 64 + k] = toBits(getZ(j, k));
    }
  std::vector<float> result(64 * 64);
  void *operands[] = {x.data(), y.data(), z.data(), result.data()};
  // The first warps, whose copies all others multiply, come last.
  absl::Status status = launch(multiplyTwice, operands, &omission, {1, threads},
                               Order::Descending);
  isRight = true;
  for (int i = 0; i < 64; ++i)
    for (int n = 0; n < 64; ++n) {
      int sum = 0;
      for (int j = 0; j < 16; ++j) {
        int score = 0;
        for (int k = 0; k < 64; ++k)
          score += getX(i, k) * getY(j, k);
        sum += score * getZ(j, n);
      }
      isRight &= result[i * 64 + n] == float(sum);
    }
  return status;
}

// Operands in shared memory by rows or by columns, and in registers, give the
// product; what is left out shows.
TEST(Emulator, WarpgroupProducts) {
  bool isRight;
  absl::Status status = runTwice(Nothing, isRight);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(isRight);
  for (int64_t omission : {FenceProxy, Barrier, Wait}) {
    runTwice(omission, isRight).IgnoreError();
    EXPECT_FALSE(isRight) << omission;
  }
  auto says = [&](absl::string_view end, int64_t omission,
                  int64_t threads = 128) {
    absl::Status status = runTwice(omission, isRight, threads);
    return absl::EndsWith(status.message(), end);
  };
  EXPECT_TRUE(
      says("multiplies without a wgmma.fence behind its last wait", Fence));
  EXPECT_TRUE(says("ends before its products do", LastWait));
  EXPECT_TRUE(
      says("copies to memory that a product under way reads", LateCopy));
  EXPECT_TRUE(says("does not multiply together", Nothing, 96));
}
