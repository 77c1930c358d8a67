// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Halo.h"

#include <limits>
#include <map>

using namespace tp;

std::optional<Window> tp::getWindow(BlockLayout from, BlockLayout to,
                                    const Piece &piece, size_t most) {
  bool isWhole = from.k == 1;
  int64_t block = from.block();
  std::map<int64_t, BlockRows> needs; // by distance
  // The first and the last place whose block has a part of the piece.
  int64_t first = piece.at / to.block();
  int64_t last = (piece.at + piece.size - 1) / to.block();
  for (int64_t place = first; place <= last; ++place) {
    int64_t shift = piece.start - piece.at;
    int64_t begin = std::max(piece.at, to.begin(place)) + shift;
    int64_t end = std::min(piece.at + piece.size, to.begin(place + 1)) + shift;
    for (int64_t sender = begin / block; sender * block < end; ++sender) {
      int64_t origin = sender * block;
      BlockRows &rows = needs[isWhole ? 0 : sender - place];
      rows = rows.hull({std::max(begin, origin) - origin,
                        std::min(end, origin + block) - origin});
      if (needs.size() > most)
        return std::nullopt;
    }
  }

  Window window;
  window.lowest = needs.begin()->first;
  int64_t highest = needs.rbegin()->first;
  if (highest - window.lowest >= int64_t(most))
    return std::nullopt;
  window.rows.resize(highest - window.lowest + 1);
  for (auto &[distance, rows] : needs)
    window.rows[distance - window.lowest] = rows;

  // Where a device's block starts in the strip.
  window.offset = piece.start - piece.at - window.rows.front().begin -
                  (isWhole ? 0 : window.lowest * block);
  window.step = to.block() - (isWhole ? 0 : block);
  if (first == last) {
    window.offset += first * window.step;
    window.step = 0;
  }
  int64_t least =
      window.offset + window.step * (window.step < 0 ? last : first);
  int64_t greatest =
      window.offset + window.step * (window.step < 0 ? first : last);
  int64_t strip = (window.rows.size() - 1) * block + window.rows.back().end -
                  window.rows.front().begin;
  window.lead = std::max<int64_t>(0, -least);
  window.tail = std::max<int64_t>(0, greatest + to.block() - strip);
  window.offset += window.lead;
  return window;
}
