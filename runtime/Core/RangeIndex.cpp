// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/RangeIndex.h"

#include <algorithm>

using namespace tprt;

/// p, where 2^p <= length < 2^(p+1).
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

bool StridedBytes::reach(Wide length) const {
  if (isEmpty || length <= 0)
    return false;
  auto sorted = dims;
  std::sort(sorted.begin(), sorted.end(),
            [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  // Runs of bytes without gaps, at multiples of strides that are each greater
  // than all that smaller ones reach.
  Wide run = elementSize, extent = elementSize;
  absl::InlinedVector<Dim, kMaxDims + 2> outer;
  for (const Dim &dim : sorted) {
    Wide added = dim.stride * (dim.size - 1);
    if (outer.empty() && dim.stride <= run) {
      run += added;
    } else if (dim.stride < extent) { // they interleave
      run = extent + added;
      outer.clear();
    } else {
      outer.push_back(dim);
    }
    extent += added;
  }

  // A run that begins at one of the places first .. last reaches there.
  Wide first = 1 - run - offset, last = length - 1 - offset;
  Wide rest = extent - run; // the last place there is
  for (size_t i = outer.size(); i-- > 0 && first > 0;) {
    auto [stride, size] = outer[i];
    rest -= stride * (size - 1);
    // The least multiple from which smaller strides may get there. From the
    // next one on, they need not help.
    Wide index = first <= rest ? 0 : (first - rest + stride - 1) / stride;
    if (index >= size)
      return false;
    if (index + 1 < size && (index + 1) * stride <= last &&
        (index + 1) * stride >= first)
      return true;
    first -= index * stride;
    last -= index * stride;
  }
  return first <= 0 && last >= 0;
}
