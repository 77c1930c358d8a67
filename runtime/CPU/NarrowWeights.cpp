// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/NarrowWeights.h"

#include "runtime/CPU/SkinnyKernels.h"

#include <atomic>

using namespace tprt;

/// A thread looks this often whether another one has found a wide number.
static constexpr int64_t kChunk = 1 << 14;

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
    makeCopy(reinterpret_cast<const float *>(b), elements, weight);
  }
  return weight.copy.size() > 0 ? weight.copy.data() : nullptr;
}

void NarrowWeights::makeCopy(const float *b, int64_t elements, Weight &weight) {
  // The first chunk says of most wide weights that they are wide.
  uint16_t first[1024];
  if (!kernels.narrowExactly(b, first, std::min<int64_t>(elements, 1024)))
    return;
  absl::StatusOr<AlignedBuffer> copy =
      AlignedBuffer::create(elements * sizeof(uint16_t), /*isZeroed=*/false);
  if (!copy.ok())
    return;
  auto *to = reinterpret_cast<uint16_t *>(copy->data());
  std::atomic<bool> isExact{true};
  team.run([&](int part, int parts) {
    auto [begin, end] = Team::split(elements, part, parts);
    for (int64_t i = begin; i < end && isExact; i += kChunk)
      if (!kernels.narrowExactly(b + i, to + i, std::min(kChunk, end - i)))
        isExact = false;
  });
  if (!isExact)
    return;
  bytes += copy->size();
  weight.copy = *std::move(copy);
}

void NarrowWeights::forget() {
  weights.clear();
  bytes = 0;
}
