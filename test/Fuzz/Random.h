// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers that are the same with every standard library, so that a seed means
// one program everywhere (splitmix64, by S. Vigna).

#ifndef TPOPT_TEST_FUZZ_RANDOM_H
#define TPOPT_TEST_FUZZ_RANDOM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <initializer_list>
#include <numeric>

namespace tp::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From `least` to `greatest`, both included.
  int64_t draw(int64_t least, int64_t greatest) {
    return least + int64_t(next() % uint64_t(greatest - least + 1));
  }
  bool percent(unsigned chance) { return next() % 100 < chance; }

  template <typename T> const T &pick(llvm::ArrayRef<T> list) {
    return list[next() % list.size()];
  }
  template <typename T> T pick(std::initializer_list<T> list) {
    return list.begin()[next() % list.size()];
  }
  llvm::SmallVector<int64_t> permutation(int64_t size) {
    llvm::SmallVector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = size - 1; i > 0; --i)
      std::swap(order[i], order[draw(0, i)]);
    return order;
  }

private:
  uint64_t state;
};

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_RANDOM_H
