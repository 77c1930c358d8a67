// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The order in which the samples of a data set are used.
///
/// A data set is gone through again and again. Each pass (an epoch) has another
/// order, in which every sample comes once. The order depends only on the seed
/// and the number of the epoch, and any place in it is computed in constant
/// time: no list is made, kept or sent.
///
/// The order is a Feistel network of eight rounds over as many bits as the
/// number of samples has, rounded up to an even number. A result that is not a
/// sample is encrypted again until it is one ("cycle walking"). Both are
/// permutations.

#ifndef TPRUN_SAMPLEORDER_H
#define TPRUN_SAMPLEORDER_H

#include <cstdint>

namespace tprun {

class SampleOrder {
public:
  /// `samples` is between 1 and 2^62.
  SampleOrder(uint64_t samples, uint64_t seed);

  /// Returns the sample at a place, counted from 0 over all epochs, which
  /// follow each other without a gap.
  uint64_t getSample(uint64_t place) const;

private:
  uint64_t encrypt(uint64_t value, uint64_t key) const;

  uint64_t samples, seed;
  unsigned halfBits = 1; ///< The size of each half that the network exchanges.
};

} // namespace tprun

#endif // TPRUN_SAMPLEORDER_H
