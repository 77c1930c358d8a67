// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Matmuls through oneDNN, with their epilogues as post-ops. Constant
/// weights are repacked once into the layout with which oneDNN is fastest.
/// Decode, where reading the weights limits a matmul, gets 7 times faster.

#ifndef TPRT_CPU_MATMUL_H
#define TPRT_CPU_MATMUL_H

#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Artifact.h"

#include "absl/types/span.h"

#include <memory>

namespace tprt {

class Team;

/// The addresses of a call's operands. The addresses of the post-ops' operands
/// are in the order of the post-ops; those of post-ops without an operand are
/// null.
struct MatmulPointers {
  const char *a, *b;
  char *c;
  absl::Span<const char *const> postOps;
};

/// The matmuls of one rank. Primitives are made when a row is first run.
/// Products with few rows, and most of bf16 on CPUs that multiply bf16, do not
/// use oneDNN; see SkinnyMatmul and TileMatmul.
class MatmulEngine {
public:
  MatmulEngine(const Artifact &artifact, Team &team);
  ~MatmulEngine();

  /// Runs a row of the Matmuls table on the threads of the team.
  absl::Status run(uint32_t row, const MatmulPointers &pointers);

  /// Drops the repacked weights because their originals have changed.
  void forgetWeights();

  /// Returns the bytes of repacked weights, not counting the originals.
  uint64_t getPackedBytes() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tprt

#endif // TPRT_CPU_MATMUL_H
