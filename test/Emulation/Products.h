// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Hopper's wgmma: products that are under way while threads go on.
///
/// The tensor core reads shared memory through a proxy of its own, the *view*:
/// what threads copy there is in it once they have waited for the copies and
/// said fence.proxy.async, and 0xff until then. Sums are in registers, which
/// hold a *ticket*, a NaN, from the product on until they go through a wait for
/// its group. So what is read too early is not a number.
///
/// Errors are sentences: a product without wgmma.fence behind the last wait, a
/// copy to what a product under way reads, a descriptor that means nothing.

#ifndef TPOPT_TEST_EMULATION_PRODUCTS_H
#define TPOPT_TEST_EMULATION_PRODUCTS_H

#include "absl/types/optional.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace emulation {

/// The 16-bit floats that matrices are of.
enum class Half : int32_t { F16, BF16 };

float toFloat(uint32_t bits, Half half);

/// What the PTX says of a product of 64 x 16 by 16 x `columns`.
struct Product {
  int32_t columns;
  Half half;
  bool adds;                   ///< To the sums, which begin at 0 else.
  bool hasFragment;            ///< A is in registers.
  bool byColumnsA, byColumnsB; ///< The rows of memory go along M or N.

  int32_t getNumSums() const { return columns / 2; }
};

/// What products see of a block's shared memory.
class ProductView {
public:
  explicit ProductView(int64_t maxBytes);
  /// For a block whose memory begins there.
  void reset(const char *begin);
  /// A copy to `bytes` bytes begins; an error, if a product reads there.
  absl::optional<std::string> beginCopy(const void *to, int64_t bytes);
  /// Bytes are as threads have written them.
  void publish(const void *from, int64_t bytes);

  struct Operand {
    uint64_t descriptor;
    bool byColumns;
    Half half;
  };
  /// An operand of so many columns (rows, of a left one), depth by depth, and
  /// the pieces of memory that it is in.
  absl::optional<std::string> read(const Operand &operand, int64_t columns,
                                   float *values,
                                   std::vector<int32_t> &pieces) const;
  /// Says that so many products more read pieces.
  void addReaders(const std::vector<int32_t> &pieces, int count);

private:
  const char *begin = nullptr;
  std::vector<char> bytes;
  std::vector<int> readers; ///< By pieces of 16 bytes.
};

/// The products of one warp: 16 rows of those of its warpgroup.
class WarpProducts {
public:
  /// What a lane gives: its registers, and descriptors if it has no fragment.
  struct Lane {
    int32_t *sums;
    const int32_t *fragment;
    uint64_t a, b;
  };
  using Lanes = std::array<Lane, 32>;

  void fence() { isFenced = true; }
  /// `warp` is the number in the warpgroup.
  absl::optional<std::string> multiply(const Product &product, int64_t warp,
                                       const Lanes &lanes, ProductView &view);
  void commit() { ++group; }
  /// Waits for all but the youngest groups.
  void wait(int32_t pending, ProductView &view);
  /// What a register of a lane holds, once it went through a wait.
  int32_t resolve(int32_t word, int64_t lane) const;

  int64_t getCount() const { return count; }
  bool areUnderWay() const { return !reads.empty(); }

private:
  /// The sums that a chain of products adds to.
  struct Sums {
    int32_t ticket = 0, group = 0;
    std::vector<float> values; ///< By lane and register.
  };
  struct Reads {
    int32_t group;
    std::vector<int32_t> pieces;
  };
  static void add(const Product &product, const float *a, const float *b,
                  Sums &into);
  Sums &findSums(const Product &product, const Lanes &lanes);

  bool isFenced = false;
  int64_t count = 0;
  int32_t group = 0, numDone = 0, nextTicket = 1;
  std::vector<Sums> sums;
  std::vector<Reads> reads; ///< Under way, the oldest first.
};

} // namespace emulation

#endif // TPOPT_TEST_EMULATION_PRODUCTS_H
