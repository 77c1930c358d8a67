// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Random numbers that are the same with every standard library, so that
/// a seed gives the same sequence everywhere: splitmix64, by S. Vigna (after
/// Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014). They are meant for random data and programs, not for secrets.
///
///     Random random(7);
///     int64_t die = random.draw(1, 6);

#ifndef TPOPT_SUPPORT_RANDOM_H
#define TPOPT_SUPPORT_RANDOM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>

namespace tp {

/// Maps 64 bits to 64 scrambled bits, one to one: a step of the generator.
constexpr uint64_t scramble(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t value = scramble(state);
    state += 0x9e3779b97f4a7c15;
    return value;
  }
  /// A number from 0 to `n` - 1, where `n` > 0. Not quite uniform for large
  /// `n`.
  uint64_t below(uint64_t n) { return next() % n; }
  /// From `least` to `greatest`, both included.
  int64_t draw(int64_t least, int64_t greatest) {
    return least + int64_t(below(uint64_t(greatest - least + 1)));
  }
  bool percent(unsigned chance) { return below(100) < chance; }

  template <typename T> const T &pick(llvm::ArrayRef<T> list) {
    return list[below(list.size())];
  }
  template <typename T> T pick(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  /// The numbers from 0 to `size` - 1 in random order.
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

} // namespace tp

#endif // TPOPT_SUPPORT_RANDOM_H
