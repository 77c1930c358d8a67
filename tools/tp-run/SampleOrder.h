// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which sample of a data set comes when.
///
/// A data set is gone through again and again, each time (an epoch) in another
/// order, in which every sample comes once. The order follows from the seed and
/// the number of the epoch alone, and any place of it is found in constant
/// time: no list is made, kept or sent.
///
/// The order is a Feistel network of eight rounds over as many bits as the
/// number of samples has, rounded up to an even number. Numbers that are no
/// sample are encrypted again until one is ("cycle walking"). Both are
/// permutations.

#ifndef TPRUN_SAMPLEORDER_H
#define TPRUN_SAMPLEORDER_H

#include <cstdint>

namespace tprun {

class SampleOrder {
public:
  /// `samples` is 1 or more, and at most 2^62.
  SampleOrder(uint64_t samples, uint64_t seed);

  /// The sample at a place, counted from 0 over all epochs: what is left of an
  /// epoch is followed by the next.
  uint64_t getSample(uint64_t place) const;

private:
  uint64_t encrypt(uint64_t value, uint64_t key) const;

  uint64_t samples, seed;
  unsigned halfBits = 1; ///< Of each half that the network exchanges.
};

} // namespace tprun

#endif // TPRUN_SAMPLEORDER_H
