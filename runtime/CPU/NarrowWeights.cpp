// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/NarrowWeights.h"

#include "runtime/CPU/SkinnyKernels.h"

#include <atomic>

using namespace tprt;

/// A thread looks this often whether another one has found a wide number.
static constexpr int64_t kChunk = 1 << 12;

/// Returns the number of elements of B, or 0 if there are gaps between them.
static int64_t countDense(const MatmulRow &row) {
  const int64_t sizes[] = {row.batch[0], row.batch[1], row.batch[2], row.k,
                           row.n};
  int64_t elements = 1, last = 0;
  for (size_t i = 0; i < std::size(sizes); ++i) {
    int64_t stride = row.b.strides[i];
    elements *= stride == 0 ? 1 : sizes[i];
    last += (sizes[i] - 1) * stride;
  }
  return elements == last + 1 ? elements : 0;
}

const char *NarrowWeights::find(const MatmulRow &row, const char *b) {
  if (!row.constantB || row.b.dtype != DType::F32)
    return nullptr;
  int64_t elements = countDense(row);
  if (elements == 0)
    return nullptr;
  auto [found, isNew] = weights.try_emplace({b, elements});
  Weight &weight = found->second;
  if (isNew)
    return nullptr;
  if (weight.isFirstUse) {
    weight.isFirstUse = false;
    weight.copy = makeCopy(reinterpret_cast<const float *>(b), elements);
  }
  return weight.copy;
}

char *NarrowWeights::makeCopy(const float *b, int64_t elements) {
  // The beginning says of most wide weights that they are wide.
  if (!narrow(b, std::min<int64_t>(elements, 1024), nullptr) ||
      !narrow(b, elements, nullptr))
    return nullptr;
  uint64_t size = static_cast<uint64_t>(elements) * sizeof(uint16_t);
  absl::StatusOr<char *> copy = pages.allocate(size);
  if (!copy.ok())
    return nullptr;
  narrow(b, elements, reinterpret_cast<uint16_t *>(*copy));
  bytes += size;
  return *copy;
}

bool NarrowWeights::narrow(const float *b, int64_t elements, uint16_t *to) {
  std::atomic<bool> isExact{true};
  team.run([&](int part, int parts) {
    auto [begin, end] = Team::split(elements, part, parts);
    uint16_t unused[kChunk];
    for (int64_t i = begin; i < end && isExact; i += kChunk)
      if (!kernels.narrowExactly(b + i, to ? to + i : unused,
                                 std::min(kChunk, end - i)))
        isExact = false;
  });
  return isExact;
}

void NarrowWeights::forget() {
  weights.clear();
  pages.clear();
  bytes = 0;
}
