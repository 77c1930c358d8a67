// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How long products take whose blocks travel while others are
/// multiplied.
///
/// A device computes one thing after the other, and its link carries one block
/// after the other, beside. Times are in seconds. Of two devices, products of
/// 2 us a block and blocks that travel 3 us:
///
///     gather    compute  [own 2] . [other 2]        5, in one piece
///               link     [  3      ]
///     scatter   compute  [other 2][own 2] . +sum    5, in one piece
///               link              [  3     ]

#ifndef TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H
#define TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H

#include <cstdint>

namespace tp {

struct ChunkProblem {
  int64_t places = 2;  ///< Devices along the axes, each with a block.
  int64_t pieces = 1;  ///< That a block travels in.
  double product = 0;  ///< What a device computes for its own block.
  double piece = 0;    ///< The same for one piece of another's.
  double start = 0;    ///< Of a transfer, whatever it carries.
  double transfer = 0; ///< Of one block, without its start.
  /// How much else is computed between the source of what is gathered and the
  /// products, or between the product and the first use of the sum.
  double slack = 0;
  double sum = 0; ///< Adding the addends of a block.
};

/// From the first product to the last.
double getGatherTime(const ChunkProblem &problem);

/// From the first product to where the sum is wanted, less the slack.
double getScatterTime(const ChunkProblem &problem);

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H
