// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Combines the collectives of one block that do not depend on each other
/// into common launches.

#ifndef TPOPT_PASSES_COLLECTIVES_BLOCKCOMBINER_H
#define TPOPT_PASSES_COLLECTIVES_BLOCKCOMBINER_H

#include "tpopt/Sharding/Mesh.h"

#include "mlir/IR/Block.h"

namespace tp {

/// What may be in one launch.
struct LaunchRules {
  int64_t bucketBytes;
  bool mixed; ///< Sums may be launched with collectives that move data.
};

struct CombineResult {
  /// The block has changed, even if only in its order.
  bool isChanged = false;
  /// A launch sums, and moves data as well.
  bool isMixed = false;
  /// The number of collectives that share a launch with others.
  int64_t combined = 0;
};

CombineResult combineCollectives(mlir::Block &block, const Mesh &mesh,
                                 const LaunchRules &rules);

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_BLOCKCOMBINER_H
