// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the ranges of bytes that overlap a given range, and determines
/// whether strided bytes reach into a range.

#ifndef TPRT_CORE_RANGEINDEX_H
#define TPRT_CORE_RANGEINDEX_H

#include "runtime/Core/ArtifactFormat.h"

#include "absl/container/btree_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

#include <array>
#include <tuple>

namespace tprt {

/// Ranges of bytes in several memories, searched by overlap. Ranges are grouped
/// by the power of two below their length, and then ordered by where they
/// begin. So a search visits few ranges that end too early: at most two for
/// each power if ranges are disjoint.
class RangeIndex {
public:
  struct Memory {
    Space space;
    uint32_t index;
  };

  /// The range must not be empty: begin < end. `erase` with the same arguments
  /// removes it.
  void insert(Memory memory, int64_t begin, int64_t end, uint32_t id);
  void erase(Memory memory, int64_t begin, int64_t end, uint32_t id);

  /// Calls `visit(id)` for every range that overlaps [begin, end), and possibly
  /// for others, until `visit` returns true.
  template <typename Visit>
  void find(Memory memory, int64_t begin, int64_t end, Visit visit) const {
    for (unsigned power = 0; power < kPowers; ++power) {
      if (counts[power] == 0)
        continue;
      for (auto it = ranges.lower_bound(
               {memory.space, memory.index, power,
                begin - static_cast<int64_t>((uint64_t{2} << power) - 1), 0});
           it != ranges.end() && it->isBefore(memory, power, end); ++it)
        if (visit(it->id))
          return;
    }
  }

private:
  static constexpr unsigned kPowers = 63;

  struct Entry {
    Space space;
    uint32_t index;
    unsigned power;
    int64_t begin;
    uint32_t id;

    bool isBefore(Memory memory, unsigned ofPower, int64_t end) const {
      return space == memory.space && index == memory.index &&
             power == ofPower && begin < end;
    }
    friend bool operator<(const Entry &a, const Entry &b) {
      return std::tie(a.space, a.index, a.power, a.begin, a.id) <
             std::tie(b.space, b.index, b.power, b.begin, b.id);
    }
  };

  absl::btree_set<Entry> ranges;
  std::array<size_t, kPowers> counts = {};
};

/// The bytes at `offset` + sum i*strides + j, for all i below the sizes and j
/// below the size of an element. Uses wide numbers, so that sums of
/// individually checked values do not overflow.
class StridedBytes {
public:
  __extension__ using Wide = __int128;

  explicit StridedBytes(int64_t elementSize) : elementSize(elementSize) {}

  /// Adds a dimension of `size` >= 0; the stride may be negative.
  void add(int64_t size, Wide stride);
  void move(Wide by) { offset += by; }

  /// Returns true if any of these bytes is in [0, length). Also returns true,
  /// without knowing, if the strides interleave in more than kMostTries ways.
  bool reach(Wide length) const;

private:
  struct Dim {
    Wide stride;
    int64_t size;
  };
  static constexpr int kMostTries = 1000;

  static bool search(absl::Span<const Dim> dims, Wide rest, Wide first,
                     Wide last, int &budget);

  Wide elementSize;
  Wide offset = 0;
  bool isEmpty = false;
  absl::InlinedVector<Dim, kMaxDims + 2> dims;
};

} // namespace tprt

#endif // TPRT_CORE_RANGEINDEX_H
