// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reshapes whose input and result are split into blocks of different
/// sizes.
///
/// Two devices hold 576 features, 288 each. A reshape to 9 heads of 64 features
/// gives them 5 and 4 heads, which are 320 and 256 features. A sharding of 576
/// features cannot describe such blocks, and it need not: when the reshape is
/// localized, only the 32 features are sent that move from one device to the
/// other.

#ifndef TPOPT_DIALECTS_TP_RESTACK_H
#define TPOPT_DIALECTS_TP_RESTACK_H

#include "lib/Sharding/Algebra/Halo.h"

namespace tp {

/// Dimensions [inputBegin, inputEnd) of a reshape's input become dimensions
/// [resultBegin, resultEnd) of its result. In both groups, only the first
/// dimension of size above 1 is sharded, along `axes`. The sizes of the blocks,
/// in elements of the group, differ between input and result.
struct Restack {
  AxisList axes;
  unsigned inputBegin, inputEnd;
  unsigned resultBegin, resultEnd;
  Blocks from, to;

  /// The rows that devices need from each other; nullopt if they come from too
  /// many devices.
  std::optional<Window> getWindow(size_t most) const {
    return tp::getWindow(from, to, {0, 0, from.n}, most);
  }
};

/// Returns the groups of dimensions whose blocks differ, in order. All other
/// dimensions of the reshape need no communication.
llvm::SmallVector<Restack, 1> getRestacks(llvm::ArrayRef<int64_t> input,
                                          const TensorSharding &inputLayout,
                                          llvm::ArrayRef<int64_t> result,
                                          const TensorSharding &resultLayout);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_RESTACK_H
