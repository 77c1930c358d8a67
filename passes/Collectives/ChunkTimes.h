// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The time of products that send some blocks while they multiply others.
///
/// A device computes one block after another; meanwhile its link transfers one
/// block after another. Times are in seconds. In this example with two devices,
/// it takes 2 us to multiply a block and 3 us to send it. A gather before the
/// products, and a scatter after them, take 5 us each. A dot is idle time:
///
///     gather    compute  [own 2] . [other 2]
///               link     [  3      ]
///     scatter   compute  [other 2][own 2] . +sum
///               link              [  3     ]

#ifndef TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H
#define TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H

#include <cstdint>

namespace tp {

struct ChunkProblem {
  int64_t places = 2;  ///< Devices along the axes, each with a block.
  int64_t pieces = 1;  ///< The number of pieces in which a block is sent.
  double product = 0;  ///< Time to multiply the device's own block.
  double piece = 0;    ///< Time to multiply one piece of another block.
  double start = 0;    ///< Time to start a transfer of any size.
  double transfer = 0; ///< Time to send one block, without the start.
  /// Time of other work between the op that makes the gathered tensor and the
  /// products, or between the product and the first use of the sum.
  double slack = 0;
  double sum = 0; ///< Time to add the addends of a block.
};

/// The time from the start of the first product to the end of the last.
double getGatherTime(const ChunkProblem &problem);

/// The time from the first product to the first use of the sum, less the slack.
double getScatterTime(const ChunkProblem &problem);

} // namespace tp

#endif // TPOPT_PASSES_COLLECTIVES_CHUNKTIMES_H
