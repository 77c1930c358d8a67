// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reshapes between blocks of different sizes.
///
/// 576 features on 2 devices are 288 each; as 9 heads of 64 they are 5 heads
/// and 4, that is, 320 features and 256. No layout of the flat dimension has
/// such blocks, and none is needed: only the 32 features that differ are sent
/// when the reshape is localized.

#ifndef TPOPT_DIALECTS_TP_RESTACK_H
#define TPOPT_DIALECTS_TP_RESTACK_H

#include "lib/Sharding/Algebra/Halo.h"

namespace tp {

/// Dimensions [inputBegin, inputEnd) and [resultBegin, resultEnd) of a reshape
/// have the same elements. The first of them with a size above 1 is sharded
/// along `axes` on both sides, and all others are whole. In row-major order,
/// the elements are in blocks that differ between the two sides.
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

/// In the order of dimensions. All other dimensions of the reshape need no
/// communication.
llvm::SmallVector<Restack, 1> getRestacks(llvm::ArrayRef<int64_t> input,
                                          const TensorSharding &inputLayout,
                                          llvm::ArrayRef<int64_t> result,
                                          const TensorSharding &resultLayout);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_RESTACK_H
