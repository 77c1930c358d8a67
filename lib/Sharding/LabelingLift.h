// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A labeling problem over classes of alike nodes.

#ifndef TPOPT_LIB_SHARDING_LABELINGLIFT_H
#define TPOPT_LIB_SHARDING_LABELINGLIFT_H

#include "tpopt/Sharding/Labeling.h"

#include <deque>

namespace tp {

struct Labeling::Lifted {
  /// Over the classes; its matrices are below.
  Labeling labeling;
  std::deque<CostMatrix> matrices;
  /// The class of each node, numbered as they occur.
  std::vector<unsigned> classOf;
};

} // namespace tp

#endif // TPOPT_LIB_SHARDING_LABELINGLIFT_H
