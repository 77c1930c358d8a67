// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Products.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace emulation;

static constexpr int kProductPoison = 0xff;
static constexpr int64_t kPieceBytes = 16, kDepth = 16, kRows = 16, kLanes = 32;

float emulation::toFloat(uint32_t bits, Half half) {
  float value;
  if (half == Half::BF16) {
    bits <<= 16;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  int exponent = int(bits >> 10 & 31);
  auto fraction = float(bits & 1023);
  if (exponent == 31)
    value = fraction == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -value : value;
}

//===----------------------------------------------------------------------===//
// The view of memory
//===----------------------------------------------------------------------===//

ProductView::ProductView(int64_t maxBytes)
    : bytes(maxBytes), readers(maxBytes / kPieceBytes) {}

void ProductView::reset(const char *begin) {
  this->begin = begin;
  std::fill(bytes.begin(), bytes.end(), char(kProductPoison));
  std::fill(readers.begin(), readers.end(), 0);
}

absl::optional<std::string> ProductView::beginCopy(const void *to,
                                                   int64_t count) {
  int64_t offset = static_cast<const char *>(to) - begin;
  for (int64_t i = offset; i < offset + count; i += kPieceBytes)
    if (readers[i / kPieceBytes] > 0)
      return "copies to memory that a product under way reads";
  std::memset(bytes.data() + offset, kProductPoison, count);
  return absl::nullopt;
}

void ProductView::publish(const void *from, int64_t count) {
  int64_t offset = static_cast<const char *>(from) - begin;
  std::memcpy(bytes.data() + offset, from, count);
}

absl::optional<std::string>
ProductView::read(const Operand &operand, int64_t columns, float *values,
                  std::vector<int32_t> &pieces) const {
  // Places are in pieces of 16 bytes, of 14 bits. Rows have 128 bytes, and of
  // swizzles there is that of 128 bytes alone.
  constexpr uint64_t kMask = 0x3fff, kAddressMask = 0x3ffff;
  uint64_t descriptor = operand.descriptor;
  if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
    return "multiplies by a descriptor without the swizzle of 128 bytes";
  auto panelBytes = int64_t((descriptor >> 16 & kMask) * kPieceBytes);
  auto atomBytes = int64_t((descriptor >> 32 & kMask) * kPieceBytes);
  auto start = int64_t((descriptor & kMask) * kPieceBytes);
  // Eight elements that lie together, along the columns or along the depth.
  constexpr int64_t kTogether = 8;
  int64_t numRows = operand.byColumns ? kDepth : columns;
  int64_t rowLength = operand.byColumns ? columns : kDepth;
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t along = 0; along < rowLength; along += kTogether) {
      auto address = uint64_t(start + row / 8 * atomBytes + row % 8 * 128 +
                              along / 64 * panelBytes + along % 64 * 2);
      address ^= (address >> 7 & 7) << 4;
      auto offset = int64_t((address - reinterpret_cast<uintptr_t>(begin)) &
                            kAddressMask);
      if (offset + kPieceBytes > int64_t(bytes.size()))
        return "multiplies by a descriptor of what is no shared memory";
      pieces.push_back(int32_t(offset / kPieceBytes));
      for (int64_t i = 0; i < kTogether; ++i) {
        uint16_t bits;
        std::memcpy(&bits, bytes.data() + offset + 2 * i, sizeof(bits));
        int64_t column = operand.byColumns ? along + i : row;
        int64_t depth = operand.byColumns ? row : along + i;
        values[depth * columns + column] = toFloat(bits, operand.half);
      }
    }
  return absl::nullopt;
}

void ProductView::addReaders(const std::vector<int32_t> &pieces, int count) {
  for (int32_t piece : pieces)
    readers[piece] += count;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

// A ticket is a NaN that arithmetic does not give by itself, with 14 bits that
// say whose it is and 8 for the register.
static constexpr uint32_t kTicketBits = 0xffc00000;
static constexpr int32_t kMaxTickets = 1 << 14;

static int32_t makeTicket(int32_t number, int32_t index) {
  return int32_t(kTicketBits | uint32_t(number) << 8 | uint32_t(index));
}

/// The sums that the registers hold tickets of, or new ones.
WarpProducts::Sums &WarpProducts::findSums(const Product &product,
                                           const Lanes &lanes) {
  int32_t numSums = product.getNumSums();
  if (product.adds)
    for (Sums &one : sums) {
      bool isIt = one.values.size() == size_t(kLanes * numSums);
      for (const Lane &lane : lanes)
        for (int32_t i = 0; isIt && i < numSums; ++i)
          isIt = lane.sums[i] == makeTicket(one.ticket, i);
      if (isIt)
        return one;
    }
  Sums made;
  made.ticket = nextTicket;
  nextTicket = nextTicket % (kMaxTickets - 1) + 1;
  made.values.resize(kLanes * numSums);
  if (product.adds)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(made.values.data() + lane * numSums, lanes[lane].sums,
                  numSums * sizeof(float));
  // Few are under way at once; those behind have been read.
  if (sums.size() == 8)
    sums.erase(sums.begin());
  sums.push_back(std::move(made));
  return sums.back();
}

/// Multiplies 16 rows, of which a lane has two.
void WarpProducts::add(const Product &product, const float *a, const float *b,
                       Sums &into) {
  int32_t numSums = product.getNumSums();
  std::vector<float> row(product.columns);
  for (int64_t m = 0; m < kRows; ++m) {
    std::fill(row.begin(), row.end(), 0);
    for (int64_t k = 0; k < kDepth; ++k)
      for (int64_t n = 0; n < product.columns; ++n)
        row[n] += a[k * kRows + m] * b[k * product.columns + n];
    for (int64_t n = 0; n < product.columns; ++n) {
      int64_t lane = m % 8 * 4 + n % 8 / 2;
      into.values[lane * numSums + n / 8 * 4 + m / 8 * 2 + n % 2] += row[n];
    }
  }
}

absl::optional<std::string> WarpProducts::multiply(const Product &product,
                                                   int64_t warp,
                                                   const Lanes &lanes,
                                                   ProductView &view) {
  ++count;
  if (!isFenced)
    return "multiplies without a wgmma.fence behind its last wait";
  const Lane &first = lanes.front();
  for (const Lane &lane : lanes)
    if (lane.b != first.b || (!product.hasFragment && lane.a != first.a))
      return "multiplies by descriptors that differ among its lanes";
  Reads mine{group, {}};
  std::vector<float> a(kDepth * kRows), b(kDepth * product.columns);
  if (auto error = view.read({first.b, product.byColumnsB, product.half},
                             product.columns, b.data(), mine.pieces))
    return error;
  if (product.hasFragment) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t i = 0; i < 8; ++i) {
        auto word = uint32_t(lanes[lane].fragment[i / 2]);
        int64_t row = lane / 4 + i / 2 % 2 * 8;
        int64_t depth = lane % 4 * 2 + i / 4 * 8 + i % 2;
        a[depth * kRows + row] =
            toFloat(i % 2 ? word >> 16 : word & 0xffff, product.half);
      }
  } else {
    // Of the warpgroup's rows, this warp's.
    constexpr int64_t kGroupRows = 4 * kRows;
    std::vector<float> all(kDepth * kGroupRows);
    if (auto error = view.read({first.a, product.byColumnsA, product.half},
                               kGroupRows, all.data(), mine.pieces))
      return error;
    for (int64_t k = 0; k < kDepth; ++k)
      std::copy_n(&all[k * kGroupRows + warp * kRows], kRows, &a[k * kRows]);
  }
  Sums &into = findSums(product, lanes);
  into.group = group;
  add(product, a.data(), b.data(), into);
  for (const Lane &lane : lanes)
    for (int32_t i = 0; i < product.getNumSums(); ++i)
      lane.sums[i] = makeTicket(into.ticket, i);
  std::sort(mine.pieces.begin(), mine.pieces.end());
  mine.pieces.erase(std::unique(mine.pieces.begin(), mine.pieces.end()),
                    mine.pieces.end());
  view.addReaders(mine.pieces, 1);
  reads.push_back(std::move(mine));
  return absl::nullopt;
}

void WarpProducts::wait(int32_t pending, ProductView &view) {
  isFenced = false;
  numDone = std::max(numDone, group - pending);
  auto end = std::find_if(reads.begin(), reads.end(), [&](const Reads &one) {
    return one.group >= numDone;
  });
  for (auto it = reads.begin(); it != end; ++it)
    view.addReaders(it->pieces, -1);
  reads.erase(reads.begin(), end);
}

int32_t WarpProducts::resolve(int32_t word, int64_t lane) const {
  for (const Sums &one : sums) {
    int32_t numSums = int32_t(one.values.size()) / kLanes;
    int32_t index = word & 0xff;
    if (word != makeTicket(one.ticket, index) || index >= numSums ||
        one.group >= numDone)
      continue;
    int32_t value;
    std::memcpy(&value, &one.values[lane * numSums + index], sizeof(value));
    return value;
  }
  return word;
}
