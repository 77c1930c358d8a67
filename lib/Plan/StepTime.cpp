// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepTime.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tp;
using namespace tp::plan;

/// The number of pieces of a transfer that a loop needs or makes.
static constexpr int kPieces = 8;

namespace {

/// A part of a transfer, which is needed or complete at one time.
struct Piece {
  double clock, seconds;
};

} // namespace

/// The pieces of all transfers in the order of their times. Each piece is at
/// the beginning of its share of the time, or at the end.
static std::vector<Piece> cut(llvm::ArrayRef<SlackTransfer> transfers,
                              bool atEnd) {
  std::vector<Piece> pieces;
  for (const SlackTransfer &transfer : transfers) {
    int count = transfer.begin == transfer.end ? 1 : kPieces;
    double length = (transfer.end - transfer.begin) / count;
    for (int i = 0; i < count; ++i)
      pieces.push_back({transfer.begin + (atEnd ? i + 1 : i) * length,
                        transfer.seconds / count});
  }
  llvm::sort(pieces, [](const Piece &a, const Piece &b) {
    return std::pair(a.clock, a.seconds) < std::pair(b.clock, b.seconds);
  });
  return pieces;
}

double tp::plan::getStepTime(double computing,
                             std::vector<SlackTransfer> gathers,
                             std::vector<SlackTransfer> sums) {
  std::vector<Piece> needed = cut(gathers, /*atEnd=*/false),
                     complete = cut(sums, /*atEnd=*/true);
  // `waited` is the time that the device has spent waiting so far, and `link`
  // the time at which the link is free. Neither is on the computing clock.
  double waited = 0, link = 0;
  llvm::SmallVector<Piece> waits;
  for (const Piece &piece : needed) {
    link += piece.seconds;
    waited = std::max(waited, link - piece.clock);
    waits.push_back({piece.clock, waited});
  }
  double time = computing + waited;
  const Piece *wait = waits.begin();
  double waitedBefore = 0;
  for (const Piece &piece : complete) {
    for (; wait != waits.end() && wait->clock < piece.clock; ++wait)
      waitedBefore = wait->seconds;
    link = std::max(link, piece.clock + waitedBefore) + piece.seconds;
  }
  return std::max(time, link);
}
