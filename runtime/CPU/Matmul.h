// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Matmuls through oneDNN, with their epilogues as post-ops and constant
/// weights repacked once into the layout that oneDNN computes fastest with (7x
/// in decode, where a matmul is limited by reading the weight).

#ifndef TPRT_CPU_MATMUL_H
#define TPRT_CPU_MATMUL_H

#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/Artifact.h"

#include "absl/types/span.h"

#include <memory>

namespace tprt {

class Team;

/// Where the operands of a call lie; post-ops in order, null if they have none.
struct MatmulPointers {
  const char *a, *b;
  char *c;
  absl::Span<const char *const> postOps;
};

/// The matmuls of one rank. Primitives are made when a row is first run.
/// Products with few rows do without oneDNN, see SkinnyMatmul.
class MatmulEngine {
public:
  MatmulEngine(const Artifact &artifact, const Team &team);
  ~MatmulEngine();

  /// Runs a row of the Matmuls table on the team.
  absl::Status run(uint32_t row, const MatmulPointers &pointers);

  /// Drops the repacked weights, as their originals have changed.
  void forgetWeights();

  /// Bytes of repacked weights, beside the originals.
  uint64_t getPackedBytes() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tprt

#endif // TPRT_CPU_MATMUL_H
