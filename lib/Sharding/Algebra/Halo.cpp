// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Halo.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace tp;

namespace {

/// A piece with a positive stride. It reads source rows [0, n), of which only
/// [validBegin, validEnd) are defined.
struct Forward {
  Piece piece;
  int64_t validBegin, validEnd;
};

/// A piece with a negative stride reads the reversed tensor forwards. The
/// reversed tensor is padded to whole blocks, so that its blocks are blocks of
/// the tensor.
Forward makeForward(const Blocks &from, const Piece &piece) {
  if (piece.stride > 0)
    return {piece, 0, from.n};
  int64_t padded = from.k * from.size;
  Piece forward = piece;
  forward.stride = -piece.stride;
  // Taps are in ascending order in the tensor, so the last tap becomes the
  // first one in the reversed tensor.
  forward.start =
      padded - 1 - (piece.start + (piece.taps - 1) * piece.dilation);
  return {forward, padded - from.n, padded};
}

/// The range of items of a piece whose result rows are in [begin, end).
BlockRows getItems(const Piece &piece, int64_t begin, int64_t end) {
  int64_t first = std::max<int64_t>(
      0, llvm::divideCeilSigned(begin - piece.at, piece.spread));
  int64_t last = std::min<int64_t>(
      piece.size, llvm::divideCeilSigned(end - piece.at, piece.spread));
  return {first, last};
}

/// The range from the first to the last row of `item` that is in [begin, end);
/// empty if no row is.
BlockRows clip(const Piece &piece, int64_t item, int64_t begin, int64_t end) {
  int64_t row = piece.start + item * piece.stride;
  int64_t first =
      std::max<int64_t>(0, llvm::divideCeilSigned(begin - row, piece.dilation));
  int64_t after = std::min<int64_t>(
      piece.taps, llvm::divideCeilSigned(end - row, piece.dilation));
  if (first >= after)
    return {};
  return {row + first * piece.dilation, row + (after - 1) * piece.dilation + 1};
}

/// The smallest range that contains all source rows in [begin, end) from which
/// the result rows `items` of the piece are computed.
BlockRows getHull(const Piece &piece, BlockRows items, int64_t begin,
                  int64_t end) {
  // The first item whose last source row is at `begin` or later, and the first
  // item whose first source row is at `end` or later.
  int64_t reach = (piece.taps - 1) * piece.dilation;
  int64_t first =
      std::max(items.begin, llvm::divideCeilSigned(begin - reach - piece.start,
                                                   piece.stride));
  int64_t last = std::min(
      items.end, llvm::divideCeilSigned(end - piece.start, piece.stride));
  // Items near either end may read no row in [begin, end), because dilated taps
  // can skip the interval.
  BlockRows low, high;
  for (int64_t item = first; item < last && low.empty(); ++item)
    low = clip(piece, item, begin, end);
  if (low.empty())
    return {};
  for (int64_t item = last - 1; item >= first && high.empty(); --item)
    high = clip(piece, item, begin, end);
  BlockRows hull = low.hull(high);
  // Taps skip rows. So an item after the first one may read a row closer to
  // `begin` than the first one does, and an item before the last one may read a
  // row closer to `end` than the last one does.
  for (int64_t i = 1; i < piece.dilation && first + i < last; ++i) {
    BlockRows a = clip(piece, first + i, begin, end);
    BlockRows b = clip(piece, last - 1 - i, begin, end);
    hull = hull.hull(a).hull(b);
  }
  return hull;
}

/// The rows that devices need from blocks at each distance (place of the sender
/// minus place of the receiver), and the first and the last device whose result
/// block contains a part of the piece.
struct Needs {
  std::map<int64_t, BlockRows> rows;
  std::optional<int64_t> first, last;
};

/// Returns nullopt if blocks at more than `most` distances are needed.
std::optional<Needs> getNeeds(const Blocks &from, const Blocks &to,
                              const Forward &forward, size_t most) {
  const Piece &piece = forward.piece;
  int64_t block = from.size, reach = (piece.taps - 1) * piece.dilation;
  Needs needs;
  for (int64_t place = piece.at / to.size;
       place <= (piece.getEnd() - 1) / to.size; ++place) {
    BlockRows items = getItems(piece, to.begin(place), to.begin(place + 1));
    if (items.empty())
      continue;
    needs.first = needs.first.value_or(place);
    needs.last = place;
    int64_t begin =
        std::max(forward.validBegin, piece.start + items.begin * piece.stride);
    int64_t end =
        std::min(forward.validEnd,
                 piece.start + (items.end - 1) * piece.stride + reach + 1);
    for (int64_t sender = begin / block; sender * block < end; ++sender) {
      int64_t origin = sender * block;
      BlockRows rows =
          getHull(piece, items, std::max(forward.validBegin, origin),
                  std::min(forward.validEnd, origin + block));
      if (rows.empty())
        continue;
      BlockRows &need = needs.rows[from.k == 1 ? 0 : sender - place];
      need = need.hull({rows.begin - origin, rows.end - origin});
      if (needs.rows.size() > most)
        return std::nullopt;
    }
  }
  return needs;
}

} // namespace

std::optional<Window> tp::getWindow(const Blocks &from, const Blocks &to,
                                    const Piece &wanted, size_t most) {
  const Forward forward = makeForward(from, wanted);
  const Piece &piece = forward.piece;
  std::optional<Needs> needs = getNeeds(from, to, forward, most);
  if (!needs || needs->rows.empty())
    return std::nullopt;

  Window window;
  window.mirrored = wanted.stride < 0;
  window.lowest = needs->rows.begin()->first;
  int64_t highest = needs->rows.rbegin()->first;
  if (highest - window.lowest >= int64_t(most))
    return std::nullopt;
  window.rows.resize(highest - window.lowest + 1);
  for (auto &[distance, rows] : needs->rows)
    window.rows[distance - window.lowest] = rows;

  // Where the device at `place` starts to read in the spread strip: the source
  // row of its first result row (extrapolated if the piece does not contain
  // this result row) minus the source row at which the strip starts.
  int64_t block = from.size, first = *needs->first, last = *needs->last;
  auto getStart = [&](int64_t place) {
    int64_t origin = (from.k == 1 ? 0 : (place + window.lowest) * block) +
                     window.rows.front().begin;
    return (piece.start - origin) * piece.spread +
           (place * to.size - piece.at) * piece.stride;
  };
  window.offset = getStart(0);
  window.step = getStart(1) - getStart(0);
  if (first == last) {
    window.offset = getStart(first);
    window.step = 0;
  }
  int64_t atFirst = window.offset + window.step * first;
  int64_t atLast = window.offset + window.step * last;
  int64_t least = std::min(atFirst, atLast);
  int64_t greatest = std::max(atFirst, atLast);
  int64_t strip = (window.rows.size() - 1) * block + window.rows.back().end -
                  window.rows.front().begin;
  // One past the last row that a device reads, in rows of the unspread strip.
  int64_t end = llvm::divideFloorSigned(greatest + (to.size - 1) * piece.stride,
                                        piece.spread) +
                (piece.taps - 1) * piece.dilation + 1;
  window.lead =
      std::max<int64_t>(0, -llvm::divideFloorSigned(least, piece.spread));
  window.tail = std::max<int64_t>(0, end - strip);
  window.offset += window.lead * piece.spread;
  return window;
}
