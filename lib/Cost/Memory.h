// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How much memory values take on a device, and during which part of a
/// program.
///
/// A program is a sequence of points: one for each op, and another one for the
/// end of an op with regions. A value is held from the point that makes it to
/// the last one that reads it, both included, so that an op's operands and
/// results do not share storage:
///
///     point  0: a = ..        a
///            1: b = f(a)      a b        <- the peak
///            2: c = g(b)        b c
///            3: return c          c
///
/// The peak is an upper bound: values that stay in registers when elementwise
/// ops are fused are counted as if they were stored. A tensor of windows is a
/// view of its input and is counted as the padded input. A contraction copies
/// windows in blocks that fit the caches (`Target::getCacheBytes`); these
/// blocks are not counted.
///
/// **Padding** is the unused part of the buffer on the device that holds the
/// least of a tensor: 10 rows on 4 devices are 3, 3, 3, 1 in buffers of 3, so
/// the padding is two rows.

#ifndef TPOPT_COST_MEMORY_H
#define TPOPT_COST_MEMORY_H

#include "tpopt/Sharding/Sharding.h"

namespace tp::cost {

/// Storage that is held from one point of a program to another.
struct Lifetime {
  int64_t bytes = 0;
  int64_t padding = 0; ///< The part of these bytes that is padding.
  unsigned begin = 0;  ///< The first point.
  unsigned end = 0;    ///< The last point, at least `begin`.
};

/// The point at which the most bytes are held; the first one if there are
/// several.
struct Peak {
  int64_t bytes = 0;
  int64_t padding = 0;
  unsigned point = 0;
};

Peak getPeak(llvm::ArrayRef<Lifetime> lifetimes);

/// The number of elements in a device's buffer for a tensor of `shape`.
int64_t getBufferElements(const TensorSharding &sharding,
                          llvm::ArrayRef<int64_t> shape);

/// The number of padding elements in a device's buffer, for the device that
/// holds the fewest elements of the tensor.
int64_t getPaddingElements(const TensorSharding &sharding,
                           llvm::ArrayRef<int64_t> shape);

} // namespace tp::cost

#endif // TPOPT_COST_MEMORY_H
