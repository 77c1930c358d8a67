// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The peak memory of tensors with given lifetimes, and the sizes of buffers.

#include "lib/Cost/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace tp;
using namespace tp::cost;

Peak tp::cost::getPeak(llvm::ArrayRef<Lifetime> lifetimes) {
  // The changes of the held bytes at each point. Storage is freed after the
  // last point of its lifetime.
  std::map<unsigned, std::pair<int64_t, int64_t>> changes;
  for (const Lifetime &lifetime : lifetimes) {
    auto &born = changes[lifetime.begin];
    born.first += lifetime.bytes;
    born.second += lifetime.padding;
    auto &gone = changes[lifetime.end + 1];
    gone.first -= lifetime.bytes;
    gone.second -= lifetime.padding;
  }
  Peak peak;
  int64_t bytes = 0, padding = 0;
  for (auto &[point, change] : changes) {
    bytes += change.first;
    padding += change.second;
    if (bytes > peak.bytes)
      peak = {bytes, padding, point};
  }
  return peak;
}

static int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t volume = 1;
  for (int64_t size : shape)
    volume *= size;
  return volume;
}

int64_t tp::cost::getBufferElements(const TensorSharding &sharding,
                                    llvm::ArrayRef<int64_t> shape) {
  return countElements(getLocalShape(sharding, shape));
}

int64_t tp::cost::getPaddingElements(const TensorSharding &sharding,
                                     llvm::ArrayRef<int64_t> shape) {
  // Later blocks along a dimension are not larger, and no axis shards two
  // dimensions. So the device that is last in all dimensions holds the least.
  int64_t held = 1;
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, shape)) {
    int64_t devices = getSize(dim.axes);
    held *= BlockLayout{size, devices}.valid(devices - 1);
  }
  return getBufferElements(sharding, shape) - held;
}
