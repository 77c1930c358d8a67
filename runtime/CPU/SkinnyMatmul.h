// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Products with few rows, as in decoding: [1, 576] x [576, 1536].
///
/// Such a product takes as long as reading B. So B is read once, in its own
/// layout: strided keys and values of a cache are as fast as dense ones, and
/// the only weights with a second copy are those that it makes half as long
/// (NarrowWeights). oneDNN 2.6 reaches half of the memory bandwidth with 1 row
/// and an eighth with 8.

#ifndef TPRT_CPU_SKINNYMATMUL_H
#define TPRT_CPU_SKINNYMATMUL_H

#include "runtime/CPU/Matmul.h"
#include "runtime/CPU/NarrowWeights.h"
#include "runtime/CPU/Team.h"

#include <vector>

namespace tprt {

class SkinnyMatmul {
public:
  explicit SkinnyMatmul(Team &team);

  /// Returns true if SkinnyMatmul is faster than oneDNN for a row of the
  /// Matmuls table.
  static bool suits(const MatmulRow &row);

  /// Computes a row of the Matmuls table for which `suits` returns true.
  void run(const Artifact &artifact, const MatmulRow &row,
           const MatmulPointers &pointers);

  /// See MatmulEngine.
  void forgetWeights() { narrowWeights.forget(); }
  uint64_t getPackedBytes() const { return narrowWeights.getBytes(); }

private:
  /// The working memory of one thread.
  struct Scratch {
    std::vector<float> sums, operand;
  };

  void pack(const MatmulRow &row, const char *a, bool isByColumns);
  void computeTile(const Artifact &artifact, const MatmulRow &row,
                   const MatmulPointers &pointers, DType bType, int64_t batch,
                   int64_t begin, int64_t end, bool isByColumns,
                   Scratch &scratch);

  Team &team;
  const struct SkinnyKernels &kernels;
  NarrowWeights narrowWeights;
  std::vector<float> packedA; ///< All batches, dense, in f32.
  std::vector<Scratch> scratches;
};

} // namespace tprt

#endif // TPRT_CPU_SKINNYMATMUL_H
