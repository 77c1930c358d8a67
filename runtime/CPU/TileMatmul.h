// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Products of bf16 matrices with more than a few rows, on CPUs that
/// multiply bf16: [512, 576] x [576, 1536] of a prefill, and attention's.
///
/// B is packed into tiles, constant weights once. A is read in place where its
/// rows are contiguous along k and k is a multiple of a tile's depth; if not, a
/// part of A that fits the second-level cache is packed as well. oneDNN 2.6 has
/// no fast bf16 product for operands or results with strides, for batches that
/// share B, or for f32 results of a part of the columns.

#ifndef TPRT_CPU_TILEMATMUL_H
#define TPRT_CPU_TILEMATMUL_H

#include "runtime/CPU/Matmul.h"
#include "runtime/CPU/Team.h"
#include "runtime/CPU/TileKernels.h"
#include "runtime/Core/LargePages.h"

#include "absl/container/flat_hash_map.h"

#include <vector>

namespace tprt {

class TileMatmul {
public:
  explicit TileMatmul(Team &team);

  /// Returns true if TileMatmul is faster than oneDNN for a row of the Matmuls
  /// table.
  bool suits(const MatmulRow &row) const;

  /// Runs a row for which `suits` holds.
  absl::Status run(const Artifact &artifact, const MatmulRow &row,
                   const MatmulPointers &pointers);

  /// See MatmulEngine.
  void forgetWeights();
  uint64_t getPackedBytes() const { return packedBytes; }

private:
  absl::Status runWhole(const Artifact &artifact, const MatmulRow &row,
                        const MatmulPointers &pointers);

  /// B's tiles: [panel of 32 columns, step of 32 along k, 2 tiles] for each
  /// batch of B. Batches of C that read the same batch of B share its tiles.
  struct PackedWeight {
    MatmulRow row; ///< The one that B was packed for.
    char *tiles;
  };
  /// The working memory of one thread.
  struct Scratch {
    AlignedBuffer a;    ///< The tiles of `packedRows`.
    AlignedBuffer sums; ///< A block of C.
    std::vector<TilePostOp> postOps;
  };
  struct Product;

  absl::StatusOr<const char *> getPackedB(const MatmulRow &row, const char *b);
  void packB(const MatmulRow &row, const char *b, char *tiles);
  void packA(const Product &product, int64_t batch, int64_t begin, int64_t end,
             char *tiles);
  void computePart(const Product &product, int64_t batch, int64_t begin,
                   int64_t end, int64_t group, Scratch &scratch);
  void computeBlock(const Product &product, int64_t batch, int64_t firstRow,
                    int64_t rows, int64_t firstColumn, TileBlock &block,
                    Scratch &scratch);

  Team &team;
  const TileKernels *const kernels; ///< Null if the CPU has no bf16.
  /// Keyed by the original's address; a tied weight may be packed twice.
  absl::flat_hash_map<const char *, std::vector<PackedWeight>> packed;
  LargePages packedPages;
  uint64_t packedBytes = 0;
  AlignedBuffer variableB; ///< The tiles of a B that is not constant.
  std::vector<Scratch> scratches;
};

} // namespace tprt

#endif // TPRT_CPU_TILEMATMUL_H
