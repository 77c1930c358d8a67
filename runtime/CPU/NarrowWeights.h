// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file bf16 copies of f32 weights that hold nothing but bf16 numbers, as the
/// weights of a bf16 checkpoint do when it runs in f32.
///
/// A product with few rows takes as long as reading its weight. The copy has
/// half the bytes, and widening it gives the same f32 numbers, so the product
/// takes half the time and no bit of the result changes.

#ifndef TPRT_CPU_NARROWWEIGHTS_H
#define TPRT_CPU_NARROWWEIGHTS_H

#include "runtime/CPU/Team.h"
#include "runtime/Core/ArtifactFormat.h"
#include "runtime/Core/LargePages.h"

#include "absl/container/flat_hash_map.h"

namespace tprt {

class NarrowWeights {
public:
  NarrowWeights(Team &team, const struct SkinnyKernels &kernels)
      : team(team), kernels(kernels) {}

  /// Returns the bf16 copy of operand B of `row`, in B's own layout, or null if
  /// B is to be read as it is: it is not a constant f32 weight, it has gaps, a
  /// number in it is not exact in bf16, there is no memory for a copy, or this
  /// is its first use. A training step changes its weights after one use, so a
  /// copy would cost more than it saves.
  const char *find(const MatmulRow &row, const char *b);

  /// Drops all copies because their originals have changed.
  void forget();

  /// Returns the bytes of all copies.
  uint64_t getBytes() const { return bytes; }

private:
  struct Weight {
    bool isFirstUse = true;
    char *copy = nullptr; ///< Null if the weight is read as it is.
  };

  /// Returns a copy, or null if not all numbers are exact in bf16.
  char *makeCopy(const float *b, int64_t elements);
  /// Narrows all numbers to `to`, or nowhere if that is null.
  bool narrow(const float *b, int64_t elements, uint16_t *to);

  Team &team;
  const SkinnyKernels &kernels;
  /// By address and number of elements.
  absl::flat_hash_map<std::pair<const char *, int64_t>, Weight> weights;
  LargePages pages; ///< Of the copies.
  uint64_t bytes = 0;
};

} // namespace tprt

#endif // TPRT_CPU_NARROWWEIGHTS_H
