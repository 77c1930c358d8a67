// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SampleOrder.h"

#include "runtime/Core/Hash.h"

using namespace tprun;
using tprt::mix;

static constexpr uint64_t kRounds = 8;

SampleOrder::SampleOrder(uint64_t samples, uint64_t seed)
    : samples(samples), seed(seed) {
  while ((samples - 1) >> 2 * halfBits != 0)
    ++halfBits;
}

uint64_t SampleOrder::encrypt(uint64_t value, uint64_t key) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1;
  uint64_t left = value >> halfBits, right = value & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    uint64_t next = left ^ (mix(mix(key + round) + right) & mask);
    left = right;
    right = next;
  }
  return left << halfBits | right;
}

uint64_t SampleOrder::getSample(uint64_t place) const {
  uint64_t key = mix(mix(seed + 1) + place / samples);
  uint64_t sample = place % samples;
  // Few iterations suffice: at least a quarter of the results are valid
  // samples.
  do
    sample = encrypt(sample, key);
  while (sample >= samples);
  return sample;
}
