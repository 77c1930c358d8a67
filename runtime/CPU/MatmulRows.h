// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How rows of the Matmuls table are read (offsets, strides, post-ops),
/// and how far they are cut.

#ifndef TPRT_CPU_MATMULROWS_H
#define TPRT_CPU_MATMULROWS_H

#include "runtime/CPU/Activations.h"
#include "runtime/Core/ArtifactFormat.h"

#include <optional>

namespace tprt {

/// Each thread gets at least this many parts of a product if there are enough
/// rows. Many small parts can be divided more evenly among threads.
inline constexpr int64_t kMinPartsPerThread = 4;
/// Below this many multiplications, a second thread costs more than it saves.
inline constexpr int64_t kMinParallelWork = 1 << 18;

/// Returns the number of elements from the first batch to batch `batch`.
inline int64_t getOffset(const MatmulRow &row, const MatmulOperand &operand,
                         int64_t batch) {
  int64_t offset = 0;
  for (unsigned i = kMaxBatch; i-- > 0; batch /= row.batch[i])
    offset += batch % row.batch[i] * operand.strides[i];
  return offset;
}

inline int64_t getRowStride(const MatmulOperand &operand) {
  return operand.strides[kMaxBatch];
}
inline int64_t getColumnStride(const MatmulOperand &operand) {
  return operand.strides[kMaxBatch + 1];
}

/// Returns the activation that a post-op applies, or nothing if the post-op
/// adds or multiplies.
inline std::optional<Activation> getActivation(PostOpKind kind) {
  switch (kind) {
  case PostOpKind::Add:
  case PostOpKind::Multiply:
  case PostOpKind::Accumulate:
    return std::nullopt;
  case PostOpKind::Relu:
    return Activation::Relu;
  case PostOpKind::GeluErf:
    return Activation::GeluErf;
  case PostOpKind::GeluTanh:
    return Activation::GeluTanh;
  case PostOpKind::Silu:
    return Activation::Silu;
  }
  return std::nullopt;
}

inline int64_t divideUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit;
}

} // namespace tprt

#endif // TPRT_CPU_MATMULROWS_H
