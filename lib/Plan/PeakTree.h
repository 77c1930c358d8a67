// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums and maxima that are kept up to date. A change takes time logarithmic in
// the number of entries.

#ifndef TPOPT_PLAN_PEAKTREE_H
#define TPOPT_PLAN_PEAKTREE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tp::plan {

/// The smallest power of two that is at least `count`.
inline size_t getTreeWidth(size_t count) {
  size_t width = 1;
  while (width < count)
    width *= 2;
  return width;
}

/// A row of numbers and its maximum. An amount can be added to all numbers in a
/// range at once.
///
///     PeakTree held(5);        // 0 0 0 0 0
///     held.add(1, 3, 8);       // 0 8 8 8 0
///     held.add(3, 4, 2);       // 0 8 8 10 2
///     held.getMax();           // 10, at place 3
///
/// This is a segment tree. Each node has the maximum of its part of the row,
/// not counting amounts that were added to its ancestors.
class PeakTree {
public:
  explicit PeakTree(size_t count)
      : width(getTreeWidth(count)), most(2 * width), added(2 * width) {}

  /// Adds `amount` to the numbers from `first` to `last`, both included.
  void add(size_t first, size_t last, int64_t amount) {
    size_t left = first + width, right = last + width;
    addToNode(left, amount);
    if (left != right)
      addToNode(right, amount);
    for (; left / 2 != right / 2; left /= 2, right /= 2) {
      if (left % 2 == 0)
        addToNode(left + 1, amount);
      if (right % 2 == 1)
        addToNode(right - 1, amount);
      update(left / 2);
      update(right / 2);
    }
    for (left /= 2; left > 0; left /= 2)
      update(left);
  }
  int64_t getMax() const { return most[1]; }
  /// The first index of the maximum.
  size_t getMaxPlace() const {
    size_t node = 1;
    while (node < width)
      node = 2 * node + (most[2 * node] < most[2 * node + 1]);
    return node - width;
  }
  int64_t get(size_t place) const {
    size_t node = place + width;
    int64_t number = most[node];
    for (node /= 2; node > 0; node /= 2)
      number += added[node];
    return number;
  }

private:
  void addToNode(size_t node, int64_t amount) {
    most[node] += amount;
    added[node] += amount;
  }
  void update(size_t node) {
    most[node] = std::max(most[2 * node], most[2 * node + 1]) + added[node];
  }

  size_t width;
  std::vector<int64_t> most, added;
};

/// A row of numbers and its sum. The sum depends only on the current numbers
/// and not on their history: rounding errors do not accumulate.
template <typename Number> class SumTree {
public:
  explicit SumTree(size_t count)
      : width(getTreeWidth(count)), sums(2 * width) {}

  void set(size_t place, const Number &number) {
    size_t node = place + width;
    sums[node] = number;
    for (node /= 2; node > 0; node /= 2) {
      sums[node] = sums[2 * node];
      sums[node] += sums[2 * node + 1];
    }
  }
  const Number &getSum() const { return sums[1]; }

private:
  size_t width;
  std::vector<Number> sums;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_PEAKTREE_H
