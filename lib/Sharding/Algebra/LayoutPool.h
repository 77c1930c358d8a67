// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Layouts by number.
///
/// Choosing among layouts compares and lists them a million times, and a
/// TensorSharding takes half a kilobyte. A pool stores each layout once, under
/// a number 0, 1, 2, .., and also stores each list of numbers once:
///
///     LayoutPool pool;
///     unsigned rows = pool.getNumber(sharding);   // [{"x"}, {}]: 0
///     pool.get(rows);                             // [{"x"}, {}]
///     &pool.getList({rows}) == &pool.getList({rows})   // true

#ifndef TPOPT_SHARDING_ALGEBRA_LAYOUTPOOL_H
#define TPOPT_SHARDING_ALGEBRA_LAYOUTPOOL_H

#include "tpopt/Sharding/Sharding.h"

#include <set>
#include <unordered_map>
#include <vector>

namespace tp {

/// Numbers of layouts of one pool.
using LayoutList = std::vector<unsigned>;

/// Returned references stay valid as long as the pool. Not thread-safe.
class LayoutPool {
public:
  LayoutPool() = default;
  LayoutPool(const LayoutPool &) = delete;
  LayoutPool &operator=(const LayoutPool &) = delete;

  /// The number of the layout of a valid sharding. Open dimensions and
  /// explicitly replicated axes make no difference.
  unsigned getNumber(const TensorSharding &sharding);
  const TensorSharding &get(unsigned number) const { return *layouts[number]; }
  /// Returns the same reference for equal lists.
  const LayoutList &getList(LayoutList list) {
    return *lists.insert(std::move(list)).first;
  }

private:
  struct Hash {
    size_t operator()(const TensorSharding &layout) const {
      return hash_value(layout);
    }
  };
  std::unordered_map<TensorSharding, unsigned, Hash> numbers;
  /// Indexed by number. The elements point to keys of `numbers`.
  std::vector<const TensorSharding *> layouts;
  std::set<LayoutList> lists;
};

} // namespace tp

#endif // TPOPT_SHARDING_ALGEBRA_LAYOUTPOOL_H
