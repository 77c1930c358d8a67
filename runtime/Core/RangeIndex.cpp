// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RangeIndex.h"

#include <algorithm>

using namespace tprt;

/// Returns p such that 2^p <= length < 2^(p+1).
static unsigned getPower(int64_t length) {
  return 63 - __builtin_clzll(static_cast<uint64_t>(length));
}

void RangeIndex::insert(Memory memory, int64_t begin, int64_t end,
                        uint32_t id) {
  unsigned power = getPower(end - begin);
  ranges.insert({memory.space, memory.index, power, begin, id});
  ++counts[power];
}

void RangeIndex::erase(Memory memory, int64_t begin, int64_t end, uint32_t id) {
  unsigned power = getPower(end - begin);
  ranges.erase({memory.space, memory.index, power, begin, id});
  --counts[power];
}

void StridedBytes::add(int64_t size, Wide stride) {
  if (size == 0)
    isEmpty = true;
  if (size <= 1 || stride == 0)
    return;
  if (stride < 0) {
    offset += stride * (size - 1);
    stride = -stride;
  }
  dims.push_back({stride, size});
}

/// Returns true if a sum of index * stride over the dimensions can be in first
/// .. last. Each index is below the size of its dimension; `rest` is the
/// largest possible sum. Several indices of a dimension are tried only if the
/// smaller strides together reach further than that dimension's stride. Also
/// returns true if there are more tries than `budget`.
bool StridedBytes::search(absl::Span<const Dim> dims, Wide rest, Wide first,
                          Wide last, int &budget) {
  if (first <= 0)
    return last >= 0;
  if (dims.empty() || first > rest)
    return false;
  if (--budget < 0)
    return true;
  auto [stride, size] = dims.back();
  rest -= stride * (size - 1);
  Wide highest = std::min<Wide>(size - 1, last / stride);
  if (highest * stride >= first)
    return true;
  Wide lowest = first <= rest ? 0 : (first - rest + stride - 1) / stride;
  for (Wide index = highest; index >= lowest; --index)
    if (search(dims.subspan(0, dims.size() - 1), rest, first - index * stride,
               last - index * stride, budget))
      return true;
  return false;
}

bool StridedBytes::reach(Wide length) const {
  if (isEmpty || length <= 0)
    return false;
  auto sorted = dims;
  std::sort(sorted.begin(), sorted.end(),
            [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  // Dimensions without gaps form one run of bytes.
  Wide run = elementSize;
  size_t numDense = 0;
  for (; numDense < sorted.size() && sorted[numDense].stride <= run; ++numDense)
    run += sorted[numDense].stride * (sorted[numDense].size - 1);
  auto outer = absl::MakeConstSpan(sorted).subspan(numDense);
  Wide rest = 0;
  for (const Dim &dim : outer)
    rest += dim.stride * (dim.size - 1);
  // A run of bytes that begins at `offset` + n overlaps [0, length) if n is in
  // first .. last.
  Wide first = 1 - run - offset, last = length - 1 - offset;
  int budget = kMostTries;
  return search(outer, rest, first, last, budget);
}
