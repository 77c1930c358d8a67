// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The order in which the samples of a data set are used.
///
/// Training goes through a data set repeatedly. Each pass (an epoch) has a
/// different order, in which every sample occurs once. The order depends only
/// on the seed and the number of the epoch. The sample at any position is
/// computed in constant time, so no list is made, stored or sent.
///
/// The order is a Feistel network of eight rounds over as many bits as the
/// number of samples has, rounded up to an even number. A result that is not
/// the number of a sample is encrypted again until it is one ("cycle walking").
/// The network permutes all numbers of that many bits, so the order permutes
/// the samples.

#ifndef TPRUN_SAMPLEORDER_H
#define TPRUN_SAMPLEORDER_H

#include <cstdint>

namespace tprun {

class SampleOrder {
public:
  /// `samples` is between 1 and 2^62.
  SampleOrder(uint64_t samples, uint64_t seed);

  /// Returns the sample at a position. Positions are counted from 0 over all
  /// epochs, without a gap between epochs.
  uint64_t getSample(uint64_t place) const;

private:
  uint64_t encrypt(uint64_t value, uint64_t key) const;

  uint64_t samples, seed;
  unsigned halfBits = 1; ///< The size of each half that the network exchanges.
};

} // namespace tprun

#endif // TPRUN_SAMPLEORDER_H
