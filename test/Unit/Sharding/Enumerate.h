// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file All shardings over a small mesh, for exhaustive tests.

#ifndef TPOPT_TEST_UNIT_SHARDING_ENUMERATE_H
#define TPOPT_TEST_UNIT_SHARDING_ENUMERATE_H

#include "tpopt/Sharding/Sharding.h"

#include <cstdlib>

namespace tp::test {

/// Whether tests are to leave nothing out, however long it takes: with
/// TPOPT_EXHAUSTIVE in the environment.
inline bool isExhaustive() { return std::getenv("TPOPT_EXHAUSTIVE"); }

/// How many times fewer cases a sample has under sanitizers, which take fifteen
/// times as long and look for faults that some of the cases show as well as
/// all.
inline unsigned getThinning() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return 10;
#endif
#endif
  return 1;
}

/// The axes as prime digits, smallest prime first.
inline AxisList getPrimeDigits(const Mesh &mesh) {
  AxisList digits;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    int64_t pre = 1;
    for (int64_t rest = mesh.axes[axis].size, p = 2; rest > 1; ++p)
      for (; rest % p == 0; rest /= p, pre *= p)
        digits.push_back({axis, pre, p});
  }
  return digits;
}

/// A layout as digits: what reference implementations compute with.
struct DigitLayout {
  std::vector<std::vector<unsigned>> dims;
  std::vector<unsigned> unreduced; // sorted
};

inline TensorSharding toSharding(const DigitLayout &layout,
                                 const AxisList &digits) {
  TensorSharding sharding = TensorSharding::replicate(layout.dims.size());
  for (size_t dim = 0; dim < layout.dims.size(); ++dim)
    for (unsigned digit : layout.dims[dim])
      appendMerged(sharding.dims[dim].axes, digits[digit]);
  for (unsigned digit : layout.unreduced)
    appendMerged(sharding.unreduced, digits[digit]);
  return sharding;
}

/// Every way to put each digit nowhere, among the unreduced ones (if asked for)
/// or anywhere on a dimension.
inline std::vector<DigitLayout> getAllLayouts(unsigned numDigits, unsigned rank,
                                              bool withUnreduced) {
  std::vector<DigitLayout> layouts = {
      {std::vector<std::vector<unsigned>>(rank), {}}};
  for (unsigned digit = 0; digit < numDigits; ++digit) {
    std::vector<DigitLayout> more = layouts;
    for (const DigitLayout &layout : layouts) {
      if (withUnreduced) {
        more.push_back(layout);
        more.back().unreduced.push_back(digit);
      }
      for (unsigned dim = 0; dim < rank; ++dim)
        for (size_t at = 0; at <= layout.dims[dim].size(); ++at) {
          more.push_back(layout);
          auto &list = more.back().dims[dim];
          list.insert(list.begin() + at, digit);
        }
    }
    layouts = std::move(more);
  }
  return layouts;
}

/// The sizes 16 and 10 of a rank-3 tensor; which of them lies where makes no
/// difference.
inline const std::vector<std::vector<int64_t>> kRankThree = {
    {16, 16, 16}, {16, 16, 10}, {16, 10, 10}, {10, 10, 10}};

} // namespace tp::test

#endif // TPOPT_TEST_UNIT_SHARDING_ENUMERATE_H
